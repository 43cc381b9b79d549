/* What a handler notes beside its result. An Effect and an async function note the same. */
import * as Schema from "effect/Schema"
import { File } from "../value/file.ts"
import { ownCopy } from "../value/ownCopy.ts"
import { plainJson } from "../value/plainJson.ts"
import { attempt, silence } from "../value/untrusted.ts"
import { note } from "./note.ts"
import { isAfterCall, type Scope } from "./scope.ts"

/** Attaches a file to the answer. Throws a `TypeError` for anything else. */
export const attachTo = (call: Scope, file: File): void => {
  if (attempt(() => isFile(file)) !== true) {
    silence(file)
    throw new TypeError(
      "ToolCall.attach needs a file: { mediaType, base64 } or { url }. Use Transcript.file(bytes, mediaType)."
    )
  }
  note(call, { _tag: "FileAttached", file })
}

const isFile = Schema.is(File)

export const tellIn = (call: Scope, value: unknown): void => note(call, { _tag: "ResultTold", value: jsonOf(value) })

// A page would show it in place of the result. What a handler does after its call has ended is not awaited.
export const progressIn = (call: Scope, value: unknown): void => {
  if (!isAfterCall(call)) note(call, { _tag: "ProgressMade", value: jsonOf(value) })
}

// The handler goes on, and may change what it has reported.
const jsonOf = (value: unknown): Schema.Json => asJson(ownCopy(plainJson(value).json))

// A copy of JSON is JSON.
const asJson = (value: unknown) => value as Schema.Json
