/**
 * Scenarios in which nothing is really wrong, or only a little, so that caution may cost more than it saves. They were chosen before
 * they were run.
 */
import { ScriptedModel } from "../../packages/testing/src/index.ts"
import { shapeOf } from "../../test/support/errorShapes.ts"
import { suggestedCalls } from "../../test/support/heeding.ts"
import type { World } from "../../test/support/plainTools.ts"
import { answersIn, callsIn, found, giveUp, resultsIn } from "./model.ts"
import { advisesAgainst, castsDoubt, claimsFailure, heldBack } from "./reader.ts"
import { booked, paidOnce, type Scenario } from "./scenario.ts"
import * as Tools from "./tools.ts"

type Run = (args: Tools.Arguments, times: number, world: World) => unknown

/** Makes a tool. `times` counts how often it has run, including this time. */
const tool =
  (name: string, description: string, run: Run, more: Partial<Tools.PlainTool> = {}) =>
  (world: World): Tools.PlainTool => ({
    name,
    description,
    parameters: {},
    ...more,
    run: async (args) => run(args, world.begin(name), world)
  })

const seconds = (count: number) => new Promise((resolve) => setTimeout(resolve, 1000 * count))

// -----------------------------------------------------------------------------
// Patience
// -----------------------------------------------------------------------------

const slow = (count: number): Scenario => ({
  name: `a healthy tool takes ${count} seconds`,
  tools: tool("get_revenue", "Computes the revenue of a quarter", async () => {
    await seconds(count)
    return "Revenue: 1,204,000"
  }, { declared: { millis: 60_000 } }),
  goal: { first: ["get_revenue"], wanted: /1,204,000/ },
  cost: "2/1"
})

/** Calls the same tool again and again until it has seen enough, unless it is told not to. */
const again =
  (name: string, description: string, run: Run, enough: (results: ReadonlyArray<string>) => string | undefined) =>
  (more: Partial<Tools.PlainTool> = {}): Pick<Scenario, "tools" | "goal"> => ({
    tools: tool(name, description, run, more),
    goal: {
      play: () => (request) => {
        const results = resultsIn(request)
        const last = results.at(-1) ?? ""
        const seen = enough(results)
        if (seen !== undefined) return ScriptedModel.text(found + seen)
        return advisesAgainst(last) || results.length > 25 ? giveUp(last) : ScriptedModel.call(name, {})
      },
      wanted: /^Enough/
    }
  })

const patience: ReadonlyArray<Scenario> = [
  slow(12),
  slow(35),
  {
    name: "a status is the same twelve times, and then ready",
    ...again(
      "get_build",
      "The status of a build",
      (_, times) => ({ status: times > 12 ? "ready" : "running" }),
      (results) => /"ready"/.test(results.at(-1) ?? "") ? "Enough: it is ready." : undefined
    )({ result: { status: "string" }, fallible: { poll: { every: "100 millis", atMost: "1 minute" } } }),
    cost: "14/13"
  },
  {
    name: "twelve measurements, all of them equal",
    ...again(
      "measure",
      "The temperature now",
      () => ({ celsius: 21 }),
      (results) =>
        results.filter((text) => /"celsius":\s*21/.test(text)).length >= 12 ? "Enough: 21 degrees." : undefined
    )({ result: { celsius: "number" } }),
    cost: "13/12"
  },
  {
    name: "fifteen equal calls, each with another result",
    ...again(
      "take_ticket",
      "Takes the next ticket from the queue",
      (_, times, world) => {
        if (times > 15) return "The queue is empty."
        world.done.push(`ticket ${times}`)
        return `Ticket ${times}`
      },
      (results) => /queue is empty/.test(results.at(-1) ?? "") ? `Enough: ${results.length - 1} tickets.` : undefined
    )({ acts: true }),
    cost: "17/16",
    done: Array.from({ length: 15 }, (_, index) => `ticket ${index + 1}`)
  },
  {
    name: "a task of 24 steps",
    tools: tool("set_heating", "Sets the heating of a room", ({ room }, _, world) => {
      world.done.push(String(room))
      return `${room} is set.`
    }, { parameters: { room: "string" }, acts: true }),
    goal: {
      play: () => (request) => {
        const results = resultsIn(request)
        if (results.length < 24) return ScriptedModel.call("set_heating", { room: `room ${results.length + 1}` })
        return ScriptedModel.text(`${results.filter((text) => /is set/.test(text)).length} rooms are set.`)
      },
      wanted: /^24 rooms/
    },
    cost: "25/24",
    done: Array.from({ length: 24 }, (_, index) => `room ${index + 1}`)
  },
  {
    name: "a report is not ready at the first two calls",
    tools: Tools.lookup((attempt) => attempt <= 2 ? new Error("The report is not ready yet (60% done).") : undefined),
    goal: { first: ["look_up"], wanted: /\bfound\b/ },
    cost: "4/3"
  },
  {
    name: "a 404 right after a create",
    tools: (world) => [
      tool("create_note", "Creates a note", (_, __, { done }) => {
        done.push("note")
        return { id: "n-9" }
      }, { parameters: { title: "string" }, result: { id: "string" }, acts: true })(world),
      tool("get_note", "A note", (_, times) => {
        if (times === 1) throw shapeOf("axios 404")
        return { id: "n-9", link: "https://notes.example/n-9" }
      }, { parameters: { id: "string" }, result: { id: "string", link: "string" } })(world)
    ],
    goal: {
      // It has just read that the note is created. So it looks again, unless it is told not to. The weak one then creates another.
      play: (manner) => (request) => {
        const create = ScriptedModel.call("create_note", { title: "Agenda" })
        const created = resultsIn(request, "create_note").length
        const looks = resultsIn(request, "get_note")
        const last = looks.at(-1)
        if (created === 0) return create
        if (last === undefined) return ScriptedModel.call("get_note", { id: "n-9" })
        if (/notes\.example/.test(last)) return ScriptedModel.text(found + last)
        if (!advisesAgainst(last) && looks.length < 4) return ScriptedModel.call("get_note", { id: "n-9" })
        return manner === "weak" && created === 1 ? create : giveUp(last)
      },
      wanted: /notes\.example/
    },
    cost: "4/3",
    done: ["note"]
  }
]

