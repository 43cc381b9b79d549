/*
 * The compiler's message about a handler of the wrong type. A sentence in a type shows up in that message.
 */
import type * as Effect from "effect/Effect"
import type { ToolFailure, ToolUnavailable } from "../../ToolFailure.ts"

declare const advice: unique symbol

/** A type that no value has. */
interface Advice<out Sentence extends string> extends ToolUnavailable {
  readonly [advice]: Sentence
}

/** The failures that a handler may have. If it has others, or returns a promise, the type also contains a sentence. */
export type PermittedFailure<Handled, A> = Handled extends PromiseLike<unknown>
  ? Advice<"This handler returns a promise. Use Tool.promise.">
  // Both branches contain `ToolFailure<A>`. So a type parameter that extends `ToolFailure<A>` fits, too.
  : [Effect.Error<Handled>] extends [ToolFailure] ? ToolFailure<A>
  : ToolFailure<A> | Advice<"A tool fails with a ToolFailure. Add: Effect.mapError(ToolFailure.from)">
