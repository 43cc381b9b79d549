/** A call that repeats one in doubt: its check is asked about the earlier call, with the arguments of that call. */
import { assert, describe, it } from "@effect/vitest"
import { Agent, Tool, Toolkit, ToolUnavailable } from "@fallible/core"
import * as CallFacts from "@fallible/core/CallFacts"
import { ScriptedModel } from "@fallible/testing"
import { Effect, Logger, Option, Schedule, Schema } from "effect"
import * as fc from "fast-check"
import { runs } from "../support/runs.ts"

const lost = new ToolUnavailable({ code: "connection", detail: "Reset.", transient: true })
const Booking = Schema.Struct({ room: Schema.String, note: Schema.String })
const noted = (note: string) => ({ room: "12", note })

const full = new ToolUnavailable({ code: "full", detail: "Full.", transient: true, outcome: "not_executed" })

/**
 * A service that knows no keys. Its answers and its looks may be lost. A look compares all arguments, also those that the
 * identity ignores.
 *
 * @param posts what happens to each booking; then, all succeed
 * @param looks whether each look is answered; then, all are
 */
const service = (
  posts: ReadonlyArray<"lost" | "booked_and_lost" | "booked" | "full">,
  looks: ReadonlyArray<boolean>
) => {
  const booked: Array<string> = []
  const asked: Array<string> = []
  const posting = [...posts]
  const tool = (parameters: Schema.Codec<typeof Booking.Type, typeof Booking.Encoded>) =>
    Tool.make(
      "book_room",
      { description: "Books a room", parameters, success: Schema.String, identity: ({ room }) => room, repeats: false },
      ({ note }) =>
        Effect.suspend(() => {
          const what = posting.shift() ?? "booked"
          if (what === "full") return Effect.fail(full)
          if (what !== "lost") booked.push(note)
          return what === "booked" ? Effect.succeed("Booked.") : Effect.fail(lost)
        })
    ).pipe(
      Tool.reconcile(({ note }) =>
        Effect.suspend(() => {
          asked.push(note)
          if (looks[asked.length - 1] === false) return Effect.fail(lost)
          return Effect.succeed(booked.includes(note) ? Option.some("Booked.") : Option.none())
        }), { final: true })
    )
  return { tool: tool(Booking), other: tool, booked, asked }
}

/** Books twice, if it is asked twice, and both answers are lost. Its first look is lost, too. */
const lossy = () => service(["booked_and_lost", "booked_and_lost"], [false])

const asking = (tool: ReturnType<typeof service>["tool"], notes: ReadonlyArray<string>, facts?: CallFacts.CallFacts) =>
  Agent.make({ toolkit: Toolkit.make(tool) }).run("Book room 12.", { scope: "c-1", facts: facts ?? CallFacts.empty })
    .pipe(
      Effect.provide(ScriptedModel.layer([
        ...notes.map((note) => ScriptedModel.call("book_room", noted(note))),
        ScriptedModel.text("Done.")
      ]))
    )

const stored = (facts: CallFacts.CallFacts) => {
  const json = Schema.fromJsonString(CallFacts.schema)
  return Schema.decodeSync(json)(Schema.encodeSync(json)(facts))
}

const long = "Late arrival. ".repeat(200)

describe("a check of a call that repeats one in doubt", () => {
  it.effect("has the arguments of the earlier call, in the same run", () =>
    Effect.gen(function*() {
      const { asked, booked, tool } = lossy()
      const { facts } = yield* asking(tool, ["late", "arrives late"])
      assert.deepStrictEqual([booked, asked], [["late"], ["late", "late"]])
      assert.deepStrictEqual(CallFacts.inDoubt(facts), [])
    }))

  it.effect("has them in a later run, from stored facts, however long they are", () =>
    Effect.gen(function*() {
      const { asked, booked, tool } = lossy()
      const { facts } = yield* asking(tool, [long])
      const later = yield* asking(tool, ["arrives late"], stored(facts))
      assert.deepStrictEqual([booked, asked], [[long], [long, long]])
      assert.deepStrictEqual(CallFacts.inDoubt(later.facts), [])
    }))

  it.effect("has those of the call that ran last, if a check had proved that the one before did nothing", () =>
    Effect.gen(function*() {
      const { asked, booked, tool } = service(["lost", "booked_and_lost", "booked_and_lost"], [false, true, false])
      const retried = Tool.retry(tool, Schedule.recurs(1))
      const { facts } = yield* asking(retried, ["late", "arrives late", "again"])
      assert.deepStrictEqual(booked, ["arrives late"])
      assert.deepStrictEqual(asked, ["late", "late", "arrives late", "arrives late"])
      assert.deepStrictEqual(CallFacts.inDoubt(facts), [])
    }))

  it.effect("does not run, if the tool no longer reads the earlier arguments as they were", () =>
    Effect.gen(function*() {
      const { asked, booked, other, tool } = lossy()
      const { facts } = yield* asking(tool, [" late "])
      for (const note of [Schema.String.check(Schema.isMinLength(7)), Schema.Trim]) {
        const { report } = yield* asking(
          other(Schema.Struct({ ...Booking.fields, note })),
          ["arrives late"],
          stored(facts)
        )
        assert.deepStrictEqual(report.failures.map(({ code }) => code), ["repeated_call"])
      }
      assert.deepStrictEqual([booked, asked], [[" late "], [" late "]])
    }))
})

const history = fc.record({
  posts: fc.array(fc.constantFrom("lost", "booked_and_lost", "booked", "full"), { minLength: 1, maxLength: 8 }),
  looks: fc.array(fc.boolean(), { maxLength: 12 }),
  runs: fc.array(fc.array(fc.constantFrom("a", "b", "c"), { minLength: 1, maxLength: 4 }), {
    minLength: 1,
    maxLength: 3
  }),
  isRetried: fc.boolean()
})

describe("a service whose answers and looks are lost", () => {
  const histories = runs(2_000)
  it(`books once for whatever a model says, in ${histories} random histories`, () =>
    fc.assert(
      fc.asyncProperty(history, ({ isRetried, looks, posts, runs }) =>
        Effect.gen(function*() {
          const { booked, tool } = service(posts, looks)
          const used = isRetried ? Tool.retry(tool, Schedule.recurs(1)) : tool
          let facts = CallFacts.empty
          for (const notes of runs) facts = stored((yield* asking(used, notes, facts)).facts)
          assert.isAtMost(booked.length, 1)
        }).pipe(Effect.provide(Logger.layer([])), Effect.runPromise)),
      { numRuns: histories }
    ))
})
