/**
 * What the commands of all examples have in common: the question and some flags, who answers, and how the program runs.
 */
import { NodeRuntime, NodeServices } from "@effect/platform-node"
import * as Argument from "effect/cli/Argument"
import * as CliConfig from "effect/cli/CliConfig"
import * as CliOutput from "effect/cli/CliOutput"
import * as Command from "effect/cli/Command"
import * as Flag from "effect/cli/Flag"
import * as GlobalFlag from "effect/cli/GlobalFlag"
import type * as Config from "effect/Config"
import * as Console from "effect/Console"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Logger from "effect/Logger"
import * as Option from "effect/Option"
import * as Display from "./Display.ts"
import * as LanguageModel from "./LanguageModel.ts"

// -----------------------------------------------------------------------------
// What can be said on the command line
// -----------------------------------------------------------------------------

/** The question, which has a default. */
export const question = (text: string, options: { readonly hint: string; readonly example: string }) =>
  Argument.String("question").pipe(
    Argument.withDescription(`What you want to know; ${options.hint}`),
    Argument.filter((text) => text.trim() !== "", () => `a question, such as "${options.example}"`),
    Argument.withDefault(text)
  )

export const toggle = (name: string, description: string) =>
  Flag.Boolean(name).pipe(Flag.withDescription(description), Flag.withDefault(false))

export const flags = {
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
}

// -----------------------------------------------------------------------------
// What is done with it
// -----------------------------------------------------------------------------

/** Shows a run in the way that was asked for, with the model that was asked for. */
export const show = <R>(
  { events, json, model, question, quiet, standIn }: Omit<Display.Run<R>, "notice"> & {
    readonly json: boolean
    readonly quiet: boolean
    readonly model: Option.Option<string>
    readonly standIn: LanguageModel.Player
  }
) =>
  Effect.flatMap(
    Effect.tapError(LanguageModel.choose(Option.getOrUndefined(model), standIn), explainSettings),
    ({ layer, notice }) =>
      (json ? Display.json : quiet ? Display.quiet : Display.readable)({ events, notice, question }).pipe(
        Effect.provide(Layer.tapError(layer, explainSettings))
      )
  )

/** What is wrong in the environment, in one paragraph. */
const explainSettings = (problem: string | Config.ConfigError) =>
  Console.error(typeof problem === "string" ? problem : problem.cause.message.replace(/\s+/g, " "))

/** What was wrong with the command line, in one paragraph. */
const presenter: CliOutput.Presenter = {
  present: (event) =>
    event._tag === "InvalidInvocation"
      ? Console.error(
        `${event.errors.map(({ message }) => message).join(". ")} (--help says what can be asked, and how.)`
      )
      : CliOutput.defaultPresenter.present(event)
}

/** A command as a program: its arguments, where it prints and what the environment says are services. */
export const program = <Name extends string, Input, Context, E>(
  command: Command.Command<Name, Input, Context, E, NodeServices.NodeServices>
) =>
  Command.run(command, { version: "0.1.0" }).pipe(
    Effect.provide([
      CliOutput.layerPresenter(presenter),
      CliConfig.layer({ builtIns: [GlobalFlag.Help, GlobalFlag.Version] })
    ]),
    Effect.tapDefect((defect) => Console.error(String(defect))),
    // Programs parse standard output: it has the answer or the events, and no logs.
    Effect.provideService(Logger.LogToStderr, true)
  )

/** Runs a program as the one of this process. */
export const run = <E>(program: Effect.Effect<void, E, NodeServices.NodeServices>): void =>
  program.pipe(
    Effect.raceFirst(readerLeft),
    Effect.provide(NodeServices.layer),
    // A run without an answer has already been reported; what remains is the exit code.
    NodeRuntime.runMain({ disableErrorReporting: true })
  )

/**
 * Ends when the reader of the output has left, as `| head` does once it has its lines. It listens until the process ends,
 * since the last line may fail after the run.
 *
 * The exit code is then 0: the reader has what it wanted, and pnpm would report any other code as an error.
 */
const readerLeft = Effect.callback<void>((resume) => {
  process.stdout.on("error", (error) => {
    if (!Display.isBrokenPipe(error)) throw error
    resume(Effect.void)
  })
  // A run whose messages nobody reads goes on: somebody may read its answer.
  process.stderr.on("error", (error) => {
    if (!Display.isBrokenPipe(error)) throw error
  })
})
