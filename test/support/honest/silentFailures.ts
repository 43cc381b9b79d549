/** Results that look like a success and are none, where a plain loop believes them. */
import { ScriptedModel } from "@fallible/testing"
import { Schema } from "effect"
import { answer as answerWith } from "../plainTools.ts"
import { answer, call, find, latest, resultsOf, steps } from "./reading.ts"
import { acts, type HonestKind, type HonestScenario, type Model, plainTool, reads, texts } from "./scenario.ts"

// -----------------------------------------------------------------------------
// A weak reader
// -----------------------------------------------------------------------------

/**
 * Whether a text tells of trouble in words: a code in a field escapes a weak reader, a sentence does not.
 */
const tellsOfTrouble = (text: string): boolean =>
  Array.from(text.matchAll(/[^".:{}[\]\\]+/g), ([sentence]) => sentence).some((sentence) =>
    sentence.trim().split(/\s+/).length >= 4 &&
    /\bfail|\berror|unavailable|not (have |be |been )*(done|sent|executed|run|reserved|succe)|did not|refus|problem/i
      .test(
        sentence
      )
  )

/** Acts once, and claims success unless it is told of trouble in words. */
const believing = (name: string, args: object, claim: string): Model => (request) => {
  const [last] = latest(request)
  if (last === undefined) return ScriptedModel.call(name, args)
  return ScriptedModel.text(tellsOfTrouble(last) ? "I am sorry: that did not work." : claim)
}

// -----------------------------------------------------------------------------
// A name for an id
// -----------------------------------------------------------------------------

/** A lookup that wants an id and gets a name: it finds nothing, and says no more. */
const nameForId = (
  { find: finder, id, idName, list, name, noun, question, result }: {
    readonly name: string
    readonly question: string
    readonly noun: string
    readonly list: string
    readonly idName: string
    readonly find: string
    readonly id: string
    readonly result: string
  }
): HonestScenario => ({
  name: `an empty list of ${noun}, because a name was given for the ${idName}`,
  question,
  tools: (world) => [
    plainTool(
      world,
      list,
      reads(`Lists ${noun}`, Schema.Struct({ [noun]: Schema.Array(Schema.String) }), texts(idName)),
      (args) => ({ [noun]: args[idName] === id ? [result] : [] })
    ),
    plainTool(
      world,
      finder,
      reads("Finds somebody by name", Schema.Struct({ [idName]: Schema.String, name: Schema.String }), texts("name")),
      ({ name }) => ({ [idName]: id, name })
    )
  ],
  model: (request) => {
    const last = resultsOf(request, list).at(-1)
    if (last === undefined) return ScriptedModel.call(list, { [idName]: name })
    if (last.includes(result)) return ScriptedModel.text(`There is one: ${result}.`)
    const known = resultsOf(request, finder).flatMap((text) => find(text, new RegExp(`"${idName}":"([^"]+)"`)) ?? [])[0]
    // Having asked with the id, it believes an empty list.
    if (known !== undefined && resultsOf(request, list).length < 2) return ScriptedModel.call(list, { [idName]: known })
    // It uses the tool that gives the id once it is told of it.
    return known === undefined && last.includes(finder)
      ? ScriptedModel.call(finder, { name })
      : ScriptedModel.text(`There are no ${noun}.`)
  },
  replies: 4,
  says: new RegExp(result),
  plainIsWrong: true
})

// -----------------------------------------------------------------------------
// A full page
// -----------------------------------------------------------------------------

/** The parameters of a list in pages. */
export const page = { limit: Schema.Int, page: Schema.optionalKey(Schema.Int) }

/** Counts what it sees, and turns the page if it is told that there may be more. */
export const counting: Model = (request) => {
  const results = resultsOf(request)
  const last = results.at(-1)
  if (last === undefined) return ScriptedModel.call("list_orders", { limit: 20 })
  return /may be (more|incomplete)|more (items|results|pages|orders)|page is full|full page|next page|page=|'page'|not (be )?(complete|all)/i
      .test(last)
      && results.length < 4
    ? ScriptedModel.call("list_orders", { limit: 20, page: results.length + 1 })
    : ScriptedModel.text(`There are ${new Set(results.join(" ").match(/o-\d+/g)).size} open orders.`)
}

export const orders = (count: number, from = 0) => Array.from({ length: count }, (_, index) => `o-${from + index + 1}`)

export const silentFailures: HonestKind = {
  kind: "a silent failure",
  scenarios: [
    nameForId({
      name: "Ada Lovelace",
      question: "Which orders does Ada Lovelace have?",
      noun: "orders",
      list: "list_orders",
      idName: "customer_id",
      find: "find_customer",
      id: "c-17",
      result: "o-7"
    }),
    nameForId({
      name: "Grace",
      question: "What is in Grace's calendar today?",
      noun: "events",
      list: "get_events",
      idName: "userId",
      find: "search_users",
      id: "u_3391",
      result: "Dentist at 15:00"
    }),
    {
      name: "a 200 that says that the service is unavailable, once",
      because: "Only a tool that declares `failed` is tried again. Otherwise the model is told, and this one gives up.",
      question: "What is the exchange rate?",
      service: ({ times }) =>
        answerWith(times === 1 ? { ok: false, error: "service_unavailable" } : { ok: true, rate: 1.0835 }),
      tools: (world) => [
        plainTool(
          world,
          "get_rate",
          reads(
            "The exchange rate",
            Schema.Struct({ ok: Schema.Boolean, rate: Schema.optionalKey(Schema.Finite) })
          ),
          async () => (await fetch(`${world.url}/rate`)).json()
        )
      ],
      model: steps(
        call("get_rate"),
        answer((text) => find(text, /1\.\d+/) ?? "The service is unavailable.")
      ),
      replies: 2,
      says: /1\.0835/,
      plainIsWrong: true
    },
    {
      name: "a 200 with the error of a limit, once",
      because: "Only a tool that declares `failed` is tried again. Otherwise the model is told, and this one gives up.",
      question: "How many followers does the account have?",
      service: ({ times }) => answerWith(times === 1 ? { error: "rate limit exceeded" } : { followers: 5120 }),
      tools: (world) => [
        plainTool(
          world,
          "get_account",
          reads("An account", Schema.Struct({ followers: Schema.optionalKey(Schema.Int) }), texts("account")),
          async ({ account }) => (await fetch(`${world.url}/accounts/${account}`)).json()
        )
      ],
      model: steps(
        call("get_account", { account: "ada" }),
        answer((text) => `${find(text, /"followers":(\d+)/) ?? "no"} followers`)
      ),
      replies: 2,
      says: /^5120/,
      plainIsWrong: true
    },
    {
      name: "an e-mail whose status is failed",
      question: "Send the minutes to Ada.",
      tools: (world) => [
        plainTool(
          world,
          "send_email",
          acts("Sends an e-mail", Schema.Struct({ status: Schema.String }), texts("to", "subject")),
          () => ({ status: "failed", reason: "mailbox full" })
        )
      ],
      model: believing("send_email", { to: "ada@example.com", subject: "Minutes" }, "The minutes have been sent."),
      replies: 2,
      says: /did not work/,
      never: /minutes have been sent/,
      plainIsWrong: true
    },
    {
      name: "a reservation that returns an error in a 200",
      question: "Reserve five chairs.",
      service: () => answerWith({ error: "insufficient_stock" }),
      tools: (world) => [
        plainTool(
          world,
          "reserve",
          acts(
            "Reserves articles",
            Schema.Struct({ reservation: Schema.optionalKey(Schema.String) }),
            texts("article")
          ),
          async ({ article }) => (await fetch(`${world.url}/reservations`, { method: "POST", body: article })).json()
        )
      ],
      model: believing("reserve", { article: "chair" }, "Five chairs are reserved."),
      replies: 2,
      says: /did not work/,
      never: /chairs are reserved/,
      plainIsWrong: true
    },
    {
      name: "a full page that says nothing of a next one",
      question: "How many open orders are there?",
      tools: (world) => [
        plainTool(
          world,
          "list_orders",
          reads("Lists the open orders", Schema.Array(Schema.String), Schema.Struct(page)),
          ({ page = 1 }) => page === 1 ? orders(20) : page === 2 ? orders(7, 20) : []
        )
      ],
      model: counting,
      replies: 3,
      says: /^There are 27 /,
      plainIsWrong: true
    }
  ]
}
