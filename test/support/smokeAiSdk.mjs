/* Runs an agent over the bridge to the AI SDK, on the packages that a project has installed: `node smokeAiSdk.mjs`. */
import { AiSdk } from "@fallible/ai-sdk"
import { Agent, Toolkit } from "@fallible/core"
import { Effect } from "effect"
import { deepStrictEqual } from "node:assert"

const model = {
  specificationVersion: "v4",
  provider: "played",
  modelId: "any",
  supportedUrls: {},
  doGenerate: () =>
    Promise.resolve({
      content: [{ type: "text", text: "Hello." }],
      finishReason: { unified: "stop", raw: "stop" },
      usage: { inputTokens: { total: 3 }, outputTokens: { total: 2 } },
      warnings: []
    }),
  doStream: () => Promise.reject(new Error("not streamed"))
}
const answer = await Effect.runPromise(
  Agent.make({ toolkit: Toolkit.empty }).run("Hello?").pipe(Effect.provide(AiSdk.layer(model)))
)
deepStrictEqual([answer.text, answer.report.inputTokens, answer.report.outputTokens], ["Hello.", 3, 2])
