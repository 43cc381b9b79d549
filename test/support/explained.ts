/** Tools for tests of worst cases, and policies around them. */
import { Policy, Tool } from "@fallible/core"
import type * as SideEffect from "@fallible/core/SideEffect"
import { Effect, Schedule, Schema } from "effect"

export const quote = (sideEffect: SideEffect.SideEffect = "none") =>
  Tool.make(
    "get_quote",
    { description: "A quote", success: Schema.Finite, sideEffect, identity: "all" },
    () => Effect.succeed(1)
  )

/** A quote with a timeout of 5 s. */
export const timely = (sideEffect?: SideEffect.SideEffect) => Tool.timeout(quote(sideEffect), "5 seconds")

export const twice = Schedule.exponential("200 millis").pipe(Schedule.upTo({ times: 2 }))

export const lines = (text: string) => text.split("\n")

/** Makes a custom policy with only the required fields, and optional terms. */
export const byHand = (name: string, terms?: Policy.Terms): Policy.Policy =>
  Policy.make({
    kind: "custom",
    name,
    description: name,
    wrap: (run) => run,
    ...(terms === undefined ? {} : { terms })
  })

export const adding = (policy: Policy.Any) => <T extends Tool.Any>(tool: T) => Tool.withDefaults(tool, [policy])
