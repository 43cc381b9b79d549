/**
 * Can this pay twice? A law that you run on a tool of your own, with its policies and its handler.
 *
 *     yield* ActsOnce.check({
 *       tool: (service) => payWith(service.fetch).pipe(Tool.retry(RetryPolicy.transient)),
 *       arguments: { order: "7" }
 *     })
 *
 * The handler talks to a service that acts and drops the connection, acts later, answers 500 after it has acted, or is slow
 * (`FakeService`). A model asks for the same until it is told of a success. The process may stop in the middle of a step, and another one goes
 * on with what is written down. A job may be delivered twice, under one id, if the tool is `"idempotent_by_key"`. However that goes, the service
 * is to act once.
 *
 * All short sequences of faults are tried first, and then longer ones, drawn from a seed. So a sequence that shows a second act is the
 * shortest there is, or has been cut down until nothing could be left out. Time is virtual.
 *
 * It proves nothing about a service that is not as yours is: say whether yours goes by keys (`keys`). And it sees what the handler sends
 * to the fake service, and nothing else.
 *
 * @since 0.1.0
 */
import { Agent, Defect, Journal, LateResult, type Policy, type Tool, type ToolFailure, Toolkit } from "@fallible/core"
import * as Data from "effect/Data"
import * as Deferred from "effect/Deferred"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import type * as Layer from "effect/Layer"
import * as Logger from "effect/Logger"
import * as Random from "effect/Random"
import { TestClock } from "effect/testing"
import type { Answers, FakeService, Fault } from "./FakeService.ts"
import { faults, Service } from "./internal/plannedService.ts"
import * as ScriptedModel from "./ScriptedModel.ts"

// -----------------------------------------------------------------------------
// Models
// -----------------------------------------------------------------------------

/**
 * What is checked.
 *
 * @category models
 * @since 0.1.0
 */
export interface Options<out T extends Tool.Any, out R = never, in Provided = never> extends Answers {
  /** The tool, with its policies and its handler, on top of a service. It is made anew for each sequence. */
  readonly tool: (service: FakeService) => T
  /** Services that the tool needs, on top of the same service, made anew for each sequence. Default: none. */
  readonly layer?: (service: FakeService) => Layer.Layer<Provided>
  /** What the model calls it with; or several ways to write the same, one for each time that it asks. */
  readonly arguments: object | ReadonlyArray<object>
  /** The policies of the agent. Default: none. */
  readonly policies?: ReadonlyArray<Policy.Policy<R, ToolFailure.ToolFailure>>
  /** Does the service act once for each idempotency key? Default: if the tool is `"idempotent_by_key"`. */
  readonly keys?: "honoured" | "ignored"
  /** How long the service may take at most, after the connection was lost. Default: 1 minute. */
  readonly lateBy?: Duration.Input
  /** How often the model asks, if it is not told of a success. Default: 3. */
  readonly asks?: number
  /** How many sequences are tried, at most. Default: 400. */
  readonly runs?: number
  /** What longer sequences are drawn from. Default: `"acts once"`. */
  readonly seed?: string
}

/**
 * The service never acted twice.
 *
 * @category models
 * @since 0.1.0
 */
export interface Checked {
  /** How many sequences were tried. */
  readonly runs: number
  /** After how many of them nobody knew whether the service had acted. If it is nearly all, look whether your check finds anything. */
  readonly inDoubt: number
}

/**
 * The service acted more than once.
 *
 * @category failures
 * @since 0.1.0
 */
export class ActedTwice extends Data.TaggedError("ActedTwice")<{
  readonly tool: string
  /** How often it acted. */
  readonly times: number
  /** What happened, a line for each thing. */
  readonly sequence: ReadonlyArray<string>
}> {
  override get message(): string {
    return `The service acted ${this.times} times for one call of ${this.tool}:\n\n  ${this.sequence.join("\n  ")}\n`
  }
}

/**
 * The tool does not work though nothing goes wrong: it did not reach the service, or did not succeed. Then the check would say nothing.
 *
 * @category failures
 * @since 0.1.0
 */
export class NeverSucceeded extends Data.TaggedError("NeverSucceeded")<{
  readonly tool: string
  /** How often the service acted. */
  readonly times: number
  /** What the model was told. */
  readonly told: string
}> {
  override get message(): string {
    const what = this.times === 0 ? "did not reach the service" : "reached the service, and did not succeed"
    return `${this.tool} ${what}, though nothing went wrong. The model was told: ${this.told}`
  }
}

