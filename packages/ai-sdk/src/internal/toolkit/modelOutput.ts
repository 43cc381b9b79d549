/*
 * What a tool of the AI SDK wants its model to read in place of its result (`toModelOutput`).
 */
import { type Tool, Transcript } from "@fallible/core"
import { type Fields, fieldsOf, textAt } from "../untyped.ts"

/** Tells the model of a call what the tool has made of its result. */
export const tellOutput = (call: Tool.PromiseCall, output: unknown): void => {
  const { type, value } = fieldsOf(output)
  if (type === "content" && Array.isArray(value)) return tellParts(call, value.map(fieldsOf))
  call.tell(type === "execution-denied" ? textAt(output, "reason") ?? "It was not executed." : value)
}

const tellParts = (call: Tool.PromiseCall, parts: ReadonlyArray<Fields>): void => {
  for (const part of parts) {
    const file = fileOf(part)
    if (file !== undefined) call.attach(file)
  }
  call.tell(parts.flatMap((part) => textAt(part, "text") ?? textAt(part["data"], "text") ?? []).join("\n"))
}

// The data of a file are tagged since version 7. Before, they were the bytes, and an address had its own field.
const fileOf = ({ data, filename, mediaType, type, url }: Fields): Transcript.File | undefined => {
  const name = typeof filename === "string" ? { name: filename } : {}
  const kind = typeof mediaType === "string" ? mediaType : type === "image-data" ? "image/png" : undefined
  const tagged = fieldsOf(data)
  const address = addressOf(url ?? tagged["url"])
  if (address !== undefined) return { url: address, ...(kind === undefined ? {} : { mediaType: kind }), ...name }
  const bytes = tagged["type"] === "data" ? tagged["data"] : data
  if (kind === undefined) return undefined
  if (bytes instanceof Uint8Array) return { ...Transcript.file(bytes, kind), ...name }
  return typeof bytes === "string" ? { mediaType: kind, base64: bytes, ...name } : undefined
}

const addressOf = (url: unknown): string | undefined =>
  url instanceof URL ? url.href : typeof url === "string" ? url : undefined
