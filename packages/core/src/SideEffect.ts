/**
 * What running a tool may change: it decides what may be repeated, and what runs together.
 *
 * | side effect           | it means                                                | after a lost answer              | in one turn     |
 * | --------------------- | ------------------------------------------------------- | -------------------------------- | --------------- |
 * | `"none"`              | it only reads                                           | tried again                      | up to 8 at once |
 * | `"idempotent"`        | running it twice is the same as once, as a `PUT`        | tried again                      | alone, in order |
 * | `"idempotent_by_key"` | its service acts once for each idempotency key          | tried again, under the same key  | alone, in order |
 * | `"non_idempotent"`    | each run acts; the default                              | never again (`outcome_unknown`)  | alone, in order |
 *
 * The declaration is believed: a tool that says it only reads, and acts, may act twice. `Certainty` says what a call knows of its effect.
 *
 * The Model Context Protocol and `effect/ai` say the same with annotations; {@link annotations} and
 * {@link fromAnnotations} go both ways.
 *
 * @since 0.1.0
 */
import { isIdempotent } from "./internal/call/idempotent.ts"

/**
 * `"none"`: it only reads. `"idempotent"`: running it twice with the same arguments is the same as once. `"idempotent_by_key"`: the
 * handler sends the call's key (`ToolCall.current`), and the service acts once for each key. `"non_idempotent"`: each run acts, and must not
 * be repeated unless it certainly did not happen.
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
 * A side effect as annotations, for publishing a tool to others. Whether an effect destroys anything is not
 * known here, and so a tool that acts is taken to.
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
  // Whoever calls it from elsewhere has another key each time.
  idempotentHint: isIdempotent(sideEffect),
  destructiveHint: sideEffect !== "none"
})

/**
 * The side effect that annotations speak of, for taking over the tools of others. What they do not say is the
 * careful assumption: an annotation is only a hint, and so is what comes of it.
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
