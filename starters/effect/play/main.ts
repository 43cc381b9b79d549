/** The backend with a played payment service, over real HTTP. The model is played, too, unless `OLLAMA_MODEL` is set. */
import { NodeRuntime, NodeServices } from "@effect/platform-node"
import type { ClientEvent } from "@fallible/core/ClientEvent"
import { Config, Console, Effect, Option, Stream } from "effect"
import { HttpApiClient } from "effect/http-api"
import { Api } from "../src/Api.ts"
import * as World from "./World.ts"

/** What a page would show of an event. */
const lineOf = (event: ClientEvent): string => {
  switch (event._tag) {
    case "CallStarted":
      return `  ${event.tool} begins`
    case "FailureHandled":
      return `  ${event.tool} failed (${event.code}), handled by ${event.by}`
    case "CallEnded":
      return event.code === "already_done"
        ? `  ${event.tool}: done before, so nothing was charged again`
        : `  ${event.tool} ${event.outcome}: ${event.certainty}, after ${event.attempts} attempts`
    case "RunEnded":
      return `  ${event.text}`
    case "RunFailed":
      return `  The run failed: ${event.message}`
    default:
      return ""
  }
}

const ask = Effect.fnUntraced(function*(question: string) {
  yield* Console.log(`\n${question}`)
  const client = yield* HttpApiClient.make(Api)
  const events = yield* client.conversations.ask({ params: { id: "ada" }, payload: { question } })
  yield* events.pipe(Stream.map(lineOf), Stream.filter((line) => line !== ""), Stream.runForEach(Console.log))
})

const program = Effect.gen(function*() {
  const chosen = yield* Config.option(Config.String("OLLAMA_MODEL"))
  const { backend, payments } = yield* World.make(Option.isSome(chosen) ? {} : yield* World.playedModel)
  yield* Console.log("The payment service takes the first charge, and its answer is lost.")

  yield* Effect.provide(ask("Charge order 7."), backend)
  yield* Console.log("\nThe backend stops, and starts again.")
  yield* Effect.provide(ask("Did that work? If not, charge order 7 again."), backend)

  yield* Console.log(
    `\nRequests to the payment service: ${yield* payments.requests}. Charges: ${payments.charges.size}.`
  )
  if (Option.isNone(chosen)) {
    yield* Console.log("The model was played. With a model of Ollama: OLLAMA_MODEL=llama3.2 npm start")
  }
})

program.pipe(Effect.scoped, Effect.provide(NodeServices.layer), NodeRuntime.runMain)
