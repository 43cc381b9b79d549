/* What a handler notes beside its result. An Effect and an async function note the same. */
import * as Schema from "effect/Schema"
import { File } from "../value/file.ts"
import { plainJson } from "../value/plainJson.ts"
import { attempt, silence } from "../value/untrusted.ts"
import { note } from "./note.ts"
import type { Scope } from "./scope.ts"

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

export const tellIn = (call: Scope, value: unknown): void =>
  note(call, { _tag: "ResultTold", value: plainJson(value).json })

export const progressIn = (call: Scope, value: unknown): void =>
  note(call, { _tag: "ProgressMade", value: plainJson(value).json })
