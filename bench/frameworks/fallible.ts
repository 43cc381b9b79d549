/** Fallible. Plain: the README's first agent. Recovering: its tools also declare what they are. */
import { Agent, Policy, Tool, Toolkit } from "../../packages/core/src/index.ts"
import { OpenAi } from "../../packages/providers/src/index.ts"
import { Effect, FetchHttpClient, Logger, Schema } from "../../test/support/effect.ts"
import { type Contender, question, settings } from "./contender.ts"
import type { PlainTool } from "./tools.ts"

const kinds = { string: Schema.String, "integer?": Schema.optionalKey(Schema.Int) }
const results = {
  text: Schema.String,
  price: Schema.Struct({ price: Schema.Finite }),
  users: Schema.Struct({ users: Schema.Array(Schema.String), has_more: Schema.Boolean })
}

/** The schema of a tool's parameters. */
export const parametersOf = ({ parameters }: PlainTool) =>
  Schema.Struct(Object.fromEntries(Object.entries(parameters).map(([name, kind]) => [name, kinds[kind]])))

/** The schema of a tool's result. */
export const resultOf = ({ result }: PlainTool): Schema.Codec<unknown> => results[result ?? "text"]

const toolOf = (setting: Contender["setting"]) => (tool: PlainTool) =>
  Tool.promise(tool.name, {
    description: tool.description,
    parameters: parametersOf(tool),
    success: resultOf(tool),
    ...(tool.acts === true ? {} : { sideEffect: "none" }),
    ...(setting === "recovering" ? tool.declared : {})
  }, (args, { signal }) => tool.run(args, signal))

export const fallible = settings.map((setting): Contender => ({
  framework: "Fallible",
  setting,
  ask: async (url, tools) => {
    const agent = Agent.make({ toolkit: Toolkit.make(...tools.map(toolOf(setting))), policies: Policy.standard() })
    const answer = await Effect.runPromise(
      agent.run(question).pipe(
        Effect.provide(OpenAi.layer({ model: "any", baseUrl: `${url}/v1` })),
        Effect.provide(FetchHttpClient.layer),
        Effect.provide(Logger.layer([]))
      )
    )
    return answer.text
  }
}))
