/**
 * Code shared by the commands of all examples: the question, common flags, the choice of a model, and the
 * main program.
 */
import { NodeRuntime, NodeServices } from "@effect/platform-node"
import { Observer, Toolkit } from "@fallible/core"
import * as Explanation from "@fallible/core/Explanation"
import * as Cause from "effect/Cause"
import * as Argument from "effect/cli/Argument"
import * as CliConfig from "effect/cli/CliConfig"
import * as CliOutput from "effect/cli/CliOutput"
import * as Command from "effect/cli/Command"
import * as Flag from "effect/cli/Flag"
import * as GlobalFlag from "effect/cli/GlobalFlag"
import type * as Config from "effect/Config"
import * as Console from "effect/Console"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import { identity } from "effect/Function"
import * as Layer from "effect/Layer"
import * as Logger from "effect/Logger"
import * as Option from "effect/Option"
import * as Runtime from "effect/Runtime"
import * as Display from "./Display.ts"
import * as LanguageModel from "./LanguageModel.ts"
import * as Line from "./Line.ts"
import * as SentMessages from "./SentMessages.ts"

// -----------------------------------------------------------------------------
// Arguments and flags
// -----------------------------------------------------------------------------

/** Makes the argument for the question. `text` is the default question. */
export const question = (text: string, options: { readonly hint: string; readonly example: string }) =>
  Argument.String("question").pipe(
    Argument.withDescription(`What you want to know; ${options.hint}`),
    Argument.filter((text) => text.trim() !== "", () => `a question, such as "${options.example}"`),
    Argument.withDefault(text)
  )

export const toggle = (name: string, description: string) =>
  Flag.Boolean(name).pipe(Flag.withDescription(description), Flag.withDefault(false))

export const flags = {
  json: toggle("json", "Prints one JSON object per line"),
  quiet: toggle("quiet", "Prints the answer alone"),
  showMessages: toggle("show-messages", "Prints each tool message as the model reads it"),
  log: toggle("log", "Logs each failure as a line on standard error"),
  explain: toggle("explain", "Prints the worst case of each tool, and asks nothing"),
  reply: Flag.String("reply").pipe(
    Flag.withDescription("Answers a tool's question in advance; give it once for each question"),
    Flag.atLeast(0)
  ),
  model: Flag.String("model").pipe(
    Flag.withDescription(LanguageModel.precedence),
    Flag.optional
  ),
  maxTurns: Flag.Int("max-turns").pipe(
    Flag.withDescription("How often the model may reply, from 1"),
    Flag.filter((turns) => turns >= 1, () => "a whole number from 1"),
    Flag.withDefault(10)
  )
}

// -----------------------------------------------------------------------------
// Running a command
// -----------------------------------------------------------------------------

/** Runs an agent with the chosen model, and shows the run in the chosen format. With `explain`, nothing runs. */
export const show = <R>(
  { explain, json, log, model, quiet, reply, setting = "", showMessages, standIn, toolkit, ...run }:
    & Pick<Display.Run<R>, "agent" | "question" | "epilogue">
    & {
      readonly explain: boolean
      readonly json: boolean
      readonly log: boolean
      readonly model: Option.Option<string>
      readonly quiet: boolean
      readonly reply: ReadonlyArray<string>
      /** What is wrong with the world from the start, in a sentence. */
      readonly setting?: string
      readonly showMessages: boolean
      readonly standIn: LanguageModel.Player
      readonly toolkit: Toolkit.Toolkit
    }
) =>
  explain ? explained(Toolkit.explain(toolkit)) : Effect.flatMap(
    player(model, standIn),
    ({ layer, notice: whoPlays }) => {
      const notice = `${whoPlays} ${setting}`.trimEnd()
      const messages = SentMessages.make()
      const play = json ? Display.json : quiet ? Display.quiet : Display.readable
      return play({ ...run, notice, replies: reply, ...(showMessages ? { messages } : {}) }).pipe(
        Effect.provide(messages.recorded(layer)),
        log ? Effect.provide(failureLog) : identity
      )
    }
  )

