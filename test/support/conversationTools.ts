/** The tools of the conversations, in all the ways in which an author may declare what identifies and settles their calls. */
import { Guard, Tool, ToolCall, Toolkit } from "@fallible/core"
import * as HttpFailure from "@fallible/core/HttpFailure"
import { Effect, Option, Schema } from "effect"
import { FetchHttpClient, HttpClient, HttpClientRequest, HttpClientResponse } from "effect/http"
import { settle } from "./conversationService.ts"

export interface Kind {
  readonly sideEffect: "non_idempotent" | "idempotent_by_key"
  /** Whether the arguments hold a note, the order itself is free text, or none is free text. */
  readonly words: "a note" | "free" | "none"
  readonly identity?: "order" | "all"
  readonly joins?: false
  readonly repeats?: false
  /** What settles a doubt about a call, beside a person and a program. */
  readonly settledBy?: "a final check" | "a check in time" | "a final reconcile" | "a reconcile in time"
  /** Whether there is a second tool for the same purpose. */
  readonly isDouble?: true
  /** Whether two effects may be meant: in two turns, or in one if equal calls are not joined. */
  readonly mayMeanTwo?: true
}

const plain = { sideEffect: "non_idempotent", words: "a note" } as const
const byOrder = { ...plain, identity: "order" } as const

export const kinds = {
  "bare": { ...plain, mayMeanTwo: true },
  "all words": { ...plain, words: "free" },
  "identity": { ...byOrder, mayMeanTwo: true },
  "identity, once": { ...byOrder, repeats: false },
  "key and identity": { ...byOrder, sideEffect: "idempotent_by_key", mayMeanTwo: true },
  "key and all": { sideEffect: "idempotent_by_key", words: "none", identity: "all", mayMeanTwo: true },
  "final check": { ...byOrder, settledBy: "a final check" },
  "check in time": { ...byOrder, settledBy: "a check in time" },
  "final reconcile": { ...byOrder, settledBy: "a final reconcile" },
  "reconcile in time": { ...byOrder, settledBy: "a reconcile in time" },
  "two tools": { ...plain, isDouble: true },
  "two at once": { ...plain, joins: false, mayMeanTwo: true },
  "two at once, key": { ...byOrder, sideEffect: "idempotent_by_key", joins: false, mayMeanTwo: true }
} satisfies Readonly<Record<string, Kind>>

export type KindName = keyof typeof kinds

export const kindOf = (name: KindName): Kind => kinds[name]

/** Handlers: with Effect, with async functions, and with async functions that ignore their signal. */
export const styles = ["effect", "async", "deaf"] as const

export interface Toolset {
  readonly kind: KindName
  readonly style: typeof styles[number]
  /** Whether the tool asks its user before it acts. */
  readonly asks: boolean
  /** Whether a fixer corrects arguments that cannot be decoded. */
  readonly isFixed: boolean
}

interface Payment {
  readonly order: string
  readonly amount: number
  readonly note?: string
}

const amount = Schema.Finite.pipe(Schema.withDecodingDefaultKey(Effect.succeed(5)))

const Free = Schema.Struct({ order: Schema.Trim, amount, note: Schema.optionalKey(Schema.String) })

const Exact: Schema.ConstraintDecoder<Payment> = Schema.Struct({
  order: Schema.String.check(Schema.isPattern(/^o-\d$/u)),
  amount
})

const Receipt = Schema.Struct({ receipt: Schema.String })
const State = Schema.Struct({ state: Schema.Literals(["paid", "open"]) })

export const question = (order: string) => `Shall ${order} be paid?`

type Definition = Tool.Definition<string, Payment>

/** Makes the toolkit of a conversation. */
export const toolkitOf = (toolset: Toolset, url: string, fetch: typeof globalThis.fetch) => {
  const kind = kindOf(toolset.kind)
  const names = kind.isDouble === true ? ["pay", "transfer"] : ["pay"]
  const check = kind.settledBy === "a final check" || kind.settledBy === "a check in time"
    ? [statusTool(kind, url)]
    : []
  return Toolkit.make(...names.map((name) => actingTool(name, kind, toolset, url, fetch)), ...check)
}

