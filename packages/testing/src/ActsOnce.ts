/**
 * Can this pay twice? A law that you run on a tool of your own, with its policies and its handler.
 *
 *     yield* ActsOnce.check({
 *       tool: (service) => payWith(service.fetch).pipe(Tool.retry(RetryPolicy.transient)),
 *       arguments: { order: "7" }
 *     })
 *
 * The handler talks to a service that acts and drops the connection, acts later, answers 500 after it has acted, or is slow
 * (`FakeService`). A model asks for the same until it is told of a success, and the process may stop in the middle of a step and go on with
 * what it has written down. However that goes, the service is to act once.
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
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import type * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
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
export interface Options<out T extends Tool.Any, out R = never> extends Answers {
  /** The tool, with its policies and its handler, on top of a service. It is made anew for each run. */
  readonly tool: (service: FakeService) => T
  /** What the model calls it with. */
  readonly arguments: object
  /** The policies of the agent. Default: none. */
  readonly policies?: ReadonlyArray<Policy.Policy<R, ToolFailure.ToolFailure>>
  /** Does the service act once for each idempotency key? Default: if the tool is `"idempotent_by_key"`. */
  readonly keys?: "honoured" | "ignored"
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
 * The handler never reached the service, though nothing went wrong: the check would say nothing.
 *
 * @category failures
 * @since 0.1.0
 */
export class NeverActed extends Data.TaggedError("NeverActed")<{ readonly tool: string; readonly told: string }> {
  override get message(): string {
    return `${this.tool} did not reach the service, though nothing went wrong. The model was told: ${this.told}`
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
 * It fails with {@link ActedTwice}, which has the shortest sequence that shows it, and with {@link NeverActed} if the handler does not use the
 * service at all.
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
export const check = <T extends Tool.Any, R = never>(
  options: Options<T, R>
): Effect.Effect<Checked, ActedTwice | NeverActed, Tool.Requirements<T> | R> =>
  Effect.gen(function*() {
    const { runs = 400, seed = "acts once" } = options
    const fine = yield* played(options, nothingWrong)
    if (fine.acted === 0) return yield* new NeverActed({ tool: fine.tool, told: fine.told })
    let number = 0
    for (const plan of plans(runs, yield* drawn(runs).pipe(Random.withSeed(seed)))) {
      number++
      const found = yield* played(options, plan)
      if (found.acted > 1) return yield* shortest(options, plan, found)
    }
    return { runs: number }
  })

// -----------------------------------------------------------------------------
// What is tried
// -----------------------------------------------------------------------------

/** Where the process stops: at a call of the model's, before the call has run, or after it, and before that is written down. */
interface Stop {
  readonly call: number
  readonly hasRun: boolean
}

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
  { call: 2, hasRun: false }
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
const shortest = <T extends Tool.Any, R>(options: Options<T, R>, plan: Plan, found: Played) =>
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
}

const played = <T extends Tool.Any, R>(
  options: Options<T, R>,
  plan: Plan
): Effect.Effect<Played, never, Tool.Requirements<T> | R> =>
  Effect.gen(function*() {
    const sequence: Array<string> = []
    const tell = (line: string) => void sequence.push(line)
    const service = new Service(plan.faults, options.keys === "honoured", options, tell)
    const tool = options.tool(yield* service.made)
    if (options.keys === undefined) service.goesByKeys = tool.sideEffect === "idempotent_by_key"
    const agent = Agent.make({ toolkit: Toolkit.make(tool), policies: options.policies ?? [], limits: { turns: 20 } })
    let told = ""
    const script: ScriptedModel.Script = ({ messages }) => {
      const heard = messages.flatMap((message) => message.role === "tool" ? [message.text] : [])
      told = heard.at(-1) ?? ""
      const isDone = heard.some((text) => !text.includes("\"ok\":false")) || heard.length >= (options.asks ?? 3)
      return isDone ? ScriptedModel.text("Done.") : ScriptedModel.call(tool.name, options.arguments)
    }
    const written = new Map<string, Exit.Exit<unknown, unknown> | undefined>()
    // The second process goes on with what the first has written down.
    for (const stop of [plan.stop, undefined]) {
      const stopped = yield* Deferred.make<void>()
      const run = agent.run("Go.", { id: "run" }).pipe(
        Effect.exit,
        Effect.provideService(Journal.current, new Process(written, stop, stopped, tool.name, tell)),
        Effect.provide(ScriptedModel.layer(script))
      )
      const isOver = Effect.raceFirst(Effect.as(run, true), Effect.as(Deferred.await(stopped), false))
      if (yield* passing(isOver)) break
    }
    // What the service is yet to do, it does.
    for (let minute = 0; minute < 5; minute++) yield* moment("1 minute")
    return { tool: tool.name, acted: service.acted, sequence, told }
  }).pipe(
    Random.withSeed("acts once"),
    Effect.provideService(Defect.reporter, () => Effect.void),
    Effect.provideService(LateResult.reporter, () => Effect.void),
    Effect.provide(Logger.layer([])),
    Effect.provide(TestClock.layer())
  )

/** A process that writes down its steps, and may stop in the middle of one. */
class Process implements Journal.Journal {
  readonly #written: Map<string, Exit.Exit<unknown, unknown> | undefined>
  readonly #stop: Stop | undefined
  readonly #stopped: Deferred.Deferred<void>
  readonly #tool: string
  readonly #tell: (line: string) => void
  #calls = 0

  constructor(
    written: Map<string, Exit.Exit<unknown, unknown> | undefined>,
    stop: Stop | undefined,
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
    while (fiber.pollUnsafe() === undefined) yield* moment("1 second")
    return yield* Fiber.join(fiber)
  })

// A handler may be made of promises, which have their turns in between.
const moment = (time: Duration.Input) => Effect.andThen(turns, TestClock.adjust(time))

const turns = Effect.callback<void>((resume) => {
  setImmediate(() => setImmediate(() => resume(Effect.void)))
})
