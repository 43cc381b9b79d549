/**
 * The side effect of a tool. It decides which calls may be repeated, and which may run at the same time.
 *
 * | side effect           | meaning                                               | after a lost answer              | in one turn     |
 * | --------------------- | ----------------------------------------------------- | -------------------------------- | --------------- |
 * | `"none"`              | it only reads                                         | retried                          | up to 8 at once |
 * | `"idempotent"`        | running it twice has the effect of once, like a `PUT` | retried                          | alone, in order |
 * | `"idempotent_by_key"` | its service acts once for each idempotency key        | retried under the same key       | alone, in order |
 * | `"non_idempotent"`    | each run acts; the default                            | not retried (`outcome_unknown`)  | alone, in order |
 *
 * The library trusts the declaration: a tool that acts although it is declared read-only may act twice.
 * `Certainty` tells whether a call took effect.
 *
 * The Model Context Protocol and `effect/ai` express side effects as annotations. {@link annotations} and
 * {@link fromAnnotations} convert in both directions.
 *
 * @since 0.1.0
 */
import { isIdempotent } from "./internal/call/isIdempotent.ts"

/**
 * The side effect of running a tool.
 *
 * - `"none"`: it only reads.
 * - `"idempotent"`: running it twice with the same arguments has the same effect as running it once.
 * - `"idempotent_by_key"`: the handler sends the call's key (`ToolCall.current`), and the service acts once
 *   for each key.
 * - `"non_idempotent"`: each run acts. It must not run again unless the earlier run certainly did nothing.
 *
 * @category models
 * @since 0.1.0
 */
export type SideEffect = "none" | "idempotent" | "idempotent_by_key" | "non_idempotent"

/**
 * The annotations of a tool in the Model Context Protocol (2025-06-18). `effect/ai` calls them
 * `Tool.Readonly`, `Tool.Idempotent` and `Tool.Destructive`.
 *
 * @category models
 * @since 0.1.0
 */
export interface Annotations {
  readonly readOnlyHint: boolean
  readonly idempotentHint: boolean
  readonly destructiveHint: boolean
}

/**
 * Converts a side effect to annotations.
 *
 * When to use: to publish a tool to others. It is not known here whether an effect is destructive, so every
 * tool that acts counts as destructive.
 *
 * @example
 * ```ts
 * import { SideEffect } from "@fallible/core"
 *
 * SideEffect.annotations("none").readOnlyHint // => true
 * SideEffect.annotations("non_idempotent").idempotentHint // => false
 * ```
 *
 * @category converting
 * @since 0.1.0
 */
export const annotations = (sideEffect: SideEffect): Annotations => ({
  readOnlyHint: sideEffect === "none",
  // `"idempotent_by_key"` does not count: an external caller has another key for each call.
  idempotentHint: isIdempotent(sideEffect),
  destructiveHint: sideEffect !== "none"
})

/**
 * Converts annotations to a side effect.
 *
 * When to use: to use a tool that others publish. A missing annotation leads to the careful assumption.
 * Annotations are only hints, and so is the result.
 *
 * @example
 * ```ts
 * import { SideEffect } from "@fallible/core"
 *
 * SideEffect.fromAnnotations({ readOnlyHint: true }) // => "none"
 * SideEffect.fromAnnotations({}) // => "non_idempotent"
 * ```
 *
 * @category converting
 * @since 0.1.0
 */
export const fromAnnotations = ({ idempotentHint, readOnlyHint }: Partial<Annotations>): SideEffect =>
  readOnlyHint === true ? "none" : idempotentHint === true ? "idempotent" : "non_idempotent"
