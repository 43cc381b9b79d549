/** What a scripted reply has beyond its text and its calls. */
import type { Model } from "@fallible/core"
import * as Hash from "effect/Hash"
import * as Predicate from "effect/Predicate"
import { nativeOf } from "./chatCompletions.ts"

/** The tokens of a reply, with their parts. */
export interface Counts {
  readonly input: number
  /** The part of the input that was read from a cache. */
  readonly cached: number
  /** The part of the input that was written to a cache. */
  readonly written: number
  readonly output: number
  /** The part of the output that was reasoning. */
  readonly reasoning: number
}

/** Returns the tokens of a reply; nothing if the script does not say. */
export const countsOf = ({ usage }: Model.Reply): Counts | undefined =>
  usage === undefined ? undefined : {
    input: usage.inputTokens ?? 0,
    cached: usage.cachedTokens ?? 0,
    written: usage.cacheWrittenTokens ?? 0,
    output: usage.outputTokens ?? 0,
    reasoning: usage.reasoningTokens ?? 0
  }

/** An item, block or part in a provider's own form, with the fields that this module's users look at. */
export interface OwnItem {
  readonly type?: unknown
  readonly id?: unknown
  readonly status?: unknown
  readonly name?: unknown
  readonly arguments?: unknown
  readonly summary?: unknown
  readonly content?: unknown
  readonly text?: unknown
  readonly refusal?: unknown
  readonly thinking?: unknown
  readonly signature?: unknown
  readonly encrypted_content?: unknown
}

/** The content of a reply in a provider's own form. */
export interface Own {
  /** Items, blocks or parts that come before the text and the calls. */
  readonly before: ReadonlyArray<OwnItem>
  /** Fields that override those of the reply. */
  readonly fields: object
}

/** Returns the content of a reply in a provider's own form: the fields of `native`, with `before` apart. */
export const ownOf = (reply: Model.Reply, provider: string): Own => {
  const { before = [], ...fields }: { readonly before?: unknown } = nativeOf(reply, provider)
  return { before: Array.isArray(before) ? before.filter(Predicate.isObject) : [], fields }
}

/** A short digest of a text. */
export const digest = (text: string): string => (Hash.string(text) >>> 0).toString(16)

/** A signature that proves that a server has sent a text. */
export const sign = (text: string): string => btoa(`signature of ${digest(text)}`)