/** Prints worst cases, as `worst-cases.txt` has them. On a narrow terminal, the values are wrapped beside their labels. */
const explained = (explanations: ReadonlyArray<Explanation.Explanation>) =>
  Effect.gen(function*() {
    const screen = yield* Display.screen
    const lines = Explanation.overview(explanations).split("\n").map((line) => {
      const [mark = ""] = /^ +\S+(?: \S+)? {2,}/.exec(line) ?? []
      return Line.format({ mark, text: line.slice(mark.length) }, screen)
    })
    yield* Console.log(lines.join("\n"))
  })

/** Chooses the model. If the environment's variables are wrong, prints why. */
export const player = (model: Option.Option<string>, standIn: LanguageModel.Player) =>
  LanguageModel.choose(Option.getOrUndefined(model), standIn).pipe(
    Effect.tapError(explainSettings),
    Effect.map(({ layer, notice }) => ({ notice, layer: Layer.tapError(layer, explainSettings) }))
  )

/** Logs each failure as one line on standard error: see `FailureLog`. */
const failureLog = Layer.merge(
  Observer.layer({ failureLevel: "Warn" }),
  Logger.layer([Logger.withConsoleError(Logger.formatLogFmt)])
)

/** Prints what is wrong with the environment variables, in one paragraph. */
const explainSettings = (problem: string | Config.ConfigError) =>
  Console.error(typeof problem === "string" ? problem : problem.cause.message.replace(/\s+/g, " "))

/** Prints what is wrong with the command line, in one paragraph. */
const presenter: CliOutput.Presenter = {
  present: (event) =>
    event._tag === "InvalidInvocation"
      ? Console.error(
        `${event.errors.map(({ message }) => message).join(". ")} (--help says what can be asked, and how.)`
      )
      : CliOutput.defaultPresenter.present(event)
}

/** Turns a command into a program. Its arguments, its environment and its output are services. */
export const program = <Name extends string, Input, Context, E>(
  command: Command.Command<Name, Input, Context, E, NodeServices.NodeServices>
) =>
  Command.run(command, { version: "0.1.0" }).pipe(
    Effect.provide([
      CliOutput.layerPresenter(presenter),
      CliConfig.layer({ builtIns: [GlobalFlag.Help, GlobalFlag.Version] })
    ]),
    Effect.tapDefect((defect) => Console.error(String(defect))),
    // Logs go to standard error: programs parse the answer or the events on standard output.
    Effect.provideService(Logger.LogToStderr, true)
  )

/** Runs a program as the main program of this process. */
export const run = <E>(
  program: Effect.Effect<void, E, NodeServices.NodeServices>,
  options: { readonly teardown?: Runtime.Teardown } = {}
): void =>
  program.pipe(
    Effect.raceFirst(readerLeft),
    Effect.provide(NodeServices.layer),
    // A run without an answer is already reported, so only the exit code remains to be set.
    NodeRuntime.runMain({ disableErrorReporting: true, ...options })
  )

/** For a program that runs until a signal stops it: its exit code is then 0. */
export const stoppedBySignal: Runtime.Teardown = (exit, onExit) =>
  Exit.isFailure(exit) && Cause.hasInterruptsOnly(exit.cause) ? onExit(0) : Runtime.defaultTeardown(exit, onExit)

/**
 * Ends when the reader of standard output closes the pipe, as `| head` does once it has its lines. The
 * listeners stay until the process exits, because writing the last line may fail after the run.
 *
 * The exit code is then 0: the reader has what it wanted, and pnpm would report any other code as an error.
 */
const readerLeft = Effect.callback<void>((resume) => {
  process.stdout.on("error", (error) => {
    if (!Display.isBrokenPipe(error)) throw error
    resume(Effect.void)
  })
  // A closed standard error does not end the run: its answer may still have a reader.
  process.stderr.on("error", (error) => {
    if (!Display.isBrokenPipe(error)) throw error
  })
})
