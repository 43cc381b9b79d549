/**
 * Tools as users write them: async functions that throw ordinary errors, a service that misbehaves, and models that
 * read a tool's result as a weak model does. None of them knows this library.
 */
import { Tool, type ToolFailure } from "@fallible/core"
import { ScriptedModel } from "@fallible/testing"
import type * as FakeModelServer from "@fallible/testing/FakeModelServer"
import { Schema } from "effect"
import type * as Http from "node:http"

// -----------------------------------------------------------------------------
// A service that misbehaves
// -----------------------------------------------------------------------------

/** The service's response to one request. */
export type Behaviour = (response: Http.ServerResponse) => void

export const answer = (body: unknown): Behaviour => (response) => void response.end(JSON.stringify(body))
export const raw = (body: string, type = "application/json"): Behaviour => (response) =>
  void response.writeHead(200, { "content-type": type }).end(body)
export const status = (code: number, headers: Http.OutgoingHttpHeaders = {}): Behaviour => (response) =>
  void response.writeHead(code, headers).end("{}")
export const reset: Behaviour = (response) => void response.socket?.resetAndDestroy()
export const cut: Behaviour = (response) => {
  response.writeHead(200, { "content-length": 1000 }).write("{\"price\":")
  setImmediate(() => response.destroy())
}

/** The world of one scenario: a service, and a record of what its tools did. */
export class World {
  readonly url: string
  /** The names of the tools that ran, in order: one entry per execution. */
  readonly ran: Array<string> = []
  /** The side effects that really happened. */
  readonly done: Array<string> = []
  /** Called when a tool hangs, because only time can end it. */
  readonly hang: () => void

  constructor(url: string, hang: () => void) {
    this.url = url
    this.hang = hang
  }

  /** Records an execution, and returns how often the tool has run, including this time. */
  begin(tool: string): number {
    this.ran.push(tool)
    return this.ran.filter((name) => name === tool).length
  }
}

/** Queries the service, in the usual style of users. */
export const ask = async (world: World, path = "/", signal?: AbortSignal): Promise<unknown> => {
  const response = await fetch(`${world.url}${path}`, signal === undefined ? {} : { signal })
  if (!response.ok) throw response
  return response.json()
}

export const city = Schema.Struct({ city: Schema.String })
export const order = Schema.Struct({ order: Schema.String })
export const room = Schema.Struct({ room: Schema.String })

/** Reads a price from the service. */
export const price = (world: World) =>
  Tool.promise("get_price", {
    description: "The price of a share",
    parameters: Schema.Struct({}),
    success: Schema.Struct({ price: Schema.Finite }),
    sideEffect: "none"
  }, async (_, { signal }) => {
    world.begin("get_price")
    return await ask(world, "/price", signal) as { price: number }
  })

/** Reads a price from a mirror. */
export const mirror = (world: World) =>
  Tool.promise("get_price_mirror", {
    description: "The price of a share, from a mirror",
    parameters: Schema.Struct({}),
    success: Schema.Struct({ price: Schema.Finite }),
    sideEffect: "none"
  }, async () => {
    world.begin("get_price_mirror")
    return { price: 42 }
  })

/** Makes a tool that throws the error that `fail` returns, or succeeds if it returns none. */
export const lookup = (
  fail: (attempt: number, world: World) => unknown,
  definition: { readonly tell?: ToolFailure.FromOptions["tell"] & {} } = {}
) =>
(world: World) =>
  Tool.promise("look_up", {
    description: "Looks something up",
    parameters: Schema.Struct({}),
    success: Schema.String,
    sideEffect: "none",
    ...definition
  }, async () => {
    const error = fail(world.begin("look_up"), world)
    if (error !== undefined) throw error
    return "found"
  })

export const backup = (world: World) =>
  Tool.promise("look_up_elsewhere", {
    description: "Looks it up elsewhere",
    parameters: Schema.Struct({}),
    success: Schema.String,
    sideEffect: "none"
  }, async () => {
    world.begin("look_up_elsewhere")
    return "found elsewhere"
  })

/** Makes a tool that pays with `pay`, and one that checks the payment. */
export const paying = (
  pay: (world: World, attempt: number) => Promise<string>,
  definition: { readonly refusesFirst?: boolean } = {}
) =>
(world: World) => [
  Tool.promise("pay", {
    description: "Pays an order",
    parameters: order,
    success: Schema.String,
    check: "payment_status",
    ...definition
  }, () => pay(world, world.begin("pay"))),
  Tool.promise("payment_status", {
    description: "Is an order paid?",
    parameters: order,
    success: Schema.String,
    sideEffect: "none"
  }, async ({ order }) => {
    world.begin("payment_status")
    return world.done.includes(`paid ${order}`) ? "paid" : "not paid"
  })
]

