/*
 * The compiler's message about a function of the wrong type. A sentence in a type shows up in that message.
 */
import type * as Effect from "effect/Effect"
import type { ToolFailure, ToolUnavailable } from "../../ToolFailure.ts"
import type { Listed, TagOf } from "../failure/taggedErrors.ts"

declare const advice: unique symbol

/** A type that no value has. */
export interface Advice<out Sentence extends string> extends ToolUnavailable {
  readonly [advice]: Sentence
}

/** The failures that a handler may have. If it has others, or returns a promise, the type also contains a sentence. */
export type PermittedFailure<Handled, A> = Permitted<
  Handled,
  A,
  "This handler returns a promise. Use Tool.promise.",
  "A tool fails with a ToolFailure."
>

/** The failures that the function of a fallback, a catch or a check may have. */
export type SourceFailure<Handled, A> = Permitted<
  Handled,
  A,
  "This function returns a promise. Wrap it in Effect.tryPromise, and add: Effect.mapError(ToolFailure.from)",
  "This function must fail with a ToolFailure."
>

type Permitted<Handled, A, OfPromise extends string, OfFailure extends string> = Handled extends PromiseLike<unknown>
  ? Advice<OfPromise>
  // An unknown error comes from another mistake, which the advice would hide.
  : unknown extends Effect.Error<Handled> ? ToolFailure<A>
  // Both branches contain `ToolFailure<A>`. So a type parameter that extends `ToolFailure<A>` fits, too.
  : [Effect.Error<Handled>] extends [ToolFailure] ? ToolFailure<A>
  :
    | ToolFailure<A>
    | Advice<`${OfFailure} Add: Effect.mapError(${Mapping<TagOf<Exclude<Effect.Error<Handled>, ToolFailure>>>})`>

/** What turns the errors of a handler into failures: a function for each tag, if they have tags. */
type Mapping<Tag> = [Tag] extends [never] ? "ToolFailure.from" : `ToolFailure.fromTags({ ${Listed<Tag>} })`
