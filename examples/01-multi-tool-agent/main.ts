/**
 * The multi-tool agent: four tools, seven cities, eight currencies, and a trace of everything.
 *
 *     pnpm demo
 *     pnpm demo "What time is it in Sydney?" --outage
 */
import { NodeRuntime, NodeServices } from "@effect/platform-node"
import { Agent } from "@fallible/core"
import type { AgentEvent, AgentFailure, Answer, Model } from "@fallible/core"
import * as Argument from "effect/cli/Argument"
import * as CliConfig from "effect/cli/CliConfig"
import * as CliOutput from "effect/cli/CliOutput"
import * as Command from "effect/cli/Command"
import * as Flag from "effect/cli/Flag"
import * as GlobalFlag from "effect/cli/GlobalFlag"
import * as Console from "effect/Console"
import * as Effect from "effect/Effect"
import * as Random from "effect/Random"
import * as Stream from "effect/Stream"
import * as Geocoder from "./Geocoder.ts"
import * as Planner from "./Planner.ts"
import { toolkit } from "./tools.ts"
import * as Trace from "./Trace.ts"

const notice = "A stand-in plays the model: a small planner in this process. No language model is asked."

const defaultQuestion = "What is the weather in London, Tokyo, and Atlantis right now? And convert 50 GBP to JPY."

const toggle = (name: string, description: string) =>
  Flag.Boolean(name).pipe(Flag.withDescription(description), Flag.withDefault(false))

const demo = Command.make("demo", {
  question: Argument.String("question").pipe(
    Argument.withDescription("What you want to know; several questions at once are fine"),
    Argument.filter((text) => text.trim() !== "", () => "a question, such as \"What time is it in Sydney?\""),
    Argument.withDefault(defaultQuestion)
  ),
  outage: toggle("outage", "The geocoder refuses 60 % of its calls"),
  seed: Flag.String("seed").pipe(
    Flag.withDescription("Which calls are refused in an outage: the same seed, the same run"),
    Flag.withDefault("51")
  ),
  json: toggle("json", "One JSON object a line"),
  quiet: toggle("quiet", "The answer alone"),
  maxTurns: Flag.Int("max-turns").pipe(
    Flag.withDescription("How often the model may reply, from 1"),
    Flag.filter((turns) => turns >= 1, () => "a whole number from 1"),
    Flag.withDefault(10)
  )
}, ({ json, maxTurns, outage, question, quiet, seed }) => {
  const agent = Agent.make({
    instructions: "Answer with the tools. Say what you could not find out.",
    toolkit,
    limits: { turns: maxTurns }
  })
  const show = json ? showJson : quiet ? showQuiet : showReadable
  const run = show(question, agent.stream(question)).pipe(
    Effect.provide([Planner.layer, outage ? Geocoder.layerOutage(seed) : Geocoder.layer])
  )
  // The waits between attempts are drawn, too.
  return outage ? Random.withSeed(run, seed) : run
}).pipe(
  Command.withDescription("Answers questions about weather, time, population and money with four tools")
)

// -----------------------------------------------------------------------------
// Three ways to show a run
// -----------------------------------------------------------------------------

type Run = Stream.Stream<AgentEvent.AgentEvent, AgentFailure.AgentFailure, Model.Model | Geocoder.Geocoder>

const showReadable = (question: string, run: Run) =>
  Effect.gen(function*() {
    yield* Console.log(`${notice}\n\nQuestion: ${Trace.printable(question)}\n`)
    const { ledger, text } = yield* follow(run, Trace.readable)
    yield* Console.log(`\n${Trace.totals(ledger)}\n\n${text}`)
  }).pipe(Effect.tapError(({ detail, ledger }) => Console.error(`\n${Trace.totals(ledger)}\n\n${detail}`)))

const showJson = (question: string, run: Run) =>
  Effect.gen(function*() {
    yield* Console.log(JSON.stringify({ _tag: "RunStarted", notice, question }))
    yield* follow(run, Trace.json)
  }).pipe(Effect.tapError((failure) => Console.log(Trace.failedJson(failure))))

const showQuiet = (_question: string, run: Run) =>
  Effect.gen(function*() {
    yield* Console.error(notice)
    const { text } = yield* follow(run, () => [])
    yield* Console.log(text)
  }).pipe(Effect.tapError((failure) => Console.error(failure.detail)))

/** Prints what happens as it happens, and gives the answer. */
const follow = (run: Run, trace: Trace.Trace) =>
  Stream.runFoldEffect(run, (): Answer.Answer | undefined => undefined, (answer, event) =>
    Effect.as(
      Effect.forEach(trace(event), (line) => Console.log(Trace.printable(line))),
      event._tag === "RunEnded" ? event.answer : answer
    )).pipe(
      Effect.flatMap((answer) => answer === undefined ? Effect.die("a run ends with RunEnded") : Effect.succeed(answer))
    )

// -----------------------------------------------------------------------------
// The program
// -----------------------------------------------------------------------------

/** What was wrong with the command line, in one paragraph. */
const presenter: CliOutput.Presenter = {
  present: (event) =>
    event._tag === "InvalidInvocation"
      ? Console.error(
        `${event.errors.map(({ message }) => message).join(". ")} (--help says what can be asked, and how.)`
      )
      : CliOutput.defaultPresenter.present(event)
}

Command.run(demo, { version: "0.1.0" }).pipe(
  Effect.provide([
    NodeServices.layer,
    CliOutput.layerPresenter(presenter),
    CliConfig.layer({ builtIns: [GlobalFlag.Help, GlobalFlag.Version] })
  ]),
  // A run without an answer has already been reported; what remains is the exit code.
  NodeRuntime.runMain({ disableErrorReporting: true })
)
