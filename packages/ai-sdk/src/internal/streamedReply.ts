/*
 * Puts a streamed reply together: blocks of text, reasoning and arguments that come in pieces, and whole elements.
 */
import type { Model } from "@fallible/core"
import { type Fields, fieldsOf, objectAt, textAt } from "./untyped.ts"

type Delta = Exclude<Model.Part, { readonly _tag: "Replied" }>

class Block {
  readonly type: "text" | "reasoning" | "tool-call"
  readonly id: string
  readonly name: string
  readonly isOfProvider: boolean
  /** Its position among the calls of the reply; -1 for other blocks. */
  readonly call: number
  text = ""
  metadata: Fields | undefined

  constructor({ call, id, isOfProvider, name, type }: Pick<Block, "call" | "id" | "isOfProvider" | "name" | "type">) {
    this.type = type
    this.id = id
    this.name = name
    this.isOfProvider = isOfProvider
    this.call = call
  }
}

/** A streamed reply so far. It grows in place, because a long reply has thousands of pieces. */
export class StreamedReply {
  /** Blocks, and elements that came whole, in the order in which they began. */
  readonly #content: Array<Block | Fields> = []
  /** By type and id, oldest first: a server may give several calls one id. */
  readonly #open = new Map<string, Array<Block>>()
  #calls = 0

  /** Adds a part of the stream. Returns what is new for display. Parts of unknown types are passed over. */
  add(part: Fields): ReadonlyArray<Delta> {
    const id = textAt(part, "id") ?? ""
    switch (part["type"]) {
      case "text-start":
      case "text-delta":
      case "text-end":
        return this.#grow("text", id, part)
      case "reasoning-start":
      case "reasoning-delta":
      case "reasoning-end":
        return this.#grow("reasoning", id, part)
      case "tool-input-start":
      case "tool-input-delta":
      case "tool-input-end":
        return this.#grow("tool-call", id, part)
      case "tool-call":
        this.#addCall(part)
        return []
      case "tool-result":
      case "tool-approval-request":
      case "file":
      case "reasoning-file":
      case "source":
      case "custom":
        this.#content.push(part)
        return []
      default:
        return []
    }
  }

  /** The elements of the whole reply. A call whose arguments were cut off is among them, as far as it was written. */
  get content(): ReadonlyArray<unknown> {
    return this.#content.map((element) => element instanceof Block ? elementOf(element) : element)
  }

  #grow(type: Block["type"], id: string, part: Fields): ReadonlyArray<Delta> {
    const key = `${type} ${id}`
    const open = this.#open.get(key)?.at(-1)
    const isNext = type === "tool-call" && part["type"] === "tool-input-start"
    const block = open === undefined || isNext ? this.#begin(type, id, key, part) : open
    block.metadata = objectAt(part, "providerMetadata") ?? block.metadata
    const text = textAt(part, "delta") ?? ""
    // A block may be followed by another one with its id. The arguments of a call end with its `tool-call`.
    if (String(part["type"]).endsWith("-end") && type !== "tool-call") this.#open.delete(key)
    if (text === "") return []
    block.text += text
    switch (type) {
      case "text":
        return [{ _tag: "TextDelta", text }]
      case "reasoning":
        return [{ _tag: "ReasoningDelta", text }]
      case "tool-call":
        return block.isOfProvider ? [] : [{ _tag: "ArgumentsDelta", call: block.call, tool: block.name, text }]
    }
  }

  #begin(type: Block["type"], id: string, key: string, part: Fields): Block {
    const isOfProvider = part["providerExecuted"] === true
    const call = type === "tool-call" && !isOfProvider ? this.#calls++ : -1
    const name = textAt(part, "toolName") ?? ""
    const block = new Block({ type, id, name, isOfProvider, call })
    this.#open.set(key, [...this.#open.get(key) ?? [], block])
    this.#content.push(block)
    return block
  }

  // The whole call takes the place of its pieces.
  #addCall(part: Fields): void {
    const key = `tool-call ${textAt(part, "toolCallId") ?? ""}`
    const block = this.#open.get(key)?.shift()
    const at = block === undefined ? -1 : this.#content.indexOf(block)
    if (at >= 0) this.#content[at] = part
    else {
      if (part["providerExecuted"] !== true) this.#calls++
      this.#content.push(part)
    }
  }
}

const elementOf = ({ id, isOfProvider, metadata, name, text, type }: Block): Fields => ({
  type,
  ...(type === "tool-call"
    ? { toolCallId: id, toolName: name, input: text, ...(isOfProvider ? { providerExecuted: true } : {}) }
    : { text }),
  ...(metadata === undefined ? {} : { providerMetadata: metadata })
})

/** Returns a part of a stream as fields; `undefined` if it is something else. */
export const partOf = (part: unknown): Fields | undefined => {
  const fields = fieldsOf(part)
  return typeof fields["type"] === "string" ? fields : undefined
}
