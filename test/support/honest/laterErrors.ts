/** Errors that mean "later", and data that is there only a moment after it was written. */
import { ScriptedModel } from "@fallible/testing"
import { Schema } from "effect"
import { answer as answerWith, status } from "../plainTools.ts"
import { find, giveUp, isFailure, isForbidden, latest, maySoonWork, resultsOf, until } from "./reading.ts"
import { acts, type HonestKind, type HonestScenario, type Model, plainTool, reads, texts } from "./scenario.ts"

/** A lookup that throws an error's text in its first executions, and then finds a text. */
const later = (name: string, failures: number, error: string): HonestScenario => ({
  name,
  question: "What is the total of the ledger?",
  tools: (world) => [
    plainTool(world, "read_ledger", reads("Reads the ledger", Schema.String), (_, times) => {
      if (times <= failures) throw new Error(error)
      return "total: 9,310.00"
    })
  ],
  model: until("read_ledger", {}, (results) => find(results.at(-1)!, /[\d,]+\.\d\d/)),
  replies: failures + 2,
  says: /9,310\.00/
})

/** A service that answers a GET with a status at first, in the words that such services use. */
const laterByHttp = (code: number, words: string): HonestScenario => ({
  name: `a GET that is answered with ${code} twice`,
  question: "How many pages does the catalogue have?",
  service: ({ times }) => (response) =>
    times < 3
      ? void response.writeHead(code, { "content-type": "application/json" }).end(JSON.stringify({ message: words }))
      : answerWith({ pages: 212 })(response),
  tools: (world) => [
    plainTool(
      world,
      "get_catalogue",
      reads("The catalogue", Schema.Struct({ pages: Schema.Int })),
      async () => {
        const response = await fetch(`${world.url}/catalogue`)
        if (!response.ok) throw new Error(`HTTP ${response.status}: ${await response.text()}`)
        return response.json()
      }
    )
  ],
  model: until("get_catalogue", {}, (results) => find(results.at(-1)!, /"pages":(\d+)/)),
  replies: 4,
  says: /^212$/
})

/** Calls a tool that acts, then reads until `answer` finds what was written, at most five times. */
const writeThenRead = (
  write: readonly [name: string, args: object],
  read: (written: string) => readonly [name: string, args: object],
  answer: (last: string) => string | undefined
): Model =>
(request) => {
  const [written] = resultsOf(request, write[0])
  if (written === undefined) return ScriptedModel.call(...write)
  if (isFailure(written)) return giveUp(written)
  const [name, args] = read(written)
  const results = resultsOf(request, name)
  const last = results.at(-1)
  if (last === undefined) return ScriptedModel.call(name, args)
  const found = answer(last)
  if (found !== undefined) return ScriptedModel.text(found)
  return results.length >= 5 || isFailure(last) && isForbidden(last) ? giveUp(last) : ScriptedModel.call(name, args)
}

