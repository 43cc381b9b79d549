/** How `useChat` reaches the server. */
import { DefaultChatTransport } from "ai"
import type { Message } from "./message.ts"
import * as server from "./server.ts"

/** Sends the last message alone: the server has the others. Tells if there is nothing to resume. */
export class Transport extends DefaultChatTransport<Message> {
  readonly #onNothing: () => void

  constructor(onNothing: () => void) {
    super({
      fetch: server.fetching,
      prepareSendMessagesRequest: ({ body, id, messages, trigger }) => ({
        body: { ...body, id, trigger, messages: messages.slice(-1) }
      })
    })
    this.#onNothing = onNothing
  }

  override async reconnectToStream(options: Parameters<DefaultChatTransport<Message>["reconnectToStream"]>[0]) {
    const stream = await super.reconnectToStream(options)
    if (stream === null) this.#onNothing()
    return stream
  }
}
