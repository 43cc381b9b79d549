/*
 * What the model cites and draws, and what tools attach, as parts of a message.
 */
import type { Model, Transcript } from "@fallible/core"
import type { UiChunk } from "./types.ts"

/** @param sourceId names the source in its message */
export const sourceChunk = ({ mediaType, title, url }: Model.Source, sourceId: string): UiChunk =>
  url === undefined
    ? {
      type: "source-document",
      sourceId,
      mediaType: mediaType ?? "application/octet-stream",
      title: title ?? "A document"
    }
    : { type: "source-url", sourceId, url, ...(title === undefined ? {} : { title }) }

/** Returns a file as a part; none if its address is not one, because the AI SDK reads no message that has such a part. */
export const fileChunks = (file: Transcript.File): ReadonlyArray<UiChunk> => {
  const { mediaType = "image/*" } = file
  const url = "url" in file ? file.url : `data:${mediaType};base64,${file.base64}`
  return URL.canParse(url) ? [{ type: "file", mediaType, url }] : []
}
