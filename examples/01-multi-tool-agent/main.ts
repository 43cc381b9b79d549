/**
 * The multi-tool agent: four tools, seven cities, eight currencies, and a trace of everything.
 *
 *     pnpm demo
 *     pnpm demo "What time is it in Sydney?" --outage
 *     OLLAMA_HOST=localhost pnpm demo --model llama3.2
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
import type * as Config from "effect/Config"
import * as Console from "effect/Console"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Random from "effect/Random"
import * as Stream from "effect/Stream"
import * as Terminal from "effect/Terminal"
import * as Geocoder from "./Geocoder.ts"
import * as LanguageModel from "./LanguageModel.ts"
import { toolkit } from "./tools.ts"
import * as Trace from "./Trace.ts"

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
  model: Flag.String("model").pipe(
    Flag.withDescription("Which model plays, at OLLAMA_HOST or OPENAI_BASE_URL; without these a stand-in does"),
    Flag.optional
  ),
  maxTurns: Flag.Int("max-turns").pipe(
    Flag.withDescription("How often the model may reply, from 1"),
    Flag.filter((turns) => turns >= 1, () => "a whole number from 1"),
    Flag.withDefault(10)
  )
}, ({ json, maxTurns, model, outage, question, quiet, seed }) => {
  const agent = Agent.make({
    instructions: "Answer with the tools. Say what you could not find out.",
    toolkit,
    limits: { turns: maxTurns }
  })
  const show = json ? showJson : quiet ? showQuiet : showReadable
  const run = Effect.flatMap(
    LanguageModel.choose(Option.getOrUndefined(model)),
    ({ layer, notice }) =>
      show({ notice, question, events: agent.stream(question) }).pipe(
        Effect.provide([layer, outage ? Geocoder.layerOutage(seed) : Geocoder.layer])
      )
  ).pipe(Effect.tapError(explainSettings))
  // The waits between attempts are drawn, too.
  return outage ? Random.withSeed(run, seed) : run
}).pipe(
  Command.withDescription("Answers questions about weather, time, population and money with four tools")
)

/** What is wrong in the environment, in one paragraph. A run that failed has explained itself. */
const explainSettings = (problem: string | Config.ConfigError | AgentFailure.AgentFailure) =>
  typeof problem === "string"
    ? Console.error(problem)
    : problem._tag === "ConfigError"
    ? Console.error(problem.cause.message.replace(/\s+/g, " "))
    : Effect.void

// -----------------------------------------------------------------------------
// Three ways to show a run
// -----------------------------------------------------------------------------

interface Run {
  readonly notice: string
  readonly question: string
  readonly events: Stream.Stream<AgentEvent.AgentEvent, AgentFailure.AgentFailure, Model.Model | Geocoder.Geocoder>
}

const showReadable = ({ events, notice, question }: Run) =>
  Effect.gen(function*() {
    const terminal = yield* Terminal.Terminal
    const display = (text: string) => Effect.orDie(terminal.display(text))
    yield* Console.log(`${notice}\n\nQuestion: ${Trace.printable(question)}\n`)
    // The model's text as it comes, set off from the lines around it.
    let speaking = false
    const { ledger } = yield* follow(events, (event) =>
      Effect.gen(function*() {
        if (event._tag === "TextDelta") {
          yield* display(`${speaking ? "" : "\n"}${Trace.printableText(event.text)}`)
          speaking = true
          return
        }
        if (speaking) yield* display("\n\n")
        speaking = false
        yield* printLines(Trace.readable(event))
      }))
    yield* Console.log(`\n${Trace.totals(ledger)}`)
  }).pipe(Effect.tapError((failure) => Console.error(`\n${Trace.totals(failure.ledger)}\n\n${Trace.why(failure)}`)))

const showJson = ({ events, notice, question }: Run) =>
  Effect.gen(function*() {
    yield* Console.log(JSON.stringify({ _tag: "RunStarted", notice, question }))
    yield* follow(events, (event) => printLines(Trace.json(event)))
  }).pipe(Effect.tapError((failure) => Console.log(Trace.failedJson(failure))))

const showQuiet = ({ events, notice }: Run) =>
  Effect.gen(function*() {
    yield* Console.error(notice)
    const { text } = yield* follow(events, () => Effect.void)
    yield* Console.log(Trace.printableText(text))
  }).pipe(Effect.tapError((failure) => Console.error(Trace.why(failure))))

const printLines = (lines: ReadonlyArray<string>) =>
  Effect.forEach(lines, (line) => Console.log(Trace.printable(line)), { discard: true })

/** Shows what happens as it happens, and gives the answer. */
const follow = <E, R>(events: Run["events"], show: (event: AgentEvent.AgentEvent) => Effect.Effect<void, E, R>) =>
  Stream.runFoldEffect(
    events,
    (): Answer.Answer | undefined => undefined,
    (answer, event) => Effect.as(show(event), event._tag === "RunEnded" ? event.answer : answer)
  ).pipe(
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
  Effect.tapDefect((defect) => Console.error(String(defect))),
  // A run without an answer has already been reported; what remains is the exit code.
  NodeRuntime.runMain({ disableErrorReporting: true })
)
