/** Custom policies, tools under them, and the outcome and events of a call. */
import { assert } from "@effect/vitest"
import { Dispatch, Observer, Policy, SemanticGarbage, Tool, type ToolFailure, Toolkit } from "@fallible/core"
import type * as CallEvent from "@fallible/core/CallEvent"
import type * as SideEffect from "@fallible/core/SideEffect"
import type * as ToolOutcome from "@fallible/core/ToolOutcome"
import { Duration, Effect, Schema } from "effect"
import { parameters, paris, unknownCity } from "./sequence.ts"
import { passing } from "./virtualTime.ts"

export type Untyped = never

/** Makes a custom policy. */
export const custom = <E extends ToolFailure.ToolFailure = never>(
  wrap: Policy.Options<never, E>["wrap"],
  name = "mine"
): Policy.Policy<never, E> => Policy.make<never, E>({ kind: "custom", name, description: name, wrap })

export const call = { id: "1", name: "get_weather", arguments: JSON.stringify(paris) }

/** Runs one call, and returns its outcome and its events. */
export const told = (tool: Tool.Any) =>
  Effect.gen(function*() {
    const events: Array<CallEvent.Watched> = []
    const outcome = yield* passing(
      Observer.observe(
        Dispatch.call(Toolkit.make(tool as Tool.Tool<string, unknown, unknown, ToolFailure.ToolFailure>), call),
        { onEvent: (event) => events.push(event) }
      )
    )
    return { outcome, events }
  })

export const outcomeOf = (tool: Tool.Any) => Effect.map(told(tool), ({ outcome }) => outcome)

/** Makes a tool whose nth execution runs the nth step. */
export const stepping = (
  steps: ReadonlyArray<Effect.Effect<string, ToolFailure.ToolFailure<string>>>,
  sideEffect: SideEffect.SideEffect = "none"
) => {
  let step = 0
  return Tool.make(
    "get_weather",
    { description: "The weather", parameters, success: Schema.String, sideEffect },
    () => Effect.suspend(() => steps[step++] ?? Effect.die("no more steps"))
  )
}

export const later = <A, E>(millis: number, effect: Effect.Effect<A, E>) => Effect.delay(effect, millis)

export const handledIn = ({ handled }: ToolOutcome.ToolOutcome) =>
  handled.map(({ by, code, policy }) => policy === undefined ? `${code} by ${by}` : `${code} by ${by} ${policy}`)

export const waitedIn = ({ waited }: ToolOutcome.ToolOutcome) => Duration.toMillis(waited)

export const caveatsOf = (outcome: ToolOutcome.ToolOutcome) => outcome._tag === "Completed" ? outcome.caveats : outcome

export const tags = (events: ReadonlyArray<CallEvent.Watched>) => events.map(({ _tag }) => _tag)

export const one = <Tag extends CallEvent.CallEvent["_tag"]>(events: ReadonlyArray<CallEvent.Watched>, tag: Tag) => {
  const event = events.find((event): event is CallEvent.Watched & { readonly _tag: Tag } => event._tag === tag)
  if (event === undefined) return assert.fail(`no ${tag} in ${tags(events).join()}`)
  const { at: _, attempt: __, id: ___, tool: ____, ...bare } = event
  return bare
}

export const twice = custom((run) => (params) => Effect.catch(run(params), () => run(params)))

export const lost = Effect.fail(unknownCity)
export const mine = new SemanticGarbage({ code: "mine", detail: "Not good enough." })