// -----------------------------------------------------------------------------
// The check
// -----------------------------------------------------------------------------

/**
 * Whether a tool can act twice for one call.
 *
 * When to use: in a test, for each tool that pays, books or sends.
 *
 * It fails with {@link ActedTwice}, which has the shortest sequence that shows it, and with {@link NeverSucceeded} if the tool does not even
 * work where nothing goes wrong. A tool without services of its own needs none; give others by `layer`, or provide them around the check.
 *
 * @example
 * ```ts
 * import { RetryPolicy, Tool, ToolCall, ToolFailure } from "@fallible/core"
 * import { ActsOnce, type FakeService } from "@fallible/testing"
 * import { Effect, Schema } from "effect"
 *
 * const pay = (sideEffect: "idempotent" | "idempotent_by_key") => (service: FakeService.FakeService) =>
 *   Tool.make("pay", {
 *     description: "Pays an order",
 *     parameters: Schema.Struct({ order: Schema.String }),
 *     success: Schema.Unknown,
 *     sideEffect
 *   }, ({ order }) =>
 *     Effect.flatMap(ToolCall.current, ({ idempotencyKey }) =>
 *       Effect.mapError(service.act({ key: idempotencyKey, body: order }), (error) => ToolFailure.from(error)))
 *   ).pipe(Tool.retry(RetryPolicy.transient))
 *
 * const check = { arguments: { order: "7" }, runs: 40 }
 *
 * const { runs } = await Effect.runPromise(ActsOnce.check({ ...check, tool: pay("idempotent_by_key") }))
 * runs // => 40
 *
 * const twice = await Effect.runPromise(Effect.flip(ActsOnce.check({ ...check, tool: pay("idempotent") })))
 * twice._tag === "ActedTwice" && twice.sequence
 * // => ["The model calls pay.", "Request 1, key a: the service acts, and the connection is lost.", "Request 2, key a: the service acts, and answers."]
 * ```
 *
 * @category checks
 * @since 0.1.0
 */
export const check = <T extends Tool.Any, R = never, Provided = never>(
  options: Options<T, R, Provided>
): Effect.Effect<Checked, ActedTwice | NeverSucceeded, Exclude<Tool.Requirements<T> | R, Provided>> =>
  Effect.gen(function*() {
    const { runs = 400, seed = "acts once" } = options
    const { acted: times, isDone, told, tool } = yield* played(options, nothingWrong)
    if (times === 0 || !isDone) return yield* new NeverSucceeded({ tool, times, told })
    let number = 0
    let inDoubt = 0
    for (const plan of plans(runs, yield* drawn(runs).pipe(Random.withSeed(seed)))) {
      const found = yield* played(options, plan)
      if (found.acted > 1) return yield* shortest(options, plan, found)
      number++
      if (found.isInDoubt) inDoubt++
    }
    return { runs: number, inDoubt }
  })

// -----------------------------------------------------------------------------
// What is tried
// -----------------------------------------------------------------------------

/**
 * Where the process stops: at a call of the model's, before the call has run, or after it, and before that is written down. Or else the whole
 * job is done once more, by a process that knows nothing of the first.
 */
type Stop = { readonly call: number; readonly hasRun: boolean } | "delivered_again"

interface Plan {
  readonly faults: ReadonlyArray<Fault>
  readonly stop: Stop | undefined
}

const nothingWrong: Plan = { faults: [], stop: undefined }

const stops: ReadonlyArray<Stop | undefined> = [
  undefined,
  { call: 1, hasRun: true },
  { call: 1, hasRun: false },
  { call: 2, hasRun: true },
  { call: 2, hasRun: false },
  "delivered_again"
]

/** From the shortest on. */
function* plans(runs: number, longer: ReadonlyArray<Plan>): Iterable<Plan> {
  let left = runs
  for (const plan of [...short(), ...longer]) if (left-- > 0) yield plan
}

const short = (): ReadonlyArray<Plan> => {
  const stopped = stops.slice(1)
  return [
    ...faults.map((fault) => ({ faults: [fault], stop: undefined })),
    ...stopped.map((stop) => ({ faults: [], stop })),
    ...faults.flatMap((first) => faults.map((second) => ({ faults: [first, second], stop: undefined }))),
    ...stopped.flatMap((stop) => faults.map((fault) => ({ faults: [fault], stop })))
  ]
}

