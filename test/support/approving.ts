/** Runs that wait for approvals, in tests. */
import { Agent, AgentFailure, Tool, Toolkit, Transcript } from "@fallible/core"
import type * as Answer from "@fallible/core/Answer"
import { ScriptedModel } from "@fallible/testing"
import { Effect, Schema } from "effect"

export const Payment = Schema.Struct({ to: Schema.String, amount: Schema.Finite })

export type Payment = typeof Payment.Type

export const ada: Payment = { to: "Ada", amount: 5 }

export const ben: Payment = { to: "Ben", amount: 6 }

/** A tool that pays, and what it has paid. */
export const payments = (sideEffect: "non_idempotent" | "idempotent_by_key" = "non_idempotent") => {
  const paid: Array<Payment> = []
  const pay = Tool.make(
    "pay",
    {
      description: "Pays",
      parameters: Payment,
      success: Schema.String,
      sideEffect,
      identity: ({ amount, to }) => [to, amount]
    },
    (payment) => Effect.sync(() => `receipt ${paid.push(payment)}`)
  )
  return { paid, pay }
}

/** An agent whose payments need an approval, and what it has paid. */
export const payingAgent = () => {
  const { paid, pay } = payments()
  return { paid, agent: Agent.make({ toolkit: Toolkit.make(pay.pipe(Tool.approve())) }) }
}

/** The failure of a run that waits. */
export const suspended = <A, E, R>(run: Effect.Effect<A, E, R>): Effect.Effect<AgentFailure.RunSuspended, never, R> =>
  Effect.matchEffect(run, {
    onSuccess: (answer) => Effect.die(answer),
    onFailure: (failure) => failure instanceof AgentFailure.RunSuspended ? Effect.succeed(failure) : Effect.die(failure)
  })

/** The suspension of a run that waits, as another process reads it. */
export const waiting = <A, E, R>(run: Effect.Effect<A, E, R>): Effect.Effect<AgentFailure.Suspension, never, R> =>
  Effect.map(suspended(run), ({ suspension }) => stored(suspension))

export const refused = <A, E, R>(run: Effect.Effect<A, E, R>): Effect.Effect<AgentFailure.RunRefused, never, R> =>
  Effect.matchEffect(run, {
    onSuccess: (answer) => Effect.die(answer),
    onFailure: (failure) => failure instanceof AgentFailure.RunRefused ? Effect.succeed(failure) : Effect.die(failure)
  })

/** The paths of the fields that a refused run names. */
export const refusedAt = <A, E, R>(run: Effect.Effect<A, E, R>) =>
  Effect.map(refused(run), ({ issues }) => issues.map(({ path }) => path.join(".")))

const schema = AgentFailure.Suspension

export const asJson = (suspension: AgentFailure.Suspension): unknown =>
  JSON.parse(JSON.stringify(Schema.encodeSync(schema)(suspension)))

export const fromJson = (json: unknown): AgentFailure.Suspension => Schema.decodeUnknownSync(schema)(json)

/** A suspension that was stored as text. */
export const stored = (suspension: AgentFailure.Suspension): AgentFailure.Suspension => fromJson(asJson(suspension))

export const results = ({ transcript }: Pick<Answer.Answer, "transcript">): ReadonlyArray<string> =>
  Transcript.toArray(transcript).flatMap((message) => message.role === "tool" ? [message.text] : [])

const Code = Schema.Struct({ code: Schema.String })

/** The codes of the failures that the model was told. */
export const codes = (answer: Pick<Answer.Answer, "transcript">): ReadonlyArray<string> =>
  results(answer).flatMap((text) => {
    const read: unknown = JSON.parse(text)
    return Schema.is(Code)(read) ? [read.code] : []
  })

export const playing = (...script: ReadonlyArray<ScriptedModel.Move>) => Effect.provide(ScriptedModel.layer(script))

/** A model that makes the same calls whenever its user asks, and then ends. */
export const calling = (...calls: ReadonlyArray<ScriptedModel.Call>) =>
  Effect.provide(
    ScriptedModel.layer(({ messages }) =>
      messages.at(-1)?.role === "user"
        ? calls.length > 0 ? ScriptedModel.calls(...calls) : ScriptedModel.text("Done.")
        : ScriptedModel.text("Done.")
    )
  )
