/** Results that do not quite fit the declared schema, and are fine. */
import { ScriptedModel } from "@fallible/testing"
import { Schema } from "effect"
import { answer, call, find, steps } from "./reading.ts"
import { acts, type HonestKind, plainTool, reads, texts } from "./scenario.ts"

const Id = Schema.Struct({ id: Schema.String })

export const misfits: HonestKind = {
  kind: "a result does not quite fit",
  scenarios: [
    {
      name: "null in an optional field",
      question: "What is Ada's e-mail address?",
      tools: (world) => [
        plainTool(
          world,
          "get_customer",
          reads(
            "A customer's record",
            Schema.Struct({ id: Schema.String, email: Schema.String, phone: Schema.optionalKey(Schema.String) }),
            texts("id")
          ),
          () => ({ id: "c-17", email: "ada@example.com", phone: null })
        )
      ],
      model: steps(
        call("get_customer", { id: "c-17" }),
        answer((text) => find(text, /\w+@[\w.]+/) ?? "There is no address.")
      ),
      replies: 2,
      says: /^ada@example\.com$/
    },
    {
      name: "a price that is a text",
      question: "How much is one share of ACME?",
      tools: (world) => [
        plainTool(
          world,
          "get_quote",
          reads(
            "The price of a share",
            Schema.Struct({ price: Schema.Finite, currency: Schema.String }),
            texts("symbol")
          ),
          () => ({ price: "231.50", currency: "EUR" })
        )
      ],
      model: steps(
        call("get_quote", { symbol: "ACME" }),
        answer((text) => find(text, /"price":"?([\d.]+)/) ?? "unknown")
      ),
      replies: 2,
      says: /^231\.50?$/
    },
    {
      name: "an id that is a number, and is used by the next call",
      question: "Close the ticket about the broken printer.",
      tools: (world) => [
        plainTool(
          world,
          "find_ticket",
          reads("Finds a ticket", Schema.Struct({ id: Schema.String, title: Schema.String }), texts("words")),
          () => ({ id: 48213, title: "The printer is broken" })
        ),
        plainTool(world, "close_ticket", acts("Closes a ticket", Schema.String, texts("id")), ({ id }) => {
          world.done.push(`closed ${id}`)
          return `Ticket ${id} is closed.`
        })
      ],
      model: steps(
        call("find_ticket", { words: "printer" }),
        ([ticket = ""]) => ScriptedModel.call("close_ticket", { id: find(ticket, /"id":"?(\d+)/) ?? "unknown" }),
        answer((text) => text)
      ),
      replies: 3,
      says: /48213 is closed/,
      done: ["closed 48213"]
    },
    {
      name: "a deletion that returns nothing",
      question: "Delete report-old.pdf.",
      tools: (world) => [
        plainTool(
          world,
          "delete_file",
          acts("Deletes a file", Schema.Struct({ deleted: Schema.Boolean }), texts("path")),
          ({ path }) => void world.done.push(`deleted ${path}`)
        )
      ],
      model: steps(
        call("delete_file", { path: "report-old.pdf" }),
        answer((text) => /fail|invalid|wrong/i.test(text) ? "I am not sure that it is deleted." : "It is deleted.")
      ),
      replies: 2,
      says: /^It is deleted/,
      done: ["deleted report-old.pdf"]
    },
    {
      name: "a deletion that is answered with 204",
      question: "Remove the webhook wh-3.",
      service: () => (response) => void response.writeHead(204).end(),
      tools: (world) => [
        plainTool(
          world,
          "remove_webhook",
          acts("Removes a webhook", Id, texts("id")),
          async ({ id }) => {
            const response = await fetch(`${world.url}/webhooks/${id}`, { method: "DELETE" })
            if (!response.ok) throw new Error(`The service answered ${response.status}`)
            world.done.push(`removed ${id}`)
            return response.status === 204 ? null : response.json()
          }
        )
      ],
      model: steps(
        call("remove_webhook", { id: "wh-3" }),
        answer((text) => /fail|invalid|wrong/i.test(text) ? "I am not sure that it is removed." : "It is removed.")
      ),
      replies: 2,
      says: /^It is removed/,
      done: ["removed wh-3"]
    },
    {
      name: "a status that is new",
      question: "What is the status of order o-7?",
      tools: (world) => [
        plainTool(
          world,
          "get_order",
          reads(
            "An order",
            Schema.Struct({ id: Schema.String, status: Schema.Literals(["open", "shipped", "cancelled"]) }),
            texts("id")
          ),
          ({ id }) => ({ id, status: "partially_shipped" })
        )
      ],
      model: steps(
        call("get_order", { id: "o-7" }),
        answer((text) => `It is ${find(text, /"status":"(\w+)"/) ?? "unknown"}.`)
      ),
      replies: 2,
      says: /partially_shipped/
    },
    {
      name: "a required field is missing, and another one was asked for",
      question: "When does LH400 leave?",
      tools: (world) => [
        plainTool(
          world,
          "get_flight",
          reads(
            "A flight of today",
            Schema.Struct({ number: Schema.String, departs: Schema.String, gate: Schema.String }),
            texts("number")
          ),
          // A gate is named only an hour before.
          ({ number }) => ({ number, departs: "10:25" })
        )
      ],
      model: steps(
        call("get_flight", { number: "LH400" }),
        answer((text) => find(text, /\d\d:\d\d/) ?? "I do not know.")
      ),
      replies: 2,
      says: /10:25/
    },
    {
      name: "'true' for a boolean",
      question: "Book the small room if it is free.",
      tools: (world) => [
        plainTool(
          world,
          "is_free",
          reads("Is a room free?", Schema.Struct({ room: Schema.String, free: Schema.Boolean }), texts("room")),
          ({ room }) => ({ room, free: "true" })
        ),
        plainTool(world, "book_room", acts("Books a room", Schema.String, texts("room")), ({ room }) => {
          world.done.push(`booked ${room}`)
          return `${room} is booked.`
        })
      ],
      model: steps(
        call("is_free", { room: "small" }),
        ([free = ""]) =>
          /"free":"?true/.test(free)
            ? ScriptedModel.call("book_room", { room: "small" })
            : ScriptedModel.text("It is taken."),
        answer((text) => text)
      ),
      replies: 3,
      says: /small is booked/,
      done: ["booked small"]
    },
    {
      name: "a Date for a text",
      question: "When was the repository created?",
      tools: (world) => [
        plainTool(
          world,
          "get_repository",
          reads("A repository", Schema.Struct({ name: Schema.String, created: Schema.String }), texts("name")),
          ({ name }) => ({ name, created: new Date("2026-03-04T10:00:00Z") })
        )
      ],
      model: steps(
        call("get_repository", { name: "site" }),
        answer((text) => find(text, /\d{4}-\d\d-\d\d/) ?? "unknown")
      ),
      replies: 2,
      says: /2026-03-04/
    },
    {
      name: "texts for numbers and nulls, deep in a list",
      question: "How many bolts are on invoice 12?",
      tools: (world) => [
        plainTool(
          world,
          "get_invoice",
          reads(
            "An invoice with its lines",
            Schema.Struct({
              number: Schema.Int,
              lines: Schema.Array(Schema.Struct({
                article: Schema.String,
                quantity: Schema.Int,
                note: Schema.optionalKey(Schema.String)
              }))
            }),
            texts("number")
          ),
          () => ({
            number: "12",
            lines: [
              { article: "nut", quantity: "40", note: null },
              { article: "bolt", quantity: "36", note: null },
              { article: "washer", quantity: "80", note: "galvanized" }
            ]
          })
        )
      ],
      model: steps(
        call("get_invoice", { number: "12" }),
        answer((text) => `${find(text, /"bolt","quantity":"?(\d+)/) ?? "unknown"} bolts`)
      ),
      replies: 2,
      says: /^36 bolts/
    },
    {
      name: "one item for a list",
      question: "What is Grace's phone number?",
      tools: (world) => [
        plainTool(
          world,
          "search_contacts",
          reads(
            "Searches the contacts",
            Schema.Array(Schema.Struct({ name: Schema.String, phone: Schema.String })),
            texts("name")
          ),
          // Converters from XML do that.
          () => ({ name: "Grace", phone: "555-0142" })
        )
      ],
      model: steps(
        call("search_contacts", { name: "Grace" }),
        answer((text) => find(text, /555-\d+/) ?? "I did not find her.")
      ),
      replies: 2,
      says: /555-0142/
    },
    {
      name: "a number for a text",
      question: "How many rows does the table visits have?",
      tools: (world) => [
        plainTool(
          world,
          "run_query",
          reads("Runs a query that returns one value", Schema.String, texts("sql")),
          () => 1280
        )
      ],
      model: steps(
        call("run_query", { sql: "select count(*) from visits" }),
        answer((text) => find(text, /\d+/) ?? "unknown")
      ),
      replies: 2,
      says: /^1280$/
    }
  ]
}