const drawn = (runs: number): Effect.Effect<ReadonlyArray<Plan>> =>
  Effect.forEach(Array.from({ length: runs }), () =>
    Effect.gen(function*() {
      const length = yield* Random.nextIntBetween(3, 6)
      const sequence = yield* Effect.forEach(Array.from({ length }), () => oneOf(faults))
      return { faults: sequence, stop: yield* oneOf(stops) }
    }))

const oneOf = <A>(all: ReadonlyArray<A>): Effect.Effect<A> =>
  Effect.map(Random.nextIntBetween(0, all.length - 1), (index) => all[index]!)

// -----------------------------------------------------------------------------
// The shortest
// -----------------------------------------------------------------------------

// Leaves out whatever can be left out.
const shortest = <T extends Tool.Any, R, Provided>(options: Options<T, R, Provided>, plan: Plan, found: Played) =>
  Effect.gen(function*() {
    let [least, known] = [plan, found]
    for (let isSmaller = true; isSmaller;) {
      isSmaller = false
      for (const next of smaller(least)) {
        const played_ = yield* played(options, next)
        if (played_.acted <= 1) continue
        ;[least, known] = [next, played_]
        isSmaller = true
        break
      }
    }
    return yield* new ActedTwice({ tool: known.tool, times: known.acted, sequence: known.sequence })
  })

const smaller = ({ faults, stop }: Plan): ReadonlyArray<Plan> => [
  ...(stop === undefined ? [] : [{ faults, stop: undefined }]),
  ...faults.map((_, index) => ({ faults: faults.toSpliced(index, 1), stop })),
  ...faults.flatMap((fault, index) => fault === "none" ? [] : [{ faults: faults.with(index, "none"), stop }])
]

// -----------------------------------------------------------------------------
// A play
// -----------------------------------------------------------------------------

interface Played {
  readonly tool: string
  readonly acted: number
  readonly sequence: ReadonlyArray<string>
  /** What the model was told last. */
  readonly told: string
  /** Was that a success? */
  readonly isDone: boolean
  /** Did nobody know at the end whether the service had acted? */
  readonly isInDoubt: boolean
}

const played = <T extends Tool.Any, R, Provided>(
  options: Options<T, R, Provided>,
  { faults, stop }: Plan
): Effect.Effect<Played, never, Exclude<Tool.Requirements<T> | R, Provided>> =>
  Effect.gen(function*() {
    const sequence: Array<string> = []
    const tell = (line: string) => void sequence.push(line)
    const lateBy = Duration.toMillis(Duration.fromInputUnsafe(options.lateBy ?? "1 minute"))
    const service = new Service(faults, { ...options, goesByKeys: options.keys === "honoured", lateBy }, tell)
    const made = yield* service.made
    const tool = options.tool(made)
    const isByKey = tool.sideEffect === "idempotent_by_key"
    if (options.keys === undefined) service.goesByKeys = isByKey
    const agent = Agent.make({
      toolkit: Toolkit.make(tool),
      policies: options.policies ?? [],
      limits: { turns: 20, elapsed: "1 hour" }
    })
    const spellings = Array.isArray(options.arguments) ? options.arguments : [options.arguments]
    const heard: Array<string> = []
    let asked = 0
    const script: ScriptedModel.Script = ({ messages }) => {
      const texts = messages.flatMap((message) => message.role === "tool" ? [message.text] : [])
      heard.splice(0, Infinity, ...texts)
      return texts.some(isSuccess) || texts.length >= (options.asks ?? 3)
        ? ScriptedModel.text("Done.")
        : ScriptedModel.call(tool.name, spellings[asked++ % spellings.length])
    }
    const provided = options.layer?.(made)
    const run = (journal: Journal.Journal | undefined, options: Agent.RunOptions = {}) => {
      const answer = Effect.exit(agent.run("Go.", options)).pipe(Effect.provide(ScriptedModel.layer(script)))
      return journal === undefined ? answer : Effect.provideService(answer, Journal.current, journal)
    }
    const all = Effect.gen(function*() {
      if (stop === "delivered_again") {
        const first = yield* run(undefined, { id: "job" })
        // What goes by no keys, and knows nothing of the first, acts again.
        if (!isByKey) return first
        tell("The job is delivered again.")
        return yield* run(undefined, { id: "job" })
      }
      const written = new Map<string, Exit.Exit<unknown, unknown> | undefined>()
      const stopped = yield* Deferred.make<void>()
      const exit = yield* Effect.raceFirst(
        run(new Process(written, stop, stopped, tool.name, tell)),
        Effect.as(Deferred.await(stopped), undefined)
      )
      // The second process goes on with what the first has written down.
      return exit ?? (yield* run(new Process(written, undefined, stopped, tool.name, tell)))
    })
    const exit = yield* passing(provided === undefined ? asProvided<Provided>()(all) : Effect.provide(all, provided))
    // What the service is yet to do, it does.
    for (let time = 0; time < lateBy; time += lateBy / 4) yield* moment(Math.ceil(lateBy / 2))
    const facts = Exit.isSuccess(exit) ? Array.from(exit.value.facts.intents) : []
    return {
      tool: tool.name,
      acted: service.acted,
      sequence,
      told: heard.at(-1) ?? "",
      isDone: heard.some(isSuccess),
      isInDoubt: facts.some(([, { failed }]) => failed?.certainty === "unknown")
    }
  }).pipe(
    Random.withSeed("acts once"),
    Effect.provideService(Defect.reporter, () => Effect.void),
    Effect.provideService(LateResult.reporter, () => Effect.void),
    Effect.provide(Logger.layer([])),
    // Time passes here, so that nobody has to be warned that it does not: what waits to warn would hold it up.
    Effect.provide(TestClock.layer({ warningDelay: "1 millis" }))
  )

