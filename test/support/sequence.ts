/** Records the events of a run with their times. Provides a weather tool that performs given steps. */
import {
  Observer,
  Policy,
  SchemaMismatch,
  SemanticGarbage,
  Tool,
  type ToolFailure,
  ToolUnavailable
} from "@fallible/core"
import type * as SideEffect from "@fallible/core/SideEffect"
import { Clock, Duration, Effect, Schedule, Schema } from "effect"
import { TestClock } from "effect/testing"

export type Failure = SchemaMismatch | SemanticGarbage | ToolUnavailable

export const refused = new ToolUnavailable({ code: "connection", detail: "Refused.", transient: true })
export const notExecuted = new ToolUnavailable({ ...refused, outcome: "not_executed" })
/** The request was sent, and its answer was lost. */
export const lost = new ToolUnavailable({ code: "connection", detail: "Reset.", transient: true, outcome: "unknown" })
/** Like {@link lost}, but it does not say whether the call took effect. */
export const silent = new ToolUnavailable({ code: "connection", detail: "Reset.", transient: true })
export const disabled = new ToolUnavailable({ code: "disabled", detail: "Disabled.", transient: false })
export const unknownCity = new SemanticGarbage({ code: "unknown_city", detail: "Unknown city." })
export const noTotal = new SchemaMismatch({ side: "result", code: "invalid_result", detail: "No total." })

export const twiceAfterOneSecond = Schedule.upTo(Schedule.spaced("1 second"), { times: 2 })

export const parameters = Schema.Struct({ city: Schema.String })
export const paris = { city: "Paris" }

/** The events of a run, as `"<millisecond> <event>"`. */
export class Sequence {
  readonly events: Array<string> = []

  readonly note = (event: string) =>
    Effect.map(Clock.currentTimeMillis, (now) => {
      this.events.push(`${now} ${event}`)
    })

  /** Makes a tool whose nth attempt runs the nth step. Later attempts run the last step. */
  readonly tool = <E extends Failure>(
    steps: readonly [Effect.Effect<string, E>, ...ReadonlyArray<Effect.Effect<string, E>>],
    sideEffect: SideEffect.SideEffect = "none"
  ) => {
    let attempt = 0
    return Tool.make(
      "get_weather",
      { description: "The weather", parameters, success: Schema.String, sideEffect },
      () =>
        Effect.andThen(
          Effect.suspend(() => this.note(`attempt ${++attempt}`)),
          Effect.suspend(() => steps[attempt - 1] ?? steps[steps.length - 1]!)
        ).pipe(Effect.onInterrupt(() => this.note("interrupted")))
    )
  }

  /** Runs an Effect and records its end: the value, or the code of the failure. */
  readonly ending = <R>(run: Effect.Effect<string, Pick<Failure, "code">, R>, as = "") =>
    run.pipe(
      Effect.match({ onSuccess: (value) => value, onFailure: ({ code }) => code }),
      Effect.flatMap((end) => this.note(`${as}=> ${end}`))
    )

  /** Runs an Effect for an hour, and records the events of its policies as well. */
  readonly watch = (run: Effect.Effect<string, Pick<Failure, "code">>) =>
    Effect.gen({ self: this }, function*() {
      yield* this.ending(run).pipe(
        Observer.observe({
          onEvent: (event) => {
            if (event._tag === "FailureHandled") this.events.push(`${event.by} handles ${event.code}`)
            if (event._tag === "WaitStarted") {
              this.events.push(`waits ${Duration.toMillis(event.wait ?? Duration.zero)}`)
            }
          }
        }),
        Effect.forkChild
      )
      yield* TestClock.adjust("1 hour")
      return this.events
    })

  /** Runs a tool for an hour under {@link watch}. */
  readonly play = (tool: Tool.Tool<string, typeof paris, string, Failure>) => this.watch(tool.run(paris))
}

export const after = <A, E = never>(millis: number, end: Effect.Effect<A, E>) =>
  Effect.andThen(Effect.sleep(millis), end)
export const sunny = Effect.succeed("sunny")

/** Makes a tool that runs one effect. */
export const doing = <E extends Failure, R = never>(
  effect: Effect.Effect<string, E, R>,
  sideEffect: SideEffect.SideEffect = "none",
  name = "get_weather"
) => Tool.make(name, { description: "The weather", parameters, success: Schema.String, sideEffect }, () => effect)

/** Makes a custom policy from a function of the run. */
export const custom = (
  move: <A, E extends ToolFailure.ToolFailure, R>(run: Effect.Effect<A, E, R>) => Effect.Effect<A, E | Failure, R>
) =>
  Policy.make<never, Failure>({
    kind: "custom",
    name: "mine",
    description: "mine",
    wrap: (run) => (params) => move(run(params))
  })

/** Returns the state of a run one millisecond before a time, and at that time. */
export const around = <A, E>(run: Effect.Effect<A, E>, millis: number) =>
  Effect.gen(function*() {
    const fiber = yield* Effect.forkChild(run, { startImmediately: true })
    yield* TestClock.adjust(millis - 1)
    const before = fiber.pollUnsafe()
    yield* TestClock.adjust(1)
    return [before, fiber.pollUnsafe()] as const
  })
