/**
 * Chats in files, one for each, as in the AI SDK's guide to stored chats. Beside the messages, a file has what a program
 * wants to keep with them.
 */
import type { UIMessage } from "ai"
import { mkdirSync, readFileSync, renameSync, writeFileSync } from "node:fs"
import { join } from "node:path"

export interface StoredChat {
  readonly messages?: ReadonlyArray<UIMessage>
  /** What the calls of the chat have done, if the AI SDK's loop runs them. */
  readonly facts?: unknown
  /** What an agent has said and done, and what it waits with. */
  readonly chat?: unknown
}

export class ChatStore {
  readonly #folder: string

  constructor(folder: string) {
    mkdirSync(folder, { recursive: true })
    this.#folder = folder
  }

  load(id: string): StoredChat {
    try {
      return JSON.parse(readFileSync(this.#file(id), "utf8"))
    } catch (error) {
      if (error instanceof Error && "code" in error && error.code === "ENOENT") return {}
      throw error
    }
  }

  /** Replaces what is given, and keeps the rest. `undefined` removes a field. */
  update(id: string, changes: StoredChat): void {
    const file = this.#file(id)
    writeFileSync(`${file}.new`, JSON.stringify({ ...this.load(id), ...changes }, undefined, 2))
    renameSync(`${file}.new`, file)
  }

  // The id comes from a browser.
  #file(id: string): string {
    if (!/^[A-Za-z0-9_-]+$/.test(id)) throw new Error("Invalid chat ID")
    return join(this.#folder, `${id}.json`)
  }
}
