/*
 * Calls whose text cannot be read. The AI SDK would keep that text as the input of the call, and a strict provider refuses a
 * chat with such a call from then on. So the input becomes an object, and the call fails like any other.
 */
import * as Arguments from "@fallible/core/Arguments"
import type { Failed } from "@fallible/core/ToolOutcome"
import * as Duration from "effect/Duration"
import * as Predicate from "effect/Predicate"
import * as Result from "effect/Result"

const key = "unreadable_arguments"

/** Returns an input that stands for a text. */
export const unreadable = (text: string): string => JSON.stringify({ [key]: text })

/** Returns the outcome of a call with such an input; `undefined` for all others, and if the text can be read after all. */
export const refusedAs = (value: unknown): Failed | undefined => {
  const text = Predicate.isObject(value) && Object.keys(value).length === 1 ? value[key] : undefined
  const parsed = typeof text === "string" ? Arguments.parse(text) : undefined
  if (parsed === undefined || Result.isSuccess(parsed)) return undefined
  return {
    _tag: "Failed",
    failure: parsed.failure,
    stage: "decode",
    certainty: "not_executed",
    attempts: 0,
    waited: Duration.zero,
    handled: []
  }
}
