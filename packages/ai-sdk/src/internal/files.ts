/*
 * Files in the forms of the two versions, and which of them a model can be sent.
 */
import type { Transcript } from "@fallible/core"
import * as Predicate from "effect/Predicate"
import type { Fields } from "./untyped.ts"

/** What a prompt depends on, beside its transcript. */
export interface Target {
  /** Whether files have the form of version 4. */
  readonly isV4: boolean
  /** The key under which the provider's own form of a message is kept. */
  readonly key: string
  /** Whether the model can be sent a file. Otherwise, it reads a note. */
  readonly reads: (file: Transcript.File) => boolean
}

/** True if a provider fetches the address of a file itself. A file without an address is sent as it is. */
export const isSupported = (file: Transcript.File, urls: Fields): boolean => {
  if (!("url" in file)) return true
  const { mediaType = "image/*", url } = file
  return URL.canParse(url) &&
    Object.entries(urls).some(([type, patterns]) =>
      (type === "*" || type === "*/*" || type === mediaType ||
        type.endsWith("/*") && mediaType.startsWith(type.slice(0, -1))) &&
      // Unlike `test`, `search` does not begin where it last ended.
      Array.isArray(patterns) && patterns.some((pattern) => pattern instanceof RegExp && url.search(pattern) >= 0)
    )
}

/** True if a prompt has files. */
export const hasFiles = (prompt: ReadonlyArray<{ readonly content: unknown }>): boolean =>
  prompt.some(({ content }) => Array.isArray(content) && content.some(isOfFiles))

const isOfFiles = ({ output, type }: Fields): boolean =>
  type === "file" || type === "reasoning-file" ||
  type === "tool-result" && Predicate.isObject(output) && output["type"] === "content"

/** A file whose address has its bytes in it, as a file of these bytes. */
export const withoutDataUrl = (file: Transcript.File): Transcript.File => {
  const { mediaType = "", base64 } = "url" in file ? dataIn(file.url) : {}
  return mediaType === "" || base64 === undefined
    ? file
    : { mediaType, base64, ...(file.name === undefined ? {} : { name: file.name }) }
}

// A page may send any text, and a regular expression would take the square of its length.
const dataIn = (url: string): { readonly mediaType?: string | undefined; readonly base64?: string } => {
  const comma = url.indexOf(",")
  const head = url.slice(0, Math.max(0, comma))
  return head.startsWith("data:") && head.endsWith(";base64")
    ? { mediaType: head.slice("data:".length).split(";", 1)[0], base64: url.slice(comma + 1) }
    : {}
}

export const textPart = (text: string) => ({ type: "text", text })

/** A file of a user, or of a tool in version 4. */
export const filePart = (file: Transcript.File, target: Target): object => ({
  type: "file",
  mediaType: file.mediaType ?? "image/*",
  ...(file.name === undefined ? {} : { filename: file.name }),
  data: bytesOf(file, target)
})

export const bytesOf = (file: Transcript.File, { isV4 }: Target): object | string =>
  "url" in file
    ? isV4 ? { type: "url", url: new URL(file.url) } : new URL(file.url)
    : isV4
    ? { type: "data", data: file.base64 }
    : file.base64

/** A file of a tool. */
export const attachedPart = (file: Transcript.File, target: Target): object => {
  if (target.isV4) return filePart(file, target)
  const { mediaType = "image/*" } = file
  const kind = mediaType.startsWith("image/") ? "image" : "file"
  return "url" in file
    ? { type: `${kind}-url`, url: file.url }
    : { type: `${kind}-data`, data: file.base64, mediaType }
}

/** True if a value that was kept as JSON is a file. */
export const isFile = (value: unknown): value is Transcript.File =>
  Predicate.isObject(value) &&
  (typeof value["base64"] === "string" || typeof value["url"] === "string" && URL.canParse(value["url"]))
