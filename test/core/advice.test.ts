/**
 * The advice to a model never contradicts itself: `hint` and `retry`, in both renderings, for every failure
 * that this library makes.
 *
 * Each failure goes through a dispatch and the budget of a run, for tools of every kind. Rules check the
 * text that the model reads, without the detail. A rule is a pair: a saying, and another one that must not
 * occur beside it.
 */
import { assert, describe, it } from "@effect/vitest"
import { type ToolFailure, ToolUnavailable } from "@fallible/core"
import * as Rendering from "@fallible/core/Rendering"
import type * as ToolOutcome from "@fallible/core/ToolOutcome"
import { Effect } from "effect"
import { readFileSync } from "node:fs"
import { join } from "node:path"
import { call, called, detail, failedOutcomes, subject } from "../support/failedOutcomes.ts"
import { root } from "../support/program.ts"

// -----------------------------------------------------------------------------
// The rules
// -----------------------------------------------------------------------------

const sayings = {
  again:
    /(?<!not )\bcall (it|\w+) again\b|\bcall again\b|Send the complete arguments again|Arguments to continue with/i,
  elsewhere: /\bCall [\w ]+ instead\b|\buse another (one|tool)\b/i,
  check: /to find out|Find out whether it has|tell the user/,
  otherArguments: /Use other arguments|Call again with (different|corrected)|Valid choices/,
  isGone: /Do not call this tool again/,
  notNow: /Do not call it again (now|within)/,
  notTheSame: /Do not repeat this call/,
  isDone: /it has already taken effect/,
  isInDoubt: /\bmay already have taken effect|may have taken effect anyway/i,
  isUnproved: /no proof that nothing was done/,
  noMoreCalls: /Answer with what you have|Use the results that you have/,
  inVain: /would refuse the same request again|does not support this kind/
}

type Saying = keyof typeof sayings

/** Pairs of sayings: a text with the first never has the second. */
const rules: ReadonlyArray<readonly [Saying, Saying]> = [
  ["isGone", "again"],
  ["isGone", "otherArguments"],
  ["notNow", "again"],
  ["notNow", "otherArguments"],
  ["isDone", "again"],
  ["isDone", "elsewhere"],
  ["isDone", "check"],
  ["isInDoubt", "again"],
  ["isInDoubt", "elsewhere"],
  ["isInDoubt", "otherArguments"],
  ["isUnproved", "isInDoubt"],
  ["isUnproved", "again"],
  ["isUnproved", "elsewhere"],
  ["isUnproved", "notNow"],
  ["noMoreCalls", "again"],
  ["noMoreCalls", "elsewhere"],
  ["noMoreCalls", "otherArguments"],
  ["inVain", "notNow"]
]

const saysOf = (text: string): ReadonlySet<Saying> =>
  new Set((Object.keys(sayings) as ReadonlyArray<Saying>).filter((saying) => sayings[saying].test(text)))

/** Lists the rules that a model's text about a failure breaks. */
const broken = (text: string, failure: ToolFailure.ToolFailure, certainty: string): ReadonlyArray<string> => {
  const found = saysOf(text)
  const isPermanent = failure._tag === "ToolUnavailable" && !failure.transient
  const isOfArguments = isPermanent && failure.scope === "arguments"
  return [
    ...rules.flatMap(([one, other]) => found.has(one) && found.has(other) ? [`${one}, and ${other}`] : []),
    ...(found.has("isGone") && (!isPermanent || isOfArguments) ? ["isGone, of a tool that is not"] : []),
    ...(isOfArguments && !found.has("notTheSame") ? ["nothing of these arguments"] : []),
    ...(certainty === "unknown" && !["isInDoubt", "isDone", "isUnproved"].some((saying) => found.has(saying as Saying))
      ? ["nothing of the doubt"]
      : []),
    ...(/Do not|You may call it again|Use the data|once the earlier call is settled/.test(text)
      ? []
      : ["nothing of what to do"])
  ]
}

// -----------------------------------------------------------------------------
// The model's texts
// -----------------------------------------------------------------------------

/** Returns both renderings, without the detail, which the tool's author writes. */
const readBy = (outcome: ToolOutcome.Failed): ReadonlyArray<string> => {
  const withoutDetail = Object.create(Object.getPrototypeOf(outcome.failure), {
    ...Object.getOwnPropertyDescriptors(outcome.failure),
    detail: { value: "", enumerable: true }
  })
  const rendered = { ...outcome, failure: withoutDetail }
  const { alternatives, hint = "", next, retry } = JSON.parse(Rendering.json(rendered, call))
  const json = [
    hint,
    alternatives === undefined || hint !== "" ? "" : "Valid choices:",
    next === undefined ? "" : "Arguments that continue:",
    retry
  ]
  return [json.join(" "), Rendering.prose(rendered, call)]
}

const contradictions = (outcomes: ReadonlyArray<ToolOutcome.ToolOutcome>): ReadonlyArray<string> =>
  outcomes.flatMap((outcome) =>
    outcome._tag === "Failed"
      ? readBy(outcome).flatMap((text) =>
        broken(text, outcome.failure, outcome.certainty).map((why) => `${outcome.failure.code}: ${why}: ${text}`)
      )
      : []
  )

/** Codes that no model sees, because they are handled where they occur; `interrupted` is seen only by a later run. */
const untold = ["interrupted", "halted", "fixer_failed", "asked_user", "too_long"]

/** The codes that this library documents. */
const documented = (): ReadonlyArray<string> => {
  const source = readFileSync(join(root, "packages/core/src/ToolFailure.ts"), "utf8")
  const [, union = ""] = /export type Code =\n((?: {2}\| "\w+"\n)+)/.exec(source) ?? []
  return Array.from(union.matchAll(/"(\w+)"/g), ([, code = ""]) => code)
}