export const laterErrors: HonestKind = {
  kind: "an error that means later",
  scenarios: [
    later("a lock that is held", 2, "The lock is held. Try again in a moment."),
    later("an index that is being built", 3, "still indexing, please retry shortly"),
    later("a report that is not ready yet", 4, "Report 2026-03 is not ready yet (60% done)"),
    laterByHttp(423, "Locked by the nightly backup"),
    laterByHttp(425, "Too Early"),
    laterByHttp(409, "The catalogue is locked while it is published. Try again shortly."),
    {
      name: "a document that this run has created is found at the second look",
      question: "Create a note 'Agenda', and give me its link.",
      service: ({ method, path, times }) => (response) => {
        if (method === "POST") return answerWith({ id: "d-9" })(response)
        return path === "/notes/d-9" && times > 1
          ? answerWith({ id: "d-9", link: "https://notes.example/d-9" })(response)
          : status(404)(response)
      },
      tools: (world) => [
        plainTool(
          world,
          "create_note",
          acts("Creates a note", Schema.Struct({ id: Schema.String }), texts("title")),
          async ({ title }) => {
            const response = await fetch(`${world.url}/notes`, { method: "POST", body: title })
            if (!response.ok) throw new Error(`HTTP ${response.status}`)
            world.done.push(`created ${title}`)
            return response.json()
          }
        ),
        plainTool(
          world,
          "get_note",
          reads("A note, with its link", Schema.Struct({ id: Schema.String, link: Schema.String }), texts("id")),
          async ({ id }) => {
            const response = await fetch(`${world.url}/notes/${id}`)
            if (!response.ok) throw new Error(`HTTP ${response.status}: note ${id} was not found`)
            return response.json()
          }
        )
      ],
      model: writeThenRead(
        ["create_note", { title: "Agenda" }],
        (written) => ["get_note", { id: find(written, /"id":"([\w-]+)"/) ?? "" }],
        (last) => find(last, /https:[\w./-]+/)
      ),
      replies: 4,
      says: /notes\.example\/d-9/,
      done: ["created Agenda"]
    },
    {
      name: "an index that lags behind a write",
      question: "Add Ada as a contact, and check that she can be found.",
      tools: (world) => [
        plainTool(world, "add_contact", acts("Adds a contact", Schema.String, texts("name", "phone")), ({ name }) => {
          world.done.push(`added ${name}`)
          return "Added."
        }),
        plainTool(
          world,
          "search_contacts",
          reads("Searches the contacts", Schema.Array(Schema.Struct({ name: Schema.String })), texts("name")),
          ({ name }, times) => times < 3 ? [] : [{ name }]
        )
      ],
      model: writeThenRead(
        ["add_contact", { name: "Ada", phone: "555-0101" }],
        () => ["search_contacts", { name: "Ada" }],
        (last) => /"name":"Ada"/.test(last) ? "Ada is added, and can be found." : undefined
      ),
      replies: 5,
      says: /can be found/,
      done: ["added Ada"]
    },
    {
      name: "a draft that is saved once its lock is gone",
      question: "Save the draft.",
      tools: (world) => [
        plainTool(
          world,
          "save_draft",
          acts("Saves a draft, in place of the one before", Schema.String, texts("text"), { sideEffect: "idempotent" }),
          ({ text }, times) => {
            if (times < 3) throw new Error("Resource temporarily locked by another editor, please try again")
            world.done.push(`saved ${text}`)
            return "Saved."
          }
        )
      ],
      model: until("save_draft", { text: "Dear all" }, (results) => find(results.at(-1)!, /Saved/)),
      replies: 4,
      says: /Saved/,
      done: ["saved Dear all"]
    },
    {
      name: "an order that can be changed once nobody else edits it",
      question: "Add a lamp to order o-7.",
      // The refusals are seen on the wire, so nothing was done.
      service: ({ times }) => (response) =>
        times < 3
          ? void response.writeHead(423).end("Order o-7 is locked by another user. Try again in a few seconds.")
          : answerWith({ ok: true })(response),
      tools: (world) => [
        plainTool(world, "add_item", acts("Adds an item to an order", Schema.String, texts("order", "item")), async (
          { item, order }
        ) => {
          const response = await fetch(`${world.url}/orders/${order}/items`, { method: "POST", body: item })
          if (!response.ok) throw new Error(await response.text())
          world.done.push(`added ${item}`)
          return `The ${item} is on order ${order}.`
        })
      ],
      model: (request) => {
        const [last] = latest(request)
        if (last === undefined) return ScriptedModel.call("add_item", { order: "o-7", item: "lamp" })
        if (/is on order/.test(last)) return ScriptedModel.text("The lamp is on the order.")
        // It was told to try again, and nothing else.
        return maySoonWork(last) && !isForbidden(last) && resultsOf(request).length < 6
          ? ScriptedModel.call("add_item", { order: "o-7", item: "lamp" })
          : giveUp(last)
      },
      replies: 4,
      says: /lamp is on the order/,
      done: ["added lamp"]
    }
  ]
}
