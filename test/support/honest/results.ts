/** Results that do not quite fit what their tool declares, and are fine; and results that are slow, or big. */
import { Schema } from "effect"
import { act, read, text } from "./plainTool.ts"
import { call, dataOf, heard, type HonestScenario, once, say } from "./scenario.ts"

const misfit = (
  name: string,
  success: Schema.ConstraintCodec<unknown, unknown>,
  result: unknown,
  says: RegExp
): HonestScenario => ({
  kind: "results",
  name,
  tools: () => [read("get_customer", "A customer", async () => result, { fields: text("id"), success })],
  model: once("get_customer", { id: "c-7" }),
  replies: 2,
  says
})

const Customer = Schema.Struct({ name: Schema.String, email: Schema.optionalKey(Schema.String) })
const Order = Schema.Struct({ id: Schema.String, total: Schema.Finite, paid: Schema.Boolean })
const order = { id: "o-7", total: 231.5, paid: true }

export const results: ReadonlyArray<HonestScenario> = [
  misfit("null in an optional field", Customer, { name: "Ada", email: null }, /Ada/),
  misfit("a number as text", Order, { ...order, total: "231.50" }, /231\.5/),
  misfit("a text as a number", Order, { ...order, id: 77 }, /77/),
  misfit("a boolean as text", Order, { ...order, paid: "true" }, /"paid":true|"paid":"true"/),
  misfit(
    "a new status",
    Schema.Struct({ status: Schema.Literals(["open", "closed"]) }),
    { status: "on_hold" },
    /on_hold/
  ),
  misfit(
    "a required field is missing, and the others are there",
    Schema.Struct({ name: Schema.String, email: Schema.String }),
    { name: "Ada" },
    /Ada/
  ),
  misfit("a date where anything may stand", Schema.Unknown, { since: new Date(0) }, /1970-01-01/),
  misfit("a list of orders with numbers as texts", Schema.Array(Order), [{ ...order, total: "231.50" }], /231\.5/),
  misfit("one order in place of a list", Schema.Array(Order), order, /231\.5/),
  misfit("a word in place of an object", Schema.Struct({ ok: Schema.Boolean }), "Welcome back, Ada.", /Ada/),
  {
    kind: "results",
    name: "a delete that returns nothing",
    tools: (world) => [
      act("delete_row", "Deletes a row", async ({ id }) => {
        world.done.push(`deleted ${id}`)
      }, { fields: text("id"), success: Schema.Struct({ deleted: Schema.Boolean }) })
    ],
    model: (request, index) => {
      if (index === 0) return call("delete_row", { id: "r-1" })
      return say(/"ok":false|may already/.test(heard(request)) ? "I am not sure." : "It is deleted.")
    },
    replies: 2,
    says: /^It is deleted/,
    done: ["deleted r-1"]
  }
]

// -----------------------------------------------------------------------------
// Slow and big
// -----------------------------------------------------------------------------

const slow = (seconds: number, acts: boolean): HonestScenario => ({
  kind: "slow and big",
  name: `${acts ? "a deployment" : "a search"} of ${seconds} seconds`,
  tools: ({ done, hold }) => [
    (acts ? act : read)("run_it", "Runs for a while", async () => {
      await hold(seconds * 1000)
      if (acts) done.push("ran")
      return "It went well."
    })
  ],
  model: once("run_it"),
  replies: 2,
  says: /It went well/,
  ...(acts ? { done: ["ran"] } : {})
})

const long = (turns: number): HonestScenario => ({
  kind: "slow and big",
  name: `a task of ${turns} turns`,
  tools: () => [read("get_part", "A part of a book", async ({ n }) => `Part ${n}.`, { fields: text("n") })],
  model: (request, index) =>
    index < turns - 1 ? call("get_part", { n: `${index + 1}` }) : say(`Read: ${heard(request)}`),
  replies: turns,
  says: new RegExp(`Part ${turns - 1}\\.`)
})

const big = (name: string, value: unknown): HonestScenario => ({
  kind: "slow and big",
  name,
  tools: () => [read("get_all", "All of it", async () => value)],
  model: (request, index) =>
    index === 0 ? call("get_all") : say(/THE LAST ONE/.exec(heard(request))?.[0] ?? "Not found."),
  replies: 2,
  says: /THE LAST ONE/
})

const rows = (count: number, length: number) => [
  ...Array.from({ length: count }, (_, id) => ({ id, note: "x".repeat(length) })),
  { id: count, note: "THE LAST ONE" }
]

export const slowAndBig: ReadonlyArray<HonestScenario> = [
  slow(12, false),
  slow(25, false),
  slow(15, true),
  long(15),
  long(22),
  big("a list of 120 KB, with the answer at its end", rows(1200, 80)),
  big("a list of 1500 short items, with the answer at its end", rows(1500, 4)),
  big("a text of 90 KB, with the answer at its end", `${"word ".repeat(18_000)}THE LAST ONE`)
]

// -----------------------------------------------------------------------------
// Acting calls in one turn
// -----------------------------------------------------------------------------

const people = ["ada", "bob", "cyd", "dan", "eve", "fay"]

export const together: ReadonlyArray<HonestScenario> = [{
  kind: "acting calls",
  name: "six mails to different people, 0.6 seconds each",
  tools: ({ done, hold }) => [
    act("send_mail", "Sends a mail", async ({ to }) => {
      await hold(600)
      done.push(`mail to ${to}`)
      return "sent"
    }, { fields: text("to", "text"), identity: "to" })
  ],
  model: (request, index) =>
    index === 0
      ? {
        text: "",
        calls: people.map((to) => ({
          id: `call-${to}`,
          name: "send_mail",
          arguments: JSON.stringify({ to, text: "Hello." })
        }))
      }
      : say(
        request.messages.filter((message) => message.role === "tool" && dataOf(message.text) === "sent").length +
          " are sent."
      ),
  replies: 2,
  says: /^6 are sent/,
  done: people.map((to) => `mail to ${to}`),
  time: 600
}]