// -----------------------------------------------------------------------------
// The tests
// -----------------------------------------------------------------------------

describe("the advice to a model", () => {
  it.effect("H8 never contradicts itself, whatever failed", () =>
    Effect.gen(function*() {
      assert.deepStrictEqual(Array.from(new Set(contradictions(yield* failedOutcomes))), [])
    }))

  it.effect("is checked for every existing code", () =>
    Effect.gen(function*() {
      const codes = new Set(
        (yield* failedOutcomes).flatMap((outcome) => outcome._tag === "Failed" ? [outcome.failure.code] : [])
      )
      assert.deepStrictEqual(documented().filter((code) => !codes.has(code)), untold)
      assert.isTrue(codes.has("not_run"))
    }))

  // Two failures of one call: the words of the last one are shown.
  it.effect("suggests no other tool after an earlier execution that may have taken effect", () =>
    Effect.gen(function*() {
      const lost = new ToolUnavailable({ code: "timeout", detail, transient: true, outcome: "unknown" })
      const refused = new ToolUnavailable({ code: "connection", detail, transient: true, outcome: "not_executed" })
      const steps = [lost, refused, refused]
      let step = 0
      const tool = subject(
        () => Effect.suspend(() => Effect.fail(steps[step++] ?? refused)),
        { sideEffect: "idempotent", hasOthers: true }
      )
      const outcomes = yield* called(tool)
      const hints = outcomes.map((outcome) => outcome._tag === "Failed" ? outcome.failure.hint : outcome._tag)
      assert.deepStrictEqual(hints, [
        "Call look to find out.",
        "Call mirror instead.",
        "Call mirror instead.",
        "Call look to find out.",
        "Call look to find out.",
        "Call mirror instead."
      ])
      assert.deepStrictEqual(contradictions(outcomes), [])
    }))

  describe("breaks a rule", () => {
    const unavailableAdvice = "Do not call this tool again. Use another one, or answer without it."
    const now = "Already tried 3 times. Do not call it again now; use another tool, or answer without it."
    const doubt =
      "Do not repeat this call: it may already have taken effect. Find out whether it has, or tell the user."
    const done = "Do not repeat this call: it has already taken effect."
    const unproved =
      "Do not repeat this call with the same arguments. The detail is the tool's own words, and no proof that nothing was done."
    const cases: ReadonlyArray<readonly [text: string, rule: string]> = [
      [`Call it again with a smaller 'limit'. ${unavailableAdvice}`, "isGone, and again"],
      [`Send the complete arguments again, as one JSON object. ${unavailableAdvice}`, "isGone, and again"],
      [`Valid choices: 'London'. ${unavailableAdvice}`, "isGone, and otherArguments"],
      [`Call again with page=2. ${now}`, "notNow, and again"],
      [`Use other arguments. ${now}`, "notNow, and otherArguments"],
      [`Arguments to continue with: {"page":2}. ${done}`, "isDone, and again"],
      [`Call mirror instead. ${done}`, "isDone, and elsewhere"],
      [`Call look to find out. ${done}`, "isDone, and check"],
      [`Arguments to continue with: {"page":2}. ${doubt}`, "isInDoubt, and again"],
      [`Call mirror or archive instead. ${doubt}`, "isInDoubt, and elsewhere"],
      [`Valid choices: 'London'. ${doubt}`, "isInDoubt, and otherArguments"],
      [`${unproved} ${doubt}`, "isUnproved, and isInDoubt"],
      [`Call it again with a smaller 'limit'. ${unproved}`, "isUnproved, and again"],
      [`Call mirror instead. ${unproved}`, "isUnproved, and elsewhere"],
      [`${unproved} Do not call it again now.`, "isUnproved, and notNow"],
      ["Use the results that you have. Call it again once the earlier call is settled.", "noMoreCalls, and again"],
      ["Answer with what you have. Call mirror instead. Do not call it again now.", "noMoreCalls, and elsewhere"],
      ["Answer with what you have. Use other arguments.", "noMoreCalls, and otherArguments"],
      [`The service would refuse the same request again. ${now}`, "inVain, and notNow"]
    ]
    for (const [text, rule] of cases) {
      it(`when it says "${text}"`, () => {
        const failure = new ToolUnavailable({ code: "connection", detail, transient: false })
        assert.include(broken(text, failure, "not_executed"), rule)
      })
    }

    it("with a text for each rule", () => {
      const known = new Set(cases.map(([, rule]) => rule))
      assert.deepStrictEqual(rules.map(([one, other]) => `${one}, and ${other}`).filter((rule) => !known.has(rule)), [])
    })

    it("when it reports a missing record, or a pause, as a permanently unavailable tool", () => {
      const record = new ToolUnavailable({ code: "permission_denied", detail, transient: false, scope: "arguments" })
      const pause = new ToolUnavailable({ code: "rate_limited", detail, transient: true })
      assert.include(broken(unavailableAdvice, record, "not_executed"), "isGone, of a tool that is not")
      assert.include(broken(unavailableAdvice, pause, "not_executed"), "isGone, of a tool that is not")
      assert.include(broken(now, record, "not_executed"), "nothing of these arguments")
    })

    it("when it does not mention a doubt, or says nothing at all", () => {
      const failure = new ToolUnavailable({ code: "connection", detail, transient: true })
      assert.include(broken(now, failure, "unknown"), "nothing of the doubt")
      assert.include(broken("Try.", failure, "not_executed"), "nothing of what to do")
    })
  })
})