const isSuccess = (text: string): boolean => !text.includes("\"ok\":false")

// Without a layer, nothing is provided.
const asProvided = <Provided>() => <A, E, R>(effect: Effect.Effect<A, E, R>) =>
  effect as Effect.Effect<A, E, Exclude<R, Provided>>

/** A process that writes down its steps, and may stop in the middle of one. */
class Process implements Journal.Journal {
  readonly #written: Map<string, Exit.Exit<unknown, unknown> | undefined>
  readonly #stop: Exclude<Stop, string> | undefined
  readonly #stopped: Deferred.Deferred<void>
  readonly #tool: string
  readonly #tell: (line: string) => void
  #calls = 0

  constructor(
    written: Map<string, Exit.Exit<unknown, unknown> | undefined>,
    stop: Exclude<Stop, string> | undefined,
    stopped: Deferred.Deferred<void>,
    tool: string,
    tell: (line: string) => void
  ) {
    this.#written = written
    this.#stop = stop
    this.#stopped = stopped
    this.#tool = tool
    this.#tell = tell
  }

  step<A, E, R>({ lost, name }: Journal.Step<A, E, R>, effect: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> {
    return Effect.suspend((): Effect.Effect<A, E, R> => {
      const known = this.#written.get(name)
      if (known !== undefined) return asStepOf<A, E>(known)
      const isCall = name.includes("/call/")
      const wasBegun = this.#written.has(name)
      this.#written.set(name, undefined)
      if (isCall && !wasBegun) this.#tell(`The model calls ${this.#tool}.`)
      const stop = isCall && ++this.#calls === this.#stop?.call ? this.#stop : undefined
      if (stop?.hasRun === false) return this.#halt("before the call has run")
      return Effect.flatMap(Effect.exit(wasBegun && lost !== undefined ? lost : effect), (exit) => {
        if (stop !== undefined) return this.#halt("before it has written down what came of the call")
        this.#written.set(name, exit)
        return exit
      })
    })
  }

  #halt(when: string): Effect.Effect<never> {
    this.#tell(`The process stops ${when}, and another one goes on.`)
    return Effect.andThen(Deferred.succeed(this.#stopped, undefined), Effect.never)
  }
}

// It was written down for this very step.
const asStepOf = <A, E>(exit: Exit.Exit<unknown, unknown>) => exit as Exit.Exit<A, E>

// -----------------------------------------------------------------------------
// Time
// -----------------------------------------------------------------------------

/** Lets virtual time pass until it is done. */
const passing = <A, R>(effect: Effect.Effect<A, never, R>): Effect.Effect<A, never, R> =>
  Effect.gen(function*() {
    const fiber = yield* Effect.forkChild(effect, { startImmediately: true })
    // Most is over soon.
    for (let moments = 0; fiber.pollUnsafe() === undefined; moments++) {
      yield* moment(moments < 100 ? "1 second" : "10 seconds")
    }
    return yield* Fiber.join(fiber)
  })

// A handler may be made of promises, which have their turns in between.
const moment = (time: Duration.Input) => Effect.andThen(turns, TestClock.adjust(time))

const turns = Effect.callback<void>((resume) => {
  setImmediate(() => setImmediate(() => resume(Effect.void)))
})
