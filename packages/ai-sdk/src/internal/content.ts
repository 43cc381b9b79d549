/*
 * What a provider's reply consists of, element by element: what goes back to the provider on later turns, and what a run sees.
 */
import type { Model, ToolCall, Transcript } from "@fallible/core"
import * as Base64 from "effect/encoding/Base64"
import type * as Schema from "effect/Schema"
import { type Fields, fieldsOf, jsonOf, objectAt, present, textAt } from "./untyped.ts"

/** What is seen of a reply. It grows in place, element by element. */
export interface Seen {
  text: string
  reasoning: string
  readonly calls: Array<ToolCall.ToolCall>
  readonly providerCalls: Array<Model.ProviderCall>
  readonly sources: Array<Model.Source>
  readonly files: Array<Transcript.File>
  /** The message as it goes back to its provider. */
  readonly native: Array<Schema.JsonObject>
}

export const nothingSeen = (): Seen => ({
  text: "",
  reasoning: "",
  calls: [],
  providerCalls: [],
  sources: [],
  files: [],
  native: []
})

/** Adds an element of a reply. Elements of unknown types are passed over. */
export const see = (seen: Seen, element: unknown): void => {
  const part = fieldsOf(element)
  const metadata = objectAt(part, "providerMetadata")
  const providerOptions = metadata === undefined ? undefined : jsonOf(metadata)
  const add: Add = (fields) => seen.native.push(providerOptions === undefined ? fields : { ...fields, providerOptions })
  switch (part["type"]) {
    case "text": {
      const text = textAt(part, "text") ?? ""
      seen.text += text
      // Some providers refuse an empty text, and others sign one.
      if (text !== "" || metadata !== undefined) add({ type: "text", text })
      break
    }
    case "reasoning": {
      const text = textAt(part, "text") ?? ""
      seen.reasoning += text
      add({ type: "reasoning", text })
      break
    }
    case "custom":
      add({ type: "custom", kind: textAt(part, "kind") ?? "" })
      break
    case "file":
    case "reasoning-file": {
      const file = fileOf(part)
      if (file === undefined) break
      if (part["type"] === "file") seen.files.push(file)
      add({ type: part["type"], mediaType: file.mediaType ?? "", file: { ...file } })
      break
    }
    case "source":
      seen.sources.push(sourceOf(part))
      break
    case "tool-call":
      seeCall(seen, part, add)
      break
    case "tool-result":
      seeResult(seen, part, add)
      break
    case "tool-approval-request":
      seeRequest(seen, part)
      break
  }
}

type Add = (fields: Schema.JsonObject) => void

const seeCall = (seen: Seen, part: Fields, add: Add): void => {
  const [id, name] = [textAt(part, "toolCallId") ?? "", textAt(part, "toolName") ?? ""]
  const input = part["input"]
  const text = typeof input === "string" ? input : input === undefined ? undefined : JSON.stringify(jsonOf(input))
  const call = { id, name, ...(text === undefined ? {} : { arguments: text }) }
  if (part["providerExecuted"] === true) {
    seen.providerCalls.push(call)
    add({ type: "tool-call", toolCallId: id, toolName: name, input: text ?? "", providerExecuted: true })
    return
  }
  seen.calls.push(call)
  // The arguments stand in the call, which may have another id by then.
  add({ type: "tool-call", toolCallId: id, toolName: name })
}

// The result of a tool that the provider ran. It may come several times. The last one counts.
const seeResult = (seen: Seen, part: Fields, add: Add): void => {
  if (part["preliminary"] === true) return
  const [id, name] = [textAt(part, "toolCallId") ?? "", textAt(part, "toolName") ?? ""]
  const result = jsonOf(part["result"]) ?? null
  const failed = part["isError"] === true
  complete(seen, { id, name }, { result, ...(failed ? { failed } : {}) })
  add({
    type: "tool-result",
    toolCallId: id,
    toolName: name,
    output: { type: failed ? "error-json" : "json", value: result }
  })
}

// The provider asks before it runs a call. Its answer goes back as a message of its own.
const seeRequest = (seen: Seen, part: Fields): void => {
  const [approval, id] = [textAt(part, "approvalId"), textAt(part, "toolCallId") ?? ""]
  if (approval !== undefined) complete(seen, { id, name: "" }, { approval })
}

// The call itself may stand in an earlier reply.
const complete = (seen: Seen, call: Model.ProviderCall, fields: Partial<Model.ProviderCall>): void => {
  const at = seen.providerCalls.findIndex(({ id }) => id === call.id)
  const completed = { ...(seen.providerCalls[at] ?? call), ...fields }
  if (at < 0) seen.providerCalls.push(completed)
  else seen.providerCalls[at] = completed
}

const sourceOf = (part: Fields): Model.Source => {
  const source = { url: textAt(part, "url"), title: textAt(part, "title"), mediaType: textAt(part, "mediaType") }
  return present(source)
}

// Version 3 has the bytes, or their base64, where version 4 has an object with a type.
const fileOf = (part: Fields): Transcript.File | undefined => {
  const mediaType = textAt(part, "mediaType") ?? "application/octet-stream"
  const inner = objectAt(part, "data")
  const data = inner !== undefined && "type" in inner ? inner["data"] ?? inner["url"] : part["data"]
  if (data instanceof Uint8Array) return { mediaType, base64: Base64.encode(data) }
  if (data instanceof URL) return { mediaType, url: data.href }
  if (typeof data !== "string") return undefined
  return inner?.["type"] === "url" ? { mediaType, url: data } : { mediaType, base64: data }
}
