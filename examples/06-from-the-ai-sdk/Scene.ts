/**
 * One customer, one fault, and one of the three programs, each over real HTTP.
 */
import { createOpenAI } from "@ai-sdk/openai"
import type { LanguageModelV4 } from "@ai-sdk/provider"
import type * as Layer from "effect/Layer"
import * as Logger from "effect/Logger"
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { after } from "./after.ts"
import { afterInTheirLoop } from "./afterInTheirLoop.ts"
import { before, type Options } from "./before.ts"
import { ChatStore } from "./ChatStore.ts"
import * as ModelServer from "./ModelServer.ts"
import * as Page from "./Page.ts"
import { Payments } from "./Payments.ts"
import * as Planner from "./Planner.ts"
import { keyOf } from "./toolkit.ts"
import { type Services, travelTools } from "./tools.ts"
import * as TravelServer from "./TravelServer.ts"

export interface Program {
  readonly title: string
  readonly keyOf: Services["keyOf"]
  readonly route: (options: Options, services?: Layer.Layer<never>) => Page.Route
}

export const programs = {
  before: {
    title: "The AI SDK alone, with a key for each call",
    // Stripe suggests a random key for each operation. The AI SDK has an id for each call.
    keyOf: (_, { toolCallId }) => toolCallId,
    route: before
  },
  keyedByHand: {
    title: "The AI SDK alone, with a key for each booking",
    keyOf: ({ booking }) => `charge-${booking}`,
    route: before
  },
  after: { title: "The tools in an agent of Fallible", keyOf, route: after },
  afterInTheirLoop: { title: "The tools under Fallible, in the loop of the AI SDK", keyOf, route: afterInTheirLoop }
} satisfies Readonly<Record<string, Program>>

export const wish = "Book the cheapest flight from Oslo to Rome on 2 May for Ada, and pay it."

export interface Setting {
  readonly fault?: TravelServer.Fault
  /** In milliseconds. */
  readonly timeout?: number
  /** Default: the stand-in. */
  readonly model?: LanguageModelV4
  /** What the Effects of a program run with, such as a clock. Default: no log, because the page says what happened. */
  readonly services?: Layer.Layer<never>
}

const withoutLog = Logger.layer([])

export interface Played extends Page.Talk {
  readonly bookings: ReadonlyArray<string>
  readonly charges: ReadonlyArray<TravelServer.Charge>
  readonly mails: ReadonlyArray<string>
  /** What there is once the page has sent all its requests again. */
  readonly afterwards: { readonly bookings: number; readonly charges: number; readonly mails: number }
}

export const play = async (
  program: Program,
  { fault, model, services = withoutLog, timeout }: Setting = {}
): Promise<Played> => {
  const folder = mkdtempSync(join(tmpdir(), "chats-"))
  const travel = await TravelServer.start(fault)
  const server = await ModelServer.start(Planner.reply)
  try {
    const tools = travelTools({
      url: travel.url,
      payments: new Payments({ url: travel.url, ...(timeout === undefined ? {} : { timeout }) }),
      keyOf: program.keyOf
    })
    const route = program.route({
      model: model ?? createOpenAI({ apiKey: "none", baseURL: `${server.url}/v1` }).chat("stand-in"),
      tools,
      store: new ChatStore(folder)
    }, services)
    const talk = await Page.talk(route, wish)
    const [bookings, charges, mails] = [[...travel.bookings], [...travel.charges], [...travel.mails]]
    // An answer that is regenerated, and a button that is pressed twice.
    for (const body of talk.sent) {
      const response = await route(new Request("http://localhost/api/chat", { method: "POST", body }))
      await response.text()
    }
    const afterwards = {
      bookings: travel.bookings.length,
      charges: travel.charges.length,
      mails: travel.mails.length
    }
    return { ...talk, bookings, charges, mails, afterwards }
  } finally {
    await Promise.all([travel.close(), server.close()])
    rmSync(folder, { recursive: true })
  }
}
