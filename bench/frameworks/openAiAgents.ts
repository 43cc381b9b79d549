/**
 * OpenAI Agents. Plain: an `Agent` as in its README. Recovering: instructions, `errorFunction` and `timeoutMs` of a tool, a guardrail
 * for tools with a limit, retries of the model, and an error in place of an end for a tool that does not exist. It has no retry of
 * tools, so `execute` has one.
 */
import {
  Agent,
  type AgentInputItem,
  defineToolInputGuardrail,
  ModelBehaviorError,
  OpenAIProvider,
  retryPolicies,
  Runner,
  setTracingDisabled,
  tool,
  ToolGuardrailFunctionOutputFactory as Guardrail,
  user
} from "@openai/agents"
import { z } from "zod"
import { type Contender, settings } from "./contender.ts"
import { attempted, failureText, instructions, isOverLimit, limits, limitText, retried, timeOf } from "./practice.ts"
import type { PlainTool } from "./tools.ts"
import { parametersOf } from "./zodSchemas.ts"

setTracingDisabled(true)

// -----------------------------------------------------------------------------
// Tools
// -----------------------------------------------------------------------------

/** In its strict mode, a field that may be left out may also be null. */
const schemaOf = (plain: PlainTool) =>
  z.object(
    Object.fromEntries(
      Object.entries(parametersOf(plain).shape).map(([name, schema]) => [
        name,
        schema instanceof z.ZodOptional ? schema.nullable() : schema
      ])
    )
  )

const definitionOf = (plain: PlainTool) => ({
  name: plain.name,
  description: plain.description,
  parameters: schemaOf(plain)
})

const withoutNulls = (args: object) => Object.fromEntries(Object.entries(args).filter(([, value]) => value !== null))

const plainTool = (plain: PlainTool) =>
  tool({
    ...definitionOf(plain),
    execute: (args, _, details) => plain.run(withoutNulls(args), details?.signal)
  })

// -----------------------------------------------------------------------------
// Recovery
// -----------------------------------------------------------------------------

const recoveringTool = (plain: PlainTool) =>
  tool({
    ...definitionOf(plain),
    execute: (args, _, details) => retried(plain, () => attempted(plain, withoutNulls(args), details?.signal)),
    errorFunction: (_, error) =>
      error instanceof ModelBehaviorError
        ? `The arguments do not fit. They must be: ${JSON.stringify(z.toJSONSchema(schemaOf(plain)))}`
        : failureText(plain, error),
    timeoutMs: timeOf(plain),
    timeoutErrorFunction: (_, error) => failureText(plain, error),
    inputGuardrails: plain.declared?.maxCalls === undefined ? [] : [callLimit(plain)]
  })

const callLimit = (plain: PlainTool) => {
  const callsOfRuns = new WeakMap<object, number>()
  return defineToolInputGuardrail({
    name: "call limit",
    run: async ({ context }) => {
      const earlier = callsOfRuns.get(context) ?? 0
      callsOfRuns.set(context, earlier + 1)
      return isOverLimit(plain, earlier) ? Guardrail.rejectContent(limitText(plain)) : Guardrail.allow()
    }
  })
}

const retry = {
  maxRetries: limits.retries,
  backoff: { initialDelayMs: limits.firstWaitMillis },
  policy: retryPolicies.any(retryPolicies.networkError(), retryPolicies.httpStatus([429, 500, 502, 503, 504]))
}

// -----------------------------------------------------------------------------
// The agent
// -----------------------------------------------------------------------------

export const openAiAgents = settings.map((setting): Contender => ({
  framework: "OpenAI Agents",
  setting,
  begin: (url, plain) => {
    const isPlain = setting === "plain"
    const modelProvider = new OpenAIProvider({ apiKey: "none", baseURL: `${url}/v1`, useResponses: false })
    const runner = new Runner({
      modelProvider,
      ...(isPlain ? {} : { toolNotFoundBehavior: "return_error_to_model", modelSettings: { retry } })
    })
    const agent = new Agent({
      name: "Assistant",
      instructions: isPlain ? "You are a helpful assistant." : instructions,
      model: "any",
      tools: plain.map(isPlain ? plainTool : recoveringTool)
    })
    let history: Array<AgentInputItem> = []
    return async (question) => {
      const result = await runner.run(
        agent,
        [...history, user(question)],
        isPlain ? {} : { maxTurns: limits.turns, signal: AbortSignal.timeout(limits.runMillis) }
      )
      history = result.history
      return result.finalOutput ?? ""
    }
  }
}))
