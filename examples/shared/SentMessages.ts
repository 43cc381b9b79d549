/**
 * Remembers the tool messages that are sent to a model, as the model reads them.
 */
import { Model } from "@fallible/core"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"

export interface SentMessages {
  /** Returns the text of the message that answers a call; `undefined` before it is sent. */
  readonly textFor: (call: { readonly id: string; readonly name: string }) => string | undefined
  /** Wraps a model, so that the messages of each request to it are remembered. */
  readonly recorded: <E, R>(model: Layer.Layer<Model.Model, E, R>) => Layer.Layer<Model.Model, E, R>
}

export const make = (): SentMessages => {
  const texts = new Map<string, string>()
  const record = (request: Model.Request): Model.Request => {
    for (const message of request.transcript) {
      if (message.role === "tool") texts.set(keyOf({ id: message.callId, name: message.name }), message.text)
    }
    return request
  }
  return {
    textFor: (call) => texts.get(keyOf(call)),
    recorded: (model) =>
      Layer.effect(
        Model.Model,
        Effect.map(Model.Model, ({ respond, stream }) =>
          Model.Model.of({
            respond: (request) => respond(record(request)),
            stream: (request) => stream(record(request))
          }))
      ).pipe(Layer.provide(model))
  }
}

const keyOf = ({ id, name }: { readonly id: string; readonly name: string }): string => `${name}/${id}`
