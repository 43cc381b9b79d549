/** A conversation with two calls, for the model servers that `FakeModelServer` plays. */
import type { Transcript } from "@fallible/core"
import { ScriptedModel } from "@fallible/testing"

export const both = {
  ...ScriptedModel.calls(["get_weather", { city: "Paris" }], ["get_weather", { city: "Zürich" }]),
  text: "I compare both.",
  reasoning: "Two cities, so two calls. 🤔",
  usage: { inputTokens: 100, outputTokens: 50, cachedTokens: 60, cacheWrittenTokens: 10, reasoningTokens: 20 }
}

export const script = [both, ScriptedModel.text("Paris is warmer.")]

/** The messages before the results of the calls, as a server has read them. */
export const comparing: ReadonlyArray<Transcript.Message> = [
  { role: "user", text: "Which is warmer?" },
  {
    role: "assistant",
    text: both.text,
    calls: [
      { id: "call_1", name: "get_weather", arguments: "{\"city\":\"Paris\"}" },
      { id: "call_2", name: "get_weather", arguments: "{\"city\":\"Zürich\"}" }
    ]
  }
]
