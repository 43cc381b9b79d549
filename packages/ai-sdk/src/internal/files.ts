/** Which files can be sent. */
import type { Transcript } from "@fallible/core"
import type { Fields } from "./untyped.ts"

export const hasFiles = (transcript: Transcript.Transcript): boolean =>
  Array.from(transcript).some((message) => "files" in message && message.files !== undefined)

/** Returns whether a provider fetches a file itself, by the patterns of addresses that it says it does. */
export const isSupported = (
  { mediaType = "image/*", url }: Transcript.File & { readonly url: string },
  urls: Fields
): boolean =>
  URL.canParse(url) &&
  Object.entries(urls).some(([type, patterns]) =>
    (type === "*" || type === "*/*" || type === mediaType ||
      type.endsWith("/*") && mediaType.startsWith(type.slice(0, -1))) &&
    Array.isArray(patterns) && patterns.some((pattern) => pattern instanceof RegExp && pattern.test(url))
  )
