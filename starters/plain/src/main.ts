import { OpenAi } from "@fallible/providers"
import { ScriptedModel } from "@fallible/testing"
import { Effect, Layer } from "effect"
import { FetchHttpClient } from "effect/http"
import { agent } from "./agent.js"
import { startBank } from "./bank.js"

// With OPENAI_API_KEY and OPENAI_MODEL, a real model replies. Without, these two replies are played.
const model = process.env.OPENAI_API_KEY
  ? OpenAi.layerConfig().pipe(Layer.provide(FetchHttpClient.layer))
  : ScriptedModel.layer([
    ScriptedModel.call("charge", { order: "7", euros: 249, note: "Two chairs" }),
    ScriptedModel.text("Order 7 is charged: 249 euros.")
  ])

const bank = await startBank()
process.env.BANK_URL = bank.url

// `agent.run` describes a run. `Effect.provide` gives it the model, and `Effect.runPromise` starts it.
const run = agent.run("Please charge order 7: 249 euros, for two chairs.").pipe(Effect.provide(model))
console.log(await Effect.runPromise(run))

console.log("\nWhat the bank saw:")
for (const line of bank.requests) console.log(`  ${line}`)
bank.stop()
