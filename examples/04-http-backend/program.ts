/**
 * The command of the backend: its flags, the address, and the services that it runs with.
 */
import * as Command from "effect/cli/Command"
import * as Flag from "effect/cli/Flag"
import * as Console from "effect/Console"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as FetchHttpClient from "effect/http/FetchHttpClient"
import * as HttpServer from "effect/http/HttpServer"
import * as Layer from "effect/Layer"
import * as CommandLine from "../shared/CommandLine.ts"
import * as Backend from "./Backend.ts"
import * as Listener from "./Listener.ts"
import * as Origins from "./Origins.ts"
import * as Planner from "./Planner.ts"
import * as ShopServer from "./ShopServer.ts"

const count = (name: string, description: string, value: number) =>
  Flag.Int(name).pipe(
    Flag.withDescription(`${description}; ${value} by default`),
    Flag.filter((count) => count >= 1, () => "a whole number from 1"),
    Flag.withDefault(value)
  )

const backend = Command.make("backend", {
  port: Flag.Int("port").pipe(
    Flag.withDescription("Where to listen; 3000 or the next free port by default"),
    Flag.optional
  ),
  upstream: Flag.Literals("upstream", ShopServer.states).pipe(
    Flag.withDescription("What is wrong with the shop's service; flaky by default, and nothing with up"),
    Flag.withDefault("flaky")
  ),
  runs: count("runs", "How many runs may be under way at once", 100),
  grace: count("grace", "How many seconds the runs under way may go on after SIGTERM", 10),
  origins: Flag.String("origin").pipe(
    Flag.withDescription("Where users find the page, if a proxy is before the server; give it once for each address"),
    Flag.filter(Origins.isOrigin, () => "an origin, such as https://desk.example.com"),
    Flag.atLeast(0)
  ),
  model: CommandLine.flags.model
}, ({ grace, model, origins, port, runs, upstream }) =>
  Effect.gen(function*() {
    const player = yield* CommandLine.player(model, Planner)
    yield* Console.log(player.notice)
    if (upstream !== "up") {
      yield* Console.log(
        `The shop's service fails on purpose (--upstream ${upstream}). With --upstream up, it does not.`
      )
    }
    yield* Layer.launch(
      announced.pipe(
        Layer.provideMerge(Backend.layer({ max: runs, grace: Duration.seconds(grace), origins })),
        Layer.provide([
          Listener.layer(port),
          ShopServer.layer(upstream),
          player.layer,
          FetchHttpClient.layer
        ])
      )
    )
  })).pipe(Command.withDescription("Serves an agent over HTTP, with a page to try it. Its data are invented"))

const announced = Layer.effectDiscard(
  Effect.flatMap(
    HttpServer.HttpServer,
    ({ address }) =>
      Console.log(
        `The support desk is open at ${
          HttpServer.formatAddress(address)
        }, and with useChat at /chat. Stop it with Ctrl+C.`
      )
  )
)

export const program = CommandLine.program(backend)