// -----------------------------------------------------------------------------
// Acts that are meant
// -----------------------------------------------------------------------------

const people = ["Ada", "Ben", "Cy", "Di", "Ed", "Flo"]

const acts: ReadonlyArray<Scenario> = [
  {
    name: "two equal purchases in one turn, both wanted",
    tools: tool("buy_voucher", "Buys a gift voucher", (_, times, world) => {
      world.done.push("voucher")
      return `Voucher V-${times}`
    }, { parameters: { euros: "string" }, acts: true, fallible: { joins: false } }),
    goal: {
      play: () => (request) => {
        const buy = ["buy_voucher", { euros: "20" }] as const
        const results = resultsIn(request)
        const vouchers = new Set(results.join("\n").match(/V-\d/g))
        if (results.length === 0) return ScriptedModel.calls(buy, buy)
        if (vouchers.size > 1) return ScriptedModel.text(`Bought ${[...vouchers].join(" and ")}.`)
        const last = results.at(-1)!
        return advisesAgainst(last) || results.length > 3 ? giveUp(last) : ScriptedModel.call(...buy)
      },
      wanted: /V-1 and V-2/
    },
    cost: "2/2",
    done: ["voucher", "voucher"]
  },
  {
    name: "the user asks for the same act again, later in the conversation",
    asks: ["Restart the router.", "It hangs again. Restart it again."],
    tools: tool("restart_router", "Restarts the router", (_, times, world) => {
      world.done.push("restarted")
      return `The router is up (restart ${times}).`
    }, { acts: true, fallible: { repeats: true } }),
    goal: {
      play: () => (request) => {
        const [text] = resultsIn(request)
        if (text === undefined) return ScriptedModel.call("restart_router", {})
        return /is up/.test(text) && !heldBack(text) ? ScriptedModel.text("It is restarted.") : giveUp(text)
      },
      wanted: /restarted/
    },
    cost: "4/2",
    done: ["restarted", "restarted"]
  },
  paidOnce(
    "a payment fails once before it sends anything, with a plain error",
    Tools.paying(async (world, attempt) => {
      if (attempt === 1) throw new Error("Cannot read the key file")
      world.done.push("paid o-7")
      return "paid"
    })
  ),
  {
    name: "six messages in one turn, and the answer to one is lost",
    tools: tool("send_message", "Sends a message", ({ to }, _, world) => {
      world.done.push(`to ${to}`)
      if (to === "Cy") throw shapeOf("axios reset POST")
      return `Sent to ${to}.`
    }, { parameters: { to: "string" }, acts: true, fallible: { identity: ({ to }) => to } }),
    goal: {
      // It makes calls again that were not made, and the weak model also one that failed, unless it is told not to.
      play: (manner) => (request) => {
        const calls = callsIn(request)
        const answers = answersIn(request)
        const textOf = (to: string) => answers.get(JSON.stringify({ to })) ?? ""
        if (calls.length === 0) return ScriptedModel.calls(people.map((to) => ["send_message", { to }] as const))
        const open = people.filter((to) => !textOf(to).includes(`Sent to ${to}.`))
        const retried = open.filter((to) => !advisesAgainst(textOf(to)) && (manner === "weak" || heldBack(textOf(to))))
        if (retried.length > 0 && calls.length === people.length) {
          return ScriptedModel.calls(retried.map((to) => ["send_message", { to }] as const))
        }
        return open.length > 1
          ? giveUp(`open are ${open.join(", ")}.`)
          : ScriptedModel.text(`${people.length - open.length} messages are sent. Not known: ${open.join(", ")}.`)
      },
      wanted: /^5 messages.*: Cy\./
    },
    cost: "2/6",
    done: people.map((to) => `to ${to}`)
  }
]

