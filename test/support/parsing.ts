/** Parses arguments: returns the value of a readable text, or the refusal of an unreadable one. */
import { assert } from "@effect/vitest"
import * as Arguments from "@fallible/core/Arguments"
import { Result } from "effect"
import type * as DispatchFailure from "../../packages/core/src/internal/arguments/dispatchFailure.ts"

export const value = (text: string | undefined) => Result.getOrThrow(Arguments.parse(text)).value

export const refusal = (text: string): DispatchFailure.Mismatch =>
  Result.match(Arguments.parse(text), {
    onFailure: (failure) => failure,
    onSuccess: ({ value }) => assert.fail(`accepted as ${JSON.stringify(value)}`)
  })

export const detail = (text: string) => refusal(text).detail.replace("The arguments cannot be read. ", "")
