/**
 * The side effect that a tool declares. It decides which calls to the tool may be repeated, and which calls of
 * one turn may run at the same time. A tool *acts* if it has side effects.
 *
 * | side effect           | meaning                                                    | call whose answer is lost       | calls in one turn    |
 * | --------------------- | ---------------------------------------------------------- | ------------------------------- | -------------------- |
 * | `"none"`              | the tool only reads                                        | retried                         | up to 8 in parallel  |
 * | `"idempotent"`        | running it twice has the same effect as once, like a `PUT` | retried                         | one by one, in order |
 * | `"idempotent_by_key"` | its service acts once per idempotency key                  | retried under the same key      | one by one, in order |
 * | `"non_idempotent"`    | each run acts (the default)                                | not retried (`outcome_unknown`) | one by one, in order |
 *
 * Calls that act run in parallel, too, if the `identity` function of their tool tells them apart, or their tools are
 * declared `concurrent`.
 *
 * The library trusts the declaration: if a tool is declared read-only, but acts, it may act twice. A call's
 * `Certainty` says whether the call took effect, and what counts as evidence. Declare the `identity` of a tool that moves
 * money: without one, a call with another note counts as another call, and a call in doubt closes the whole tool
 * (`CallFacts`).
 *
 * A handler may start again from its beginning: a policy retries it, its user has replied to its question, or a journal
 * replays its run. The call and its key are the same each time. So the handler asks first, acts once, and makes the same
 * request from the same arguments. It uses the key in place of random ids and times.
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
 * - `"none"`: the tool only reads.
 * - `"idempotent"`: running the tool twice with the same arguments has the same effect as running it once.
 * - `"idempotent_by_key"`: the handler sends the call's key (`fetch.withKey` of its context, or `ToolCall.current`) to
 *   its service, which acts once per key.
 * - `"non_idempotent"`: each run acts. The tool must not run again unless the earlier run certainly did nothing.
 *
 * @category models
 * @since 0.1.0
 */
export type SideEffect = "none" | "idempotent" | "idempotent_by_key" | "non_idempotent"

/**
 * The annotations of a tool in the Model Context Protocol (version 2025-06-18). `effect/ai` calls them
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
 * When to use: to publish a tool for other programs. A tool does not declare whether its effect is destructive,
 * so every acting tool is annotated as destructive.
 *
 * @example
 * ```ts
 * import * as SideEffect from "@fallible/core/SideEffect"
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
  // `"idempotent_by_key"` is not annotated as idempotent: each call by another program gets a different key.
  idempotentHint: isIdempotent(sideEffect),
  destructiveHint: sideEffect !== "none"
})

/**
 * Converts annotations to a side effect.
 *
 * When to use: to use a tool that another program publishes. If an annotation is missing, the safer assumption
 * is made. Annotations are only hints, so the result may be wrong.
 *
 * @example
 * ```ts
 * import * as SideEffect from "@fallible/core/SideEffect"
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