export const paid = (world: World) => void world.done.push("paid o-7")

// -----------------------------------------------------------------------------
// Models
// -----------------------------------------------------------------------------

/** Returns the text of the last message if it is a tool message, or else "". */
export const heard = (request: ScriptedModel.Recorded | undefined): string => {
  const message = request?.messages.at(-1)
  return message?.role === "tool" ? message.text : ""
}

export const failed = (text: string): boolean => text.includes("\"ok\":false")

export const isForbidden = (text: string): boolean => /do not (repeat|call)/i.test(text)

/** Calls a tool, and answers with the result. It repeats a failed call unless the failure forbids it. */
export const weak = (name: string, args: object = {}) => (request: ScriptedModel.Recorded, index: number) => {
  const text = heard(request)
  return index === 0 || failed(text) && !isForbidden(text) ? ScriptedModel.call(name, args) : ScriptedModel.text(text)
}

/** Like {@link weak}, but calls another tool if the failure suggests one. */
export const adaptable = (name: string, other: string) => (request: ScriptedModel.Recorded, index: number) => {
  const text = heard(request)
  return failed(text) && /another (tool|one)/i.test(text) ? ScriptedModel.call(other) : weak(name)(request, index)
}

/** Pays, and calls the check that a failure names. It repeats a failed call unless the failure forbids it. */
export const careful: FakeModelServer.Script = (request, index) => {
  const text = heard(request)
  const check = /Call (\w+) to find out/.exec(text)?.[1]
  if (index === 0) return ScriptedModel.call("pay", { order: "o-7" })
  if (check !== undefined && failed(text)) return ScriptedModel.call(check, { order: "o-7" })
  return failed(text) && !isForbidden(text) ? ScriptedModel.call("pay", { order: "o-7" }) : ScriptedModel.text(text)
}

export class BookingError extends Error {}

interface Booking {
  readonly tell?: ToolFailure.FromOptions["tell"] & {}
  readonly refusesFirst?: boolean
}

const bookingBy = (ask: (room: string, world: World) => Promise<void>, definition: Booking) => (world: World) => [
  Tool.promise("book_room", {
    description: "Books a room",
    parameters: room,
    success: Schema.String,
    ...definition
  }, async ({ room }) => {
    world.begin("book_room")
    await ask(room, world)
    world.done.push(`booked ${room}`)
    return `${room} is booked.`
  })
]

/** Makes a tool that books a room. Room A1 is taken. */
export const booking = (taken: () => unknown, definition: Booking = {}) =>
  bookingBy(async (room) => {
    if (room === "A1") throw taken()
  }, definition)

/** Like {@link booking}, but a service says over HTTP that A1 is taken. `error` makes the error of its answer. */
export const bookingByHttp = (error: (sentence: string) => unknown, definition: Booking = {}) =>
  bookingBy(async (room, world) => {
    const response = await fetch(`${world.url}/rooms/${room}`, { method: "POST" })
    if (!response.ok) throw error(await response.text())
  }, definition)

/** A1 is taken: the first request is refused, and says so. */
export const takenAtFirst = (request: number): Behaviour => (response) =>
  void response.writeHead(request === 1 ? 409 : 200).end(request === 1 ? taken : "{}")

/** Books A1. If that fails, books a free room that the failure lists, or B2 if the failure allows other arguments. */
export const bookA1 = (request: ScriptedModel.Recorded, index: number) => {
  const text = heard(request)
  if (index === 0) return ScriptedModel.call("book_room", { room: "A1" })
  const free = /Free rooms: (\w+)/.exec(text)?.[1] ??
    (/other arguments|different|others may/i.test(text) ? "B2" : undefined)
  return failed(text) && free !== undefined
    ? ScriptedModel.call("book_room", { room: free })
    : ScriptedModel.text(text)
}

export const never = new Promise<never>(() => {})

export const aborted = (signal: AbortSignal) =>
  new Promise<never>((_, reject) => signal.addEventListener("abort", () => reject(signal.reason)))

export const taken = "Room A1 is already booked. Free rooms: B2, C3."

/** An address without a listener. */
export const dead = "http://127.0.0.1:2"

export const secret = "sk-live-SECRET123456"
