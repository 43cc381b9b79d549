/**
 * The tools of the scenarios, as plain async functions that throw ordinary errors. Each framework makes its own tools
 * of the same table.
 */
import { shapeOf } from "../../test/support/errorShapes.ts"
import { BookingError, paid, type World } from "../../test/support/plainTools.ts"

/** The arguments of a call. */
export type Arguments = Readonly<Record<string, unknown>>

/** The type of a parameter, or of a field of a result. A list has the values of an enum. */
export type Kind =
  | "string"
  | "string?"
  | "strings"
  | "number"
  | "number?"
  | "integer?"
  | "boolean"
  | ReadonlyArray<string>

export interface PlainTool {
  readonly name: string
  readonly description: string
  readonly parameters: Readonly<Record<string, Kind>>
  /** The fields of the result, or `"any"` if its author has declared nothing. Default: a text. */
  readonly result?: Readonly<Record<string, Kind>> | "any"
  /** Whether the tool changes something, so that nobody may run it twice. */
  readonly acts?: boolean
  /** What a careful user knows of the tool, and tells each library in its own way. */
  readonly declared?: {
    /** What the model reads of an error of the user's own, which means that nothing was done. */
    readonly refusal?: (error: unknown) => string | undefined
    /** The tool that finds out whether a call took effect. */
    readonly check?: string
    /** Whether a result reports that the service has failed. */
    readonly failed?: (result: unknown) => boolean
    /** How often one run may call the tool. Fallible gets no such limit. */
    readonly maxCalls?: number
    /** How long the tool may take, in milliseconds. */
    readonly millis?: number
  }
  /** Declarations that only Fallible has. */
  readonly fallible?: {
    readonly identity?: (args: Arguments) => unknown
    readonly joins?: boolean
    readonly poll?: { readonly every: "100 millis"; readonly atMost: "1 minute" }
    readonly refusesFirst?: boolean
    readonly repeats?: boolean
    /** What the result says about the call that the tool checks. */
    readonly settles?: (result: unknown) => "executed" | "not_executed"
  }
  readonly run: (args: Arguments, signal: AbortSignal | undefined) => Promise<unknown>
}

/** Queries the service, in the usual style of users. */
export const ask = async (world: World, path: string, signal?: AbortSignal): Promise<unknown> => {
  const response = await fetch(`${world.url}${path}`, signal === undefined ? {} : { signal })
  if (!response.ok) throw new Error(`The service answered ${response.status}.`, { cause: response })
  return response.json()
}

export const price = (world: World): PlainTool => ({
  name: "get_price",
  description: "The price of a share",
  parameters: {},
  result: { price: "number" },
  run: (_, signal) => {
    world.begin("get_price")
    return ask(world, "/price", signal)
  }
})

/** The price, from an address that nobody listens on. */
export const priceAt = (address: string) => (world: World): PlainTool => ({
  ...price(world),
  run: async () => {
    world.begin("get_price")
    return (await fetch(address)).json()
  }
})

export const mirror = (world: World): PlainTool => ({
  name: "get_price_mirror",
  description: "The price of a share, from a mirror",
  parameters: {},
  result: { price: "number" },
  run: async () => {
    world.begin("get_price_mirror")
    return { price: 42 }
  }
})

/** Throws the error that `fail` returns, or finds the answer if it returns none. */
export const lookup = (fail: (attempt: number) => unknown) => (world: World): PlainTool => ({
  name: "look_up",
  description: "Looks something up",
  parameters: {},
  run: async () => {
    const error = fail(world.begin("look_up"))
    if (error !== undefined) throw error
    return "found"
  }
})

export const backup = (world: World): PlainTool => ({
  name: "look_up_elsewhere",
  description: "Looks it up elsewhere",
  parameters: {},
  run: async () => {
    world.begin("look_up_elsewhere")
    return "found elsewhere"
  }
})

/** Hangs, and may listen to its signal. */
export const hanging = (hang: (signal: AbortSignal | undefined) => Promise<never>) => (world: World): PlainTool => ({
  name: "look_up",
  description: "Looks something up",
  parameters: {},
  run: (_, signal) => {
    world.begin("look_up")
    return hang(signal)
  }
})

/** Returns a text. */
export const saying = (name: string, text: string) => (world: World): PlainTool => ({
  name,
  description: name.replaceAll("_", " "),
  parameters: {},
  run: async () => {
    world.begin(name)
    return text
  }
})

/** An error with fields, and without a message. */
export class RoomTaken extends Error {
  readonly free: ReadonlyArray<string>

  constructor(free: ReadonlyArray<string>) {
    super("")
    this.name = "RoomTaken"
    this.free = free
  }
}

const refusalOf = (error: unknown): string | undefined =>
  error instanceof BookingError
    ? error.message
    : error instanceof RoomTaken
    ? `The room is taken. Free rooms: ${error.free.join(", ")}.`
    : undefined

/** Books a room. Room A1 is taken. */
export const booking = (taken: () => unknown) => (world: World): PlainTool => ({
  name: "book_room",
  description: "Books a room",
  parameters: { room: "string" },
  acts: true,
  declared: { refusal: refusalOf },
  run: async ({ room }) => {
    world.begin("book_room")
    if (room === "A1") throw taken()
    world.done.push(`booked ${room}`)
    return `${room} is booked.`
  }
})

export const weather = (world: World): PlainTool => ({
  name: "get_weather",
  description: "The weather",
  parameters: { city: "string" },
  run: async ({ city }) => {
    world.begin("get_weather")
    return `Sunny in ${city}.`
  }
})

export const users = (world: World): PlainTool => ({
  name: "list_users",
  description: "Lists users",
  parameters: { page: "integer?" },
  result: { users: "strings", has_more: "boolean" },
  run: async ({ page = 1 }) => {
    world.begin("list_users")
    return { users: [`user ${page}`], has_more: Number(page) < 3 }
  }
})

/** Pays with `pay`; a second tool tells whether an order is paid. */
export const paying =
  (pay: (world: World, attempt: number, signal: AbortSignal | undefined) => Promise<unknown>, refusesFirst = false) =>
  (world: World): ReadonlyArray<PlainTool> => [
    {
      name: "pay",
      description: "Pays an order",
      parameters: { order: "string" },
      acts: true,
      declared: { check: "payment_status", maxCalls: 2 },
      fallible: { identity: ({ order }) => order, refusesFirst },
      run: (_, signal) => pay(world, world.begin("pay"), signal)
    },
    {
      name: "payment_status",
      description: "Is an order paid?",
      parameters: { order: "string" },
      fallible: {
        identity: ({ order }) => order,
        settles: (result) => result === "paid" ? "executed" : "not_executed"
      },
      run: async ({ order }) => {
        world.begin("payment_status")
        return world.done.includes(`paid ${order}`) ? "paid" : "not paid"
      }
    }
  ]

/** Pays, and then fails with a recorded error. */
export const payingAndLosing = (shape: string) =>
  paying(async (world) => {
    paid(world)
    throw shapeOf(shape)
  })
