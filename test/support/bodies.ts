/** Decodes a server's body with each provider, whole or streamed. */
import { assert } from "@effect/vitest"
import { Model, type ModelFailure } from "@fallible/core"
import * as FakeModelServer from "@fallible/testing/FakeModelServer"
import { Effect, Schedule, Stream } from "effect"
import { ollama, openAi, serving, withoutNative } from "./models.ts"
import { request } from "./question.ts"

const settings = { retry: Schedule.recurs(0) }

/** Returns a reply without its native form, and without the name of its model, which every reply has. */
export type Ask = (body: string) => Effect.Effect<Omit<Model.Reply, "native" | "model">, ModelFailure>

const ofServer = (reply: Model.Reply) => {
  const { model, ...rest } = withoutNative(reply)
  assert.strictEqual(model, "any")
  return rest
}

const asking = (provider: typeof openAi) => {
  const model = (body: string) => serving(provider)([FakeModelServer.raw(body)], { settings })
  const whole: Ask = (body) =>
    Effect.flatMap(Model.Model, ({ respond }) => respond(request)).pipe(
      Effect.map(ofServer),
      Effect.provide(model(body))
    )
  const streamed: Ask = (body) =>
    Effect.flatMap(Model.Model, ({ stream }) => Stream.runLast(stream(request))).pipe(
      Effect.map((last) =>
        last._tag === "Some" && last.value._tag === "Replied"
          ? ofServer(last.value.reply)
          : assert.fail("no reply")
      ),
      Effect.provide(model(body))
    )
  return { whole, streamed }
}

export const chat = asking(openAi)
export const own = asking(ollama)

export const line = (message: object, others: object = {}) => `${JSON.stringify({ message, done: true, ...others })}\n`
