/** Acting calls of one turn. Those that are independent need not wait for each other; those that are not must. */
import { ScriptedModel } from "@fallible/testing"
import { Schema } from "effect"
import { answer, call, find, steps } from "./reading.ts"
import { acts, type HonestKind, type HonestWorld, plainTool, reads, texts } from "./scenario.ts"

const recipients = ["Ada", "Grace", "Alan", "Edsger", "Barbara", "Donald"]

const sending = (world: HonestWorld) =>
  plainTool(
    world,
    "send_message",
    acts("Sends a message", Schema.String, texts("to", "text"), { identity: ({ to }) => to }),
    async ({ to }) => {
      await world.hold(600)
      if (to === "Nobody") throw new Error("There is no mailbox 'Nobody'.")
      world.done.push(`to ${to}`)
      return `Sent to ${to}.`
    }
  )

const sendAll = (names: ReadonlyArray<string>) => () =>
  ScriptedModel.calls(names.map((to) => ["send_message", { to, text: "We meet at nine." }] as const))

/** How many results say that a message was sent. */
const sent = (results: ReadonlyArray<string>) =>
  ScriptedModel.text(`${results.filter((text) => /Sent to/.test(text)).length} messages are sent.`)

export const independentCalls: HonestKind = {
  kind: "acting calls of one turn",
  scenarios: [
    {
      name: "six messages to six people",
      question: "Tell all six that we meet at nine.",
      tools: (world) => [sending(world)],
      model: steps(sendAll(recipients), sent),
      replies: 2,
      says: /^6 messages/,
      done: recipients.map((to) => `to ${to}`),
      time: 600
    },
    {
      name: "six messages, of which one has no recipient",
      question: "Tell all of them that we meet at nine.",
      tools: (world) => [sending(world)],
      // A failure of one call is no reason to give up.
      model: (request) =>
        request.messages.length === 1
          ? sendAll(["Ada", "Grace", "Nobody", "Alan", "Edsger", "Barbara"])()
          : sent(request.messages.flatMap((message) => message.role === "tool" ? [message.text] : [])),
      replies: 2,
      says: /^5 messages/,
      done: ["to Ada", "to Grace", "to Alan", "to Edsger", "to Barbara"],
      time: 600
    },
    {
      name: "four lamps, each of which may be set again",
      question: "Switch all lamps off.",
      tools: (world) => [
        plainTool(
          world,
          "set_lamp",
          acts("Sets one lamp", Schema.String, texts("lamp", "to"), {
            sideEffect: "idempotent",
            identity: ({ lamp }) => lamp
          }),
          async ({ lamp, to }) => {
            await world.hold(600)
            world.done.push(`${lamp} ${to}`)
            return `The ${lamp} lamp is ${to}.`
          }
        )
      ],
      model: steps(
        () =>
          ScriptedModel.calls(
            ["hall", "desk", "shelf", "door"].map((lamp) => ["set_lamp", { lamp, to: "off" }] as const)
          ),
        (results) => ScriptedModel.text(`${results.filter((text) => /is off/.test(text)).length} lamps are off.`)
      ),
      replies: 2,
      says: /^4 lamps/,
      done: ["hall off", "desk off", "shelf off", "door off"],
      time: 600
    },
    {
      name: "three reservations of different rooms, and then their confirmation",
      question: "Reserve the three rooms, and confirm all reservations.",
      tools: (world) => [
        plainTool(
          world,
          "reserve",
          acts("Reserves a room", Schema.Struct({ reservation: Schema.String }), texts("room"), {
            identity: ({ room }) => room
          }),
          async ({ room }) => {
            await world.hold(600)
            world.done.push(`reserved ${room}`)
            return { reservation: `r-${room}` }
          }
        ),
        plainTool(
          world,
          "confirm",
          acts("Confirms reservations", Schema.String, Schema.Struct({ reservations: Schema.Array(Schema.String) })),
          async ({ reservations }) => {
            await world.hold(600)
            world.done.push(`confirmed ${reservations.join(" ")}`)
            return `${reservations.length} reservations are confirmed.`
          }
        )
      ],
      model: steps(
        () => ScriptedModel.calls(["A1", "B2", "C3"].map((room) => ["reserve", { room }] as const)),
        (results) =>
          ScriptedModel.call("confirm", {
            reservations: results.flatMap((text) => find(text, /"reservation":"([\w-]+)"/) ?? [])
          }),
        answer((text) => text)
      ),
      replies: 3,
      says: /3 reservations are confirmed/,
      done: ["reserved A1", "reserved B2", "reserved C3", "confirmed r-A1 r-B2 r-C3"],
      time: 1200
    },
    {
      // The look-alike: nothing says that these are independent. A loop that runs both at once loses the order.
      name: "two changes of one record, the first of which takes longer",
      question: "Rename the page to 'Draft', and then to 'Final'.",
      tools: (world) => [
        plainTool(
          world,
          "rename_page",
          acts("Renames a page", Schema.String, texts("page", "title")),
          async ({ title }) => {
            await world.hold(title === "Draft" ? 500 : 200)
            world.done.push(title)
            return `The title is ${title}.`
          }
        ),
        plainTool(
          world,
          "get_title",
          reads("The title of a page", Schema.String, texts("page")),
          () => world.done.at(-1)
        )
      ],
      model: steps(
        () =>
          ScriptedModel.calls(
            ["rename_page", { page: "p-1", title: "Draft" }],
            ["rename_page", { page: "p-1", title: "Final" }]
          ),
        call("get_title", { page: "p-1" }),
        answer((text) => `The title is now ${find(text, /Draft|Final/) ?? "unknown"}.`)
      ),
      replies: 3,
      says: /now Final/,
      done: ["Draft", "Final"],
      plainIsWrong: true,
      time: 700
    }
  ]
}
