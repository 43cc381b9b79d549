/*
 * What a tool of the AI SDK wants its model to read in place of its result (`toModelOutput`).
 */
import { type Tool, Transcript } from "@fallible/core"
import { type Fields, fieldsOf, textAt } from "../untyped.ts"

/** Tells the model of a call what the tool has made of its result. */
export const tellOutput = (call: Tool.PromiseCall, output: unknown, result: unknown): void => {
  const { type, value } = fieldsOf(output)
  // Without a type, it says nothing, and the model reads the result.
  if (typeof type !== "string") return
  if (type === "content" && Array.isArray(value)) {
    const structure = value.length === 0 ? structureOf(result) : undefined
    return structure === undefined ? tellParts(call, value.map(fieldsOf)) : call.tell(structure)
  }
  call.tell(type === "execution-denied" ? textAt(output, "reason") ?? "It was not executed." : value)
}

// An MCP server need not repeat its structured result as a text.
const structureOf = (result: unknown): unknown => {
  const { content, structuredContent } = fieldsOf(result)
  return Array.isArray(content) && content.length === 0 ? structuredContent : undefined
}

const tellParts = (call: Tool.PromiseCall, parts: ReadonlyArray<Fields>): void => {
  const files = parts.flatMap((part) => fileOf(part) ?? [])
  for (const file of files) call.attach(file)
  const texts = parts.flatMap((part) => textAt(part, "text") ?? textAt(part["data"], "text") ?? [])
  // An empty text would look like an empty result.
  call.tell(texts.length === 0 && files.length > 0 ? "It is attached." : texts.join("\n"))
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
