/**
 * Example 6: a program of the AI SDK, before and after, with faults of the services and mistakes of the model. The services, the
 * model and its provider's package are real HTTP.
 */
import { assert, describe, it } from "@effect/vitest"
import { faults } from "@fallible/examples/06-from-the-ai-sdk/faults"
import { program } from "@fallible/examples/06-from-the-ai-sdk/program"
import { Effect } from "effect"
import { readFileSync } from "node:fs"
import { join } from "node:path"
import * as InProcess from "../support/inProcess.ts"
import { root } from "../support/program.ts"
import { firstCall, type Mistake, travel, type Travelled } from "../support/travels.ts"

const paid = "Flight DY1872 is booked (b-1), and 129 euros are paid (ch_1)."
const confirmed = `${paid} A confirmation is on its way.`

interface Expected {
  readonly fault?: keyof typeof faults
  readonly mistake?: () => Mistake
  /** What the customer reads last. */
  readonly says: string
  /** What the customer reads before that, from the agent. The AI SDK's loop has only the failures that remain. */
  readonly explains?: string
  /** What the model reads of the call that went wrong, in part. Absent if it reads only results. */
  readonly told?: string
  readonly mails?: number
  /** How many bookings there are in their loop once the answer was regenerated. Default: 1. */
  readonly rebooked?: number
}

const reworded = (args: string | undefined): string => (args ?? "").replace("Flight", "Your flight")

const retried = { says: confirmed, explains: "Your card is charged once. It took more than one try." }

const cases: Readonly<Record<string, Expected>> = {
  "the card is charged, and the connection is reset": { fault: "lost", ...retried },
  "the connection is reset before the charge": { fault: "unreached", ...retried },
  "the card is charged, and the answer is a 500": { fault: "failed", ...retried },
  "a 503, and no charge": { fault: "unavailable", ...retried },
  "a 429 with a Retry-After": { fault: "busy", ...retried },
  "the card is charged, and no answer comes": { fault: "slow", ...retried },
  "the model charges again, in other words": {
    mistake: () =>
      firstCall("sendConfirmation", (call) => [{
        ...call,
        name: "chargeCard",
        arguments: JSON.stringify({ booking: "b-1", euros: 129, note: "As agreed" })
      }]),
    says: confirmed,
    explains: "It had been done before, so it was not done again.",
    told: "it has already been done"
  },
  "the model charges twice in one step": {
    mistake: () =>
      firstCall("chargeCard", (call) => [call, { ...call, id: "again", arguments: reworded(call.arguments) }]),
    says: confirmed,
    explains: "It was asked for twice, and done only once.",
    told: "it ran once"
  },
  "single quotes and a trailing comma": {
    mistake: () =>
      firstCall("chargeCard", (call) => [{
        ...call,
        arguments: (call.arguments ?? "").replaceAll("\"", "'").replace("}", ",}")
      }]),
    says: confirmed
  },
  "a call that is cut off": {
    mistake: () => firstCall("chargeCard", (call) => [{ ...call, arguments: (call.arguments ?? "").slice(0, -6) }]),
    says: confirmed,
    explains: "It did not work.",
    told: "Send the complete arguments again"
  },
  "a flight that is sold out": {
    fault: "full",
    // Their messages forget what was regenerated. The seat is free again by then, and another flight is another effect.
    rebooked: 2,
    says: "Flight SK4713 is booked (b-1), and 164 euros are paid (ch_1). A confirmation is on its way.",
    explains: "It did not work.",
    told: "sold out"
  },
  "a mail service that is down": {
    fault: "no-mail",
    mails: 0,
    says: `${paid} I do not know whether this was done: sendConfirmation.`,
    explains: "It may have been done. That is not known for sure.",
    told: "it may already have taken effect"
  }
}

const play = (name: Parameters<typeof travel>[0], { fault, mistake }: Expected) =>
  travel(name, {
    ...(fault === undefined ? {} : { fault: faults[fault] }),
    ...(mistake === undefined ? {} : { mistake: mistake() }),
    ...(fault === "slow" ? { timeout: 500 } : {})
  })

/** The facts that hold in any loop. */
const demand = ({ afterwards, charges, mails, reads, told }: Travelled, expected: Expected, bookings = 1) => {
  assert.deepStrictEqual(charges.map(({ booking, id }) => [booking, id]), [["b-1", "ch_1"]])
  assert.strictEqual(mails.length, expected.mails ?? 1)
  assert.include(reads.at(-1) ?? "", expected.says)
  assert.include(told.join("\n"), expected.told ?? "")
  assert.deepStrictEqual(afterwards, { bookings, charges: 1, mails: expected.mails ?? 1 })
}

describe("the tools in an agent", () => {
  for (const [name, expected] of Object.entries(cases)) {
    it.live(name, () =>
      Effect.gen(function*() {
        const played = yield* play("after", expected)
        demand(played, expected)
        assert.deepStrictEqual(played.reads.slice(0, -1), expected.explains === undefined ? [] : [expected.explains])
        assert.strictEqual(played.approvals.length, 1)
      }))
  }
})

describe("the tools under Fallible, in the loop of the AI SDK", () => {
  for (const [name, expected] of Object.entries(cases)) {
    it.live(name, () =>
      Effect.gen(function*() {
        const played = yield* play("afterInTheirLoop", expected)
        demand(played, expected, expected.rebooked)
        const remains = expected.told !== undefined && expected.told !== "it ran once"
        assert.deepStrictEqual(played.reads.slice(0, -1), remains ? [expected.explains] : [])
      }))
  }
})

describe("the AI SDK alone", () => {
  const charged = (name: keyof typeof cases, by: "before" | "keyedByHand") =>
    Effect.map(play(by, cases[name]!), ({ charges }) => charges.length)

  it.live("with a key for each call, charges twice where the answer is lost, and where the model says it twice", () =>
    Effect.gen(function*() {
      assert.strictEqual(yield* charged("the card is charged, and the connection is reset", "before"), 2)
      assert.strictEqual(yield* charged("the card is charged, and the answer is a 500", "before"), 2)
      assert.strictEqual(yield* charged("the model charges again, in other words", "before"), 2)
      assert.strictEqual(yield* charged("the model charges twice in one step", "before"), 2)
    }))

  it.live("with a key for each booking, charges once, and tells the customer that it failed", () =>
    Effect.gen(function*() {
      const { charges, reads } = yield* play("keyedByHand", cases["the card is charged, and the connection is reset"]!)
      assert.strictEqual(charges.length, 1)
      assert.include(reads.at(-1) ?? "", "I could not do this: chargeCard.")
    }))
})

describe("an answer that is regenerated", () => {
  it.live("is booked again by the AI SDK alone, and not under Fallible", () =>
    Effect.gen(function*() {
      const names = ["before", "after", "afterInTheirLoop"] as const
      const played = yield* Effect.forEach(names, (name) => travel(name, {}))
      assert.deepStrictEqual(played.map(({ afterwards }) => afterwards.bookings), [2, 1, 1])
    }))
})

describe("the command", () => {
  it.live("prints what the guide shows", () =>
    Effect.gen(function*() {
      const { code, stderr, stdout } = yield* InProcess.run(program)
      assert.deepStrictEqual([code, stderr], [0, ""])
      const guide = readFileSync(join(root, "docs/from-the-ai-sdk.md"), "utf8")
      const shown = /^```text\n([\s\S]*?)```$/m.exec(guide)?.[1] ?? assert.fail("The guide shows no output.")
      assert.strictEqual(stdout.slice(stdout.indexOf("\n\n") + 2), shown)
    }))
})