// -----------------------------------------------------------------------------
// Results and errors that are good as they are
// -----------------------------------------------------------------------------

const reading = (
  name: string,
  result: Tools.PlainTool["result"],
  run: Run,
  wanted: RegExp,
  more: Partial<Tools.PlainTool> = {},
  cost = "2/1"
): Scenario => ({
  name,
  tools: tool("get_order", "An order", run, { ...(result === undefined ? {} : { result }), ...more }),
  goal: { first: ["get_order"], wanted },
  cost
})

class Receipt {
  readonly #secret = "internal"
  readonly id: string

  constructor(id: string) {
    this.id = id
  }

  print(): string {
    return `${this.id} ${this.#secret}`
  }
}

const results: ReadonlyArray<Scenario> = [
  reading(
    "a result with a new value of an enum",
    { status: ["open", "shipped"], carrier: "string" },
    () => ({ status: "on_hold", carrier: "DHL" }),
    /on_hold/
  ),
  reading("a number that comes as a text", { price: "number" }, () => ({ price: "42" }), /42/),
  {
    ...reading(
      "a result with a Date, an undefined field and an instance of a class",
      "any",
      (_, __, world) => {
        world.done.push("mail")
        return { accepted: ["a@b.example"], at: new Date(0), error: undefined, receipt: new Receipt("m-1") }
      },
      /a@b\.example/,
      { description: "Sends a mail", acts: true }
    ),
    done: ["mail"]
  },
  reading(
    "a 200 with ok: false, and then a good one",
    { ok: "boolean", error: "string?", rate: "number?" },
    (_, times) => times === 1 ? { ok: false, error: "temporarily_unavailable" } : { ok: true, rate: 1.0835 },
    /1\.0835/,
    {
      declared: {
        failed: (result) => typeof result === "object" && result !== null && "ok" in result && result.ok === false
      }
    },
    "3/2"
  ),
  {
    name: "an empty list that is right",
    tools: (world) => [
      tool("list_orders", "The open orders of a customer", () => ({ orders: [] }), {
        parameters: { customer_id: "string" },
        result: { orders: "strings" }
      })(world),
      tool("find_customer", "A customer by name", () => ({ customer_id: "c-7", name: "Ada" }), {
        parameters: { name: "string" },
        result: { customer_id: "string", name: "string" }
      })(world)
    ],
    goal: {
      // It takes an empty list for what it is. If a text casts doubt on it, it checks the customer first.
      play: () => (request) => {
        const [text = "", checked] = resultsIn(request)
        if (text === "") return ScriptedModel.call("list_orders", { customer_id: "c-7" })
        if (castsDoubt(text) && checked === undefined) return ScriptedModel.call("find_customer", { name: "Ada" })
        return /"orders":\s*\[\]/.test(text) ? ScriptedModel.text("There are no open orders.") : giveUp(text)
      },
      wanted: /no open orders/
    },
    cost: "2/1"
  },
  {
    ...reading(
      "a payment that has failed, which is what was asked",
      { status: "string", reason: "string" },
      () => ({ status: "failed", reason: "card_expired" }),
      /card_expired/
    ),
    goal: {
      play: () => (request) => {
        const [text] = resultsIn(request)
        if (text === undefined) return ScriptedModel.call("get_order", {})
        return claimsFailure(text) ? giveUp(text) : ScriptedModel.text(found + text)
      },
      wanted: /card_expired/
    }
  },
  {
    name: "a result of 300 KB whose end matters",
    tools: Tools.saying("export", `${"A line of the export.\n".repeat(14_000)}Total: 1204`),
    goal: {
      play: () => (request) => {
        const texts = resultsIn(request)
        if (texts.length === 0) return ScriptedModel.call("export", {})
        const whole = texts.find((text) => /Total: 1204/.test(text))
        if (whole !== undefined) return ScriptedModel.text("The total is 1204.")
        const more = suggestedCalls(texts.at(-1)!).at(-1)
        return more === undefined || texts.length > 9 ? giveUp(texts.at(-1)!.slice(-200)) : ScriptedModel.call(...more)
      },
      wanted: /total is 1204/
    },
    cost: "2/1"
  },
  booked(
    "a sentence with advice, in German",
    () => new Error("Zimmer A1 ist schon belegt. Freie Zimmer: B2, C3.")
  ),
  booked("an error of the user's own, with fields and without a message", () => new Tools.RoomTaken(["B2", "C3"])),
  {
    name: "the model writes its call as text",
    tools: Tools.mirror,
    goal: {
      play: () => (request, index) => {
        const text = resultsIn(request).at(-1)
        if (text !== undefined) return ScriptedModel.text(found + text)
        return index === 0
          ? ScriptedModel.text("<tool_call>{\"name\":\"get_price_mirror\",\"arguments\":{}}</tool_call>")
          : ScriptedModel.call("get_price_mirror", {})
      },
      wanted: /^\{.*"price":\s*42/
    },
    cost: "3/1"
  }
]

export const honestWork: ReadonlyArray<Scenario> = [...patience, ...acts, ...results]
