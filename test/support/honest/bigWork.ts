/** Work that is slow or big, and honest. */
import { ScriptedModel } from "@fallible/testing"
import { Schema } from "effect"
import { suggestedCalls } from "../heeding.ts"
import { answer, call, find, latest, resultsOf, type Step, steps } from "./reading.ts"
import { acts, type HonestKind, type HonestScenario, type Model, plainTool, reads, texts } from "./scenario.ts"

/** A report that takes some seconds to be read. */
const slowRead = (seconds: number): HonestScenario => ({
  name: `a read of ${seconds} seconds`,
  question: "What was the revenue of the last quarter?",
  tools: (world) => [
    plainTool(
      world,
      "revenue_report",
      reads("Computes the revenue of a quarter", Schema.String, texts("quarter")),
      async () => {
        await world.hold(seconds * 1000)
        return "Revenue: 1,204,000"
      }
    )
  ],
  model: steps(call("revenue_report", { quarter: "2026-Q1" }), answer((text) => find(text, /[\d,]{5,}/) ?? "unknown")),
  replies: 2,
  says: /1,204,000/,
  time: seconds * 1000
})

/** A checklist: each step is a call of its own, and acts. */
const checklist = (turns: number): HonestScenario => {
  const names = Array.from({ length: turns }, (_, index) => `room ${index + 1}`)
  return {
    name: `a task of ${turns} turns`,
    question: `Set the heating of all ${turns} rooms to 19 degrees, one by one.`,
    tools: (world) => [
      plainTool(
        world,
        "set_heating",
        acts("Sets the heating of one room", Schema.String, texts("room", "celsius")),
        ({ room }) => {
          world.done.push(room)
          return `${room} is set to 19.`
        }
      )
    ],
    model: steps(
      ...names.map((room) => call("set_heating", { room, celsius: "19" })),
      (results) => ScriptedModel.text(`${results.filter((text) => /is set to 19/.test(text)).length} rooms are set.`)
    ),
    replies: turns + 1,
    says: new RegExp(`^${turns} rooms`),
    done: names
  }
}

/** An investigation: each step looks at another file, and only the last one has the cause. */
const investigation = (turns: number): HonestScenario => ({
  name: `a search through ${turns} files`,
  question: "Which file sets the colour of the footer? Follow the imports.",
  tools: (world) => [
    plainTool(
      world,
      "read_file",
      reads("Reads a file", Schema.String, texts("path")),
      ({ path }) => {
        const at = Number(find(path, /\d+/) ?? 0)
        return at < turns ? `@import "part${at + 1}.css";` : "footer { color: teal }"
      }
    )
  ],
  model: (request) => {
    const results = resultsOf(request)
    const last = results.at(-1)
    if (last === undefined) return ScriptedModel.call("read_file", { path: "part1.css" })
    const next = find(last, /part\d+\.css/)
    if (/teal/.test(last)) return ScriptedModel.text(`part${results.length}.css sets it: teal.`)
    return next === undefined
      ? ScriptedModel.text("I lost the track.")
      : ScriptedModel.call("read_file", { path: next })
  },
  replies: turns + 1,
  says: new RegExp(`^part${turns}\\.css`)
})

/** A model that needs all of a big result: it reads on as long as it is told how, and then answers. */
const whole = (first: Step, answer: (text: string) => string | undefined, otherwise: string): Model => (request) => {
  const results = resultsOf(request)
  if (results.length === 0) return first([])
  const found = answer(results.join("\n"))
  if (found !== undefined) return ScriptedModel.text(found)
  const more = latest(request).flatMap(suggestedCalls).find(([name]) => name === "read_more")
  return more === undefined || results.length > 8 ? ScriptedModel.text(otherwise) : ScriptedModel.call(...more)
}

const clause = "The notice period is eleven weeks."

export const bigWork: HonestKind = {
  kind: "slow or big work",
  scenarios: [
    slowRead(12),
    slowRead(25),
    {
      name: "a deployment of 15 seconds",
      question: "Deploy version 4.2 to staging.",
      tools: (world) => [
        plainTool(
          world,
          "deploy",
          acts("Deploys a version", Schema.String, texts("version", "stage")),
          async ({ stage, version }) => {
            await world.hold(15_000)
            world.done.push(`deployed ${version}`)
            return `${version} is live on ${stage}.`
          }
        )
      ],
      model: steps(
        call("deploy", { version: "4.2", stage: "staging" }),
        answer((text) => /is live/.test(text) ? "Version 4.2 is live on staging." : "I am not sure that it is live.")
      ),
      replies: 2,
      says: /^Version 4\.2 is live/,
      done: ["deployed 4.2"],
      time: 15_000
    },
    checklist(14),
    investigation(15),
    checklist(21),
    {
      name: "a list of 120 KB, whose needed item is near its end",
      question: "What is the part number of the left rear hinge?",
      tools: (world) => [
        plainTool(
          world,
          "list_parts",
          reads(
            "Lists all parts of a model",
            Schema.Array(Schema.Struct({ number: Schema.String, name: Schema.String, note: Schema.String })),
            texts("model")
          ),
          () =>
            Array.from({ length: 900 }, (_, index) => ({
              number: `P-${4000 + index}`,
              name: index === 880 ? "hinge, rear, left" : `part ${index}`,
              note: "Order at the main depot; delivery takes three to five days, and longer in August."
            }))
        )
      ],
      model: whole(
        call("list_parts", { model: "T2" }),
        (text) => find(text.replaceAll("\\\"", "\""), /"number":"(P-\d+)","name":"hinge, rear, left"/),
        "It is not on the list."
      ),
      replies: 2,
      says: /^P-4880$/
    },
    {
      name: "a list of 1,500 short items, of which one is missing",
      question: "Which receipt number between 1 and 1,500 is missing?",
      tools: (world) => [
        plainTool(
          world,
          "list_receipts",
          reads("Lists the numbers of all receipts", Schema.Array(Schema.Int)),
          () => Array.from({ length: 1500 }, (_, index) => index + 1).filter((number) => number !== 1377)
        )
      ],
      model: whole(
        call("list_receipts"),
        (text) => {
          const seen = new Set(Array.from(text.matchAll(/\d+/g), ([digits]) => Number(digits)))
          const missing = Array.from({ length: 1500 }, (_, index) => index + 1).filter((number) => !seen.has(number))
          return missing.length === 1 ? `Number ${missing[0]} is missing.` : undefined
        },
        "I saw only a part of the list."
      ),
      replies: 2,
      says: /^Number 1377 /
    },
    {
      name: "a document of 90 KB, whose needed sentence is in its last third",
      question: "How long is the notice period in the contract?",
      tools: (world) => [
        plainTool(
          world,
          "read_document",
          reads("Reads a document", Schema.String, texts("name")),
          () => {
            const filler = "The parties agree that this section changes nothing in the sections before it. "
            return `${filler.repeat(850)}${clause} ${filler.repeat(290)}`
          }
        )
      ],
      model: whole(
        call("read_document", { name: "contract" }),
        (text) => find(text, /notice period is (\w+ weeks)/),
        "The contract does not say."
      ),
      replies: 2,
      says: /^eleven weeks$/
    }
  ]
}
