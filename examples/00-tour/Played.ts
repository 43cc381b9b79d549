/**
 * Plays a fault through a loop, and says what happened: every fact comes from the messages that the model got, the
 * events of the run, and the record of the service.
 */
import { Model, Observer, type Transcript } from "@fallible/core"
import type * as AgentEvent from "@fallible/core/AgentEvent"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Stream from "effect/Stream"
import { below } from "./below.ts"
import { type Fault, turns } from "./Fault.ts"
import * as PlainLoop from "./PlainLoop.ts"
import * as Service from "./Service.ts"
import type * as WeakModel from "./WeakModel.ts"

export interface Played {
  /** The calls of the model, in order. */
  readonly steps: ReadonlyArray<Step>
  readonly answer: string | undefined
  /** Why there is no answer. Absent if there is one. */
  readonly why?: string
  /** True if the answer is right, and what is due was paid. */
  readonly endedWell: boolean
  /** How often the model replied. */
  readonly replies: number
  /** How many requests the service got. */
  readonly requests: number
  /** The amounts that the service booked. */
  readonly payments: ReadonlyArray<number>
}

export interface Step {
  readonly call: string
  /** What the library did about the call, in sentences. A plain loop does nothing. */
  readonly below: ReadonlyArray<string>
  /** What the model read. Absent if it was not asked again. */
  readonly read?: string
}

/** Plays a fault through an agent. */
export const fallible = (fault: Fault): Effect.Effect<Played> =>
  play(fault, (url, model) =>
    Effect.gen(function*() {
      const events: Array<AgentEvent.AgentEvent> = []
      const run = Stream.runForEach(
        fault.run(url, fault.question),
        (event) => Effect.sync(() => void events.push(event))
      )
      const why = yield* Effect.match(Effect.provide(run, Layer.merge(modelLayer(model), withoutLog)), {
        onSuccess: () => undefined,
        onFailure: ({ detail }) => detail
      })
      const answer = events.flatMap((event) => event._tag === "RunEnded" ? [event.answer.text] : [])[0]
      return { answer, why, events }
    }))

// The page shows each failure itself.
const withoutLog = Observer.layer({ failureLevel: "None" })

const modelLayer = (model: WeakModel.Play) =>
  Model.layer({ respond: ({ transcript }) => Effect.sync(() => model(Array.from(transcript))) })

/** Plays a fault through a plain loop. */
export const plain = (fault: Fault, parse: (text: string) => unknown = JSON.parse): Effect.Effect<Played> =>
  play(fault, (url, model) => {
    const { functions, patience = Duration.infinity, question } = fault
    const run = Effect.promise((signal) =>
      PlainLoop.run({ model, question, turns, parse, signal, tools: functions(url) })
    )
    return Effect.map(Effect.timeoutOption(run, patience), (ended) => {
      const answer = Option.getOrUndefined(ended)
      const why = Option.isNone(ended)
        ? `The loop hung. The tour stopped it after ${Duration.format(patience)}.`
        : `No answer after ${turns} replies.`
      return { answer, why: answer === undefined ? why : undefined, events: [] }
    })
  })

/** A question to the model, and its reply. */
interface Seen {
  readonly messages: ReadonlyArray<Transcript.Message>
  readonly reply: Model.Reply
}

interface Ended {
  readonly answer: string | undefined
  readonly why: string | undefined
  readonly events: ReadonlyArray<AgentEvent.AgentEvent>
}

const play = (
  fault: Fault,
  loop: (url: string, model: WeakModel.Play) => Effect.Effect<Ended>
): Effect.Effect<Played> =>
  Effect.scoped(Effect.gen(function*() {
    const { payments, requests, url } = yield* Service.start(fault.service)
    const seen: Array<Seen> = []
    const { answer, events, why } = yield* loop(url, (messages) => {
      const reply = fault.model(messages)
      seen.push({ messages: messages.slice(), reply })
      return reply
    })
    return {
      steps: stepsOf(seen.at(-1), events),
      answer,
      ...(why === undefined ? {} : { why }),
      endedWell: fault.isRight(answer) && payments.join() === (fault.due ?? []).join(),
      replies: seen.length,
      requests: requests.length,
      payments: payments.slice()
    }
  }))

/** The calls of a run, each with what the model read of it, from the last messages that the model got. */
const stepsOf = (
  last: Seen | undefined,
  events: ReadonlyArray<AgentEvent.AgentEvent>
): ReadonlyArray<Step> => {
  if (last === undefined) return []
  const texts = new Map(
    last.messages.flatMap((message) => message.role === "tool" ? [[message.callId, message.text]] : [])
  )
  const calls = last.messages.flatMap((message) => message.role === "assistant" ? message.calls : [])
  return [...calls, ...last.reply.calls].map(({ arguments: args = "", id, name }) => {
    const read = texts.get(id)
    return { call: `${name} ${args}`, below: below(events, id), ...(read === undefined ? {} : { read }) }
  })
}