const actingTool = (name: string, kind: Kind, toolset: Toolset, url: string, fetch: typeof globalThis.fetch) => {
  const { identity, joins, repeats, settledBy, sideEffect, words } = kind
  const definition: Definition = {
    description: `Does what ${name} says`,
    parameters: words === "none" ? Exact : Free,
    success: Schema.String,
    sideEffect,
    ...(identity === undefined ? {} : { identity: identity === "all" ? identity : orderOf }),
    ...(joins === undefined ? {} : { joins }),
    ...(repeats === undefined ? {} : { repeats }),
    ...(settledBy === "a final check" || settledBy === "a check in time" ? { check: "payment_status" } : {})
  }
  const at = `${url}/${name}`
  const made = toolset.style === "effect"
    ? effectTool(name, definition, toolset, at)
    : asyncTool(name, definition, toolset, at, fetch)
  const isFinal = settledBy === "a final reconcile"
  const checked = isFinal || settledBy === "a reconcile in time"
    ? Tool.reconcile(made, ({ order }) => found(at, order, isFinal), isFinal ? { final: true } : { settle })
    : made
  // The order is the identity. Where the note counts, too, a correction has none.
  return toolset.isFixed
    ? Tool.fix(checked, ({ text, tries }) => {
      const order = /o-\d/.exec(text)?.[0]
      if (order === undefined) return undefined
      return identity === "order" ? { order, amount: 5, note: `fixed ${tries}` } : { order, amount: 5 }
    }, { tries: 2 })
    : checked
}

const orderOf = ({ order }: { readonly order: string }) => order

const effectTool = (name: string, definition: Definition, { asks }: Toolset, url: string) =>
  Tool.make(name, definition, (payment) =>
    Effect.gen(function*() {
      if (asks) yield* ToolCall.ask(question(payment.order))
      const { idempotencyKey } = yield* ToolCall.current
      const request = HttpClientRequest.post(url, { headers: { "idempotency-key": idempotencyKey } }).pipe(
        HttpClientRequest.bodyJsonUnsafe(payment)
      )
      const { receipt } = yield* sent(request, Receipt)
      return receipt
    }))

const sent = <A>(request: HttpClientRequest.HttpClientRequest, schema: Schema.ConstraintCodec<A, unknown>) =>
  HttpClient.execute(request).pipe(
    Effect.flatMap(HttpClientResponse.filterStatusOk),
    Effect.flatMap(({ text }) => text),
    HttpFailure.classify,
    Guard.json(schema),
    Effect.provide(FetchHttpClient.layer)
  )

// As many write it: the error is the sentence that the service has sent, and nothing else.
const asyncTool = (
  name: string,
  definition: Definition,
  { asks, style }: Toolset,
  url: string,
  fetch: typeof globalThis.fetch
) =>
  Tool.promise(name, definition, async (payment, { ask, idempotencyKey, signal }) => {
    if (asks) await ask(question(payment.order))
    const response = await fetch(url, {
      method: "POST",
      headers: { "idempotency-key": idempotencyKey },
      body: JSON.stringify(payment),
      ...(style === "deaf" ? {} : { signal })
    })
    const body: unknown = await response.json()
    if (!response.ok) throw new Error(Schema.decodeUnknownSync(Schema.Struct({ message: Schema.String }))(body).message)
    return Schema.decodeUnknownSync(Receipt)(body).receipt
  })

const stateOf = (url: string, order: string, isFinal: boolean) =>
  sent(HttpClientRequest.get(`${url}/${isFinal ? "final" : "look"}/${/o-\d/.exec(order)?.[0]}`), State)

const found = (url: string, order: string, isFinal: boolean) =>
  Effect.map(
    stateOf(url, order, isFinal),
    ({ state }) => state === "paid" ? Option.some("found") : Option.none<string>()
  )

const statusTool = ({ settledBy }: Kind, url: string) => {
  const isFinal = settledBy === "a final check"
  return Tool.make("payment_status", {
    description: "Whether an order is paid",
    parameters: Schema.Struct({ order: Schema.Trim }),
    success: State,
    sideEffect: "none",
    identity: orderOf,
    settles: {
      outcome: ({ state }) => state === "paid" ? "executed" : "not_executed",
      ...(isFinal ? { final: true } : { settle })
    }
  }, ({ order }) => stateOf(`${url}/pay`, order, isFinal))
}
