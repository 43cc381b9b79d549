/**
 * Fallible. Plain: the README's first agent. Recovering: its tools also declare what they are, and the agent has instructions.
 */
import * as CallFacts from "../../packages/core/src/CallFacts.ts"
import { Agent, Policy, Tool, Toolkit } from "../../packages/core/src/index.ts"
import { OpenAi } from "../../packages/providers/src/index.ts"
import { Effect, FetchHttpClient, Logger, Result } from "../../test/support/effect.ts"
import { type Contender, settings } from "./contender.ts"
import { parametersOf, resultOf } from "./effectSchemas.ts"
import { instructions, limits } from "./practice.ts"
import type { PlainTool } from "./tools.ts"

// -----------------------------------------------------------------------------
// Tools
// -----------------------------------------------------------------------------

const definitionOf = (tool: PlainTool) => ({
  description: tool.description,
  parameters: parametersOf(tool),
  success: resultOf(tool),
  ...(tool.acts === true ? {} : { sideEffect: "none" as const })
})

const plainTool = (tool: PlainTool) =>
  Tool.promise(tool.name, definitionOf(tool), (args, { signal }) => tool.run(args, signal))

// -----------------------------------------------------------------------------
// Recovery
// -----------------------------------------------------------------------------

const recoveringTool = (tool: PlainTool) => {
  const { declared = {}, fallible: { settles, ...own } = {} } = tool
  return Tool.promise(tool.name, {
    ...definitionOf(tool),
    ...own,
    ...(declared.check === undefined ? {} : { check: declared.check }),
    ...(declared.failed === undefined ? {} : { failed: true }),
    ...(settles === undefined ? {} : { settles: { outcome: settles, final: true } })
  }, async (args, { refuse, signal }) => {
    try {
      return await tool.run(args, signal)
    } catch (error) {
      const refusal = declared.refusal?.(error)
      return refusal === undefined ? Promise.reject(error) : refuse(refusal)
    }
  }).pipe(declared.millis === undefined ? (same) => same : Tool.timeout(declared.millis))
}

// -----------------------------------------------------------------------------
// The agent
// -----------------------------------------------------------------------------

export const fallible = settings.map((setting): Contender => ({
  framework: "Fallible",
  setting,
  begin: (url, tools) => {
    const isPlain = setting === "plain"
    const agent = Agent.make({
      toolkit: Toolkit.make(...tools.map(isPlain ? plainTool : recoveringTool)),
      policies: Policy.standard(),
      ...(isPlain ? {} : { instructions, limits: { turns: limits.turns } })
    })
    let earlier: Agent.RunOptions & { readonly facts: CallFacts.CallFacts } = { facts: CallFacts.empty }
    return (question) =>
      Effect.gen(function*() {
        const result = yield* Effect.result(agent.run(question, earlier))
        const { facts, transcript } = Result.merge(result)
        earlier = { facts, transcript }
        return (yield* Effect.fromResult(result)).text
      }).pipe(
        Effect.provide(OpenAi.layer({ model: "any", baseUrl: `${url}/v1` })),
        Effect.provide(FetchHttpClient.layer),
        Effect.provide(Logger.layer([])),
        Effect.runPromise
      )
  }
}))
