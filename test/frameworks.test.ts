/** The comparison with other libraries (`bench/frameworks`): its written results, its settings, and the model that it plays. */
import { assert, describe, it } from "@effect/vitest"
import type { Transcript } from "@fallible/core"
import { readFileSync } from "node:fs"
import { join } from "node:path"
import { libraries } from "../bench/frameworks/contender.ts"
import { judged } from "../bench/frameworks/faults.ts"
import { honestWork } from "../bench/frameworks/honestWork.ts"
import { found, gaveUp, type Goal, type Manner, pursuing } from "../bench/frameworks/model.ts"
import * as Practice from "../bench/frameworks/practice.ts"
import * as Reader from "../bench/frameworks/reader.ts"
import type { Scenario } from "../bench/frameworks/scenario.ts"
import { scenarios } from "../bench/frameworks/scenarios.ts"
import type { PlainTool } from "../bench/frameworks/tools.ts"
import { World } from "./support/plainTools.ts"
import { root } from "./support/program.ts"

const read = (file: string) => readFileSync(join(root, "bench/frameworks", file), "utf8")
const results = read("RESULTS.md")

// -----------------------------------------------------------------------------
// The written results
// -----------------------------------------------------------------------------

/** The cells of the table rows below a heading. */
const rowsBelow = (heading: string): ReadonlyArray<ReadonlyArray<string>> =>
  results.split(`\n## ${heading}\n`)[1]!.split("\n## ")[0]!.split("\n")
    .filter((line) => line.startsWith("| ") && !line.startsWith("| -"))
    .map((line) => line.split("|").slice(1, -1).map((cell) => cell.trim()))

const faults = rowsBelow("Faults")
const names = faults.find(([first]) => first === "scenario")!

describe("the results of the comparison with other libraries", () => {
  it("are those of the libraries that are installed, whose versions are exact", () => {
    const { dependencies } = JSON.parse(read("package.json")) as { readonly dependencies: Record<string, string> }
    for (const [name, version] of Object.entries(dependencies)) {
      assert.match(version, /^\d+\.\d+\.\d+$/)
      assert.include(results, `- ${name} ${version}\n`)
    }
    assert.deepStrictEqual(names.slice(2), Object.keys(libraries))
  })

  it("are those of the scenarios as they are now", () => {
    const isPlayed = ({ cost, name }: Scenario) => faults.some((row) => row[0] === name && row[1] === cost)
    assert.deepStrictEqual(scenarios.filter((scenario) => !isPlayed(scenario)), [])
    assert.strictEqual(new Set(scenarios.map(({ name }) => name)).size, scenarios.length)
    assert.include(results, `\n${scenarios.length} scenarios,`)
    assert.include(results, `the ${honestWork.length} of honest work`)
  })

  // The first rows of a scenario are those of the weak model, and the first totals are those of all scenarios.
  const totals = faults.filter(([, setting]) => setting === "plain" || setting === "recovering")
  const half = totals.length / 2

  for (
    const [what, played, sums] of [
      ["all scenarios", scenarios, totals.slice(0, half)],
      ["honest work", honestWork, totals.slice(half)]
    ] as const
  ) {
    it(`have the totals of ${what} with the weak model`, () => {
      assert.strictEqual(sums.length, 2 * (names.length - 2))
      for (const [library, setting, right, told, twice, other] of sums) {
        const verdicts = played.map(({ name }) =>
          faults.find(([first]) => first === name)![names.indexOf(library!)]!.split(" → ")
            .at(setting === "plain" ? 0 : -1)!
        )
        const count = (is: (verdict: string) => boolean) => String(verdicts.filter(is).length)
        assert.deepStrictEqual(
          [right, told, twice, other],
          [
            count((verdict) => verdict === "ok"),
            count((verdict) => verdict === "says so"),
            count((verdict) => verdict.startsWith("acts")),
            count((verdict) => !/^(ok|says so|acts)/.test(verdict))
          ],
          `${library} ${setting}`
        )
      }
    })
  }
})

describe("the cost of a turn", () => {
  const [head, ...rows] = rowsBelow("The cost of a turn")

  it("is that of all libraries, at 3, 10 and 50 turns", () => {
    assert.deepStrictEqual(head?.slice(0, 4), ["loop", "3 turns", "10 turns", "50 turns"])
    assert.deepStrictEqual(rows.map(([name]) => name), ["a loop by hand", ...Object.keys(libraries)])
  })

  it("shows medians between the least and the greatest time, and their share of a second", () => {
    for (const [name, ...cells] of rows) {
      const medians = cells.slice(0, 3).map((cell) => {
        const [median = NaN, least = NaN, greatest = NaN] = cell.match(/\d+/g)!.map(Number)
        assert.isTrue(least <= median && median <= greatest, name)
        return median
      })
      assert.approximately(Number.parseFloat(cells[3]!), medians[1]! / 10_000, 0.0006, name)
    }
  })
})

// -----------------------------------------------------------------------------
// The settings
// -----------------------------------------------------------------------------

describe("the settings of the libraries", () => {
  it("stand in one file for each library, with the same sections", () => {
    for (const [library, file] of Object.entries(libraries)) {
      const sections = Array.from(read(file).matchAll(/^\/\/ -{77}\n\/\/ (.*)\n/gm), ([, title]) => title)
      assert.deepStrictEqual(sections, ["Tools", "Recovery", "The agent"], library)
      assert.include(read("README.md"), `(${file})`)
    }
  })

  it("give every recovering agent the same instructions, and all but Fallible the same texts of errors", () => {
    for (const [library, file] of Object.entries(libraries)) {
      assert.match(read(file), /\binstructions\b/, library)
      assert.strictEqual(/failureText\(/.test(read(file)), library !== "Fallible", library)
    }
  })

  const reading: PlainTool = { name: "look_up", description: "", parameters: {}, run: async () => "" }
  const paying: PlainTool = { ...reading, name: "pay", acts: true, declared: { check: "payment_status" } }

  it("never show the message of an error that a tool does not declare", () => {
    for (const tool of [reading, paying]) {
      assert.notInclude(Practice.failureText(tool, new Error("password=hunter2")), "hunter2")
    }
    const declared = { ...paying, declared: { refusal: () => "Room A1 is taken." } }
    assert.strictEqual(Practice.failureText(declared, new Error("row 7")), "Room A1 is taken.")
  })

  it("say that the outcome of a failed act is unknown, and which tool finds out", () => {
    const text = Practice.failureText(paying, new Error("Reset"))
    assert.isTrue(Reader.leavesOpen(text) && Reader.advisesAgainst(text))
    assert.include(text, "payment_status")
  })

  const busy = (seconds: string) => ({ response: { status: 429, headers: { "retry-after": seconds } } })

  it("wait as long as a service asks for, and not an hour", () => {
    assert.strictEqual(Practice.retryAfterMillis(busy("7")), 7000)
    assert.isTrue(Practice.isWorthARetry(busy("7")))
    assert.isFalse(Practice.isWorthARetry(busy("3600")))
    assert.isFalse(Practice.isWorthARetry({ status: 404 }))
  })

  const waitsOf = async (tool: PlainTool, error: unknown) => {
    const waits: Array<number> = []
    await Practice.retried(tool, () => Promise.reject(error), async (millis) => void waits.push(millis)).catch(() => {})
    return waits
  }

  it("repeat a tool that reads, and never one that acts", async () => {
    assert.deepStrictEqual(await waitsOf(reading, { status: 503 }), [200, 400])
    assert.deepStrictEqual(await waitsOf(reading, busy("7")), [7000, 7000])
    assert.deepStrictEqual(await waitsOf(reading, { status: 404 }), [])
    assert.deepStrictEqual(await waitsOf(paying, { status: 503 }), [])
  })
})

// -----------------------------------------------------------------------------
// The judge
// -----------------------------------------------------------------------------

describe("the judge", () => {
  const scenarioOf = (name: string) => scenarios.find((scenario) => scenario.name === name)!
  /** What becomes of a scenario with an agent that only calls its first tool some times, and then answers. */
  const verdictOf = (name: string, calls: number, answer: () => Promise<string>) =>
    judged(scenarioOf(name), "weak", {
      framework: "none",
      setting: "plain",
      begin: (_, [tool]) => async () => {
        for (let call = 0; call < calls; call++) await tool!.run({ order: "o-7" }, undefined).catch(() => undefined)
        return answer()
      }
    })

  it("tells a right answer from an honest one, a wrong one and none", async () => {
    const say = (text: string) => verdictOf("nothing goes wrong", 1, async () => text)
    assert.deepStrictEqual(await say(`${found}{"price":42}`), { kind: "right" })
    assert.deepStrictEqual(await say(`${gaveUp}It failed.`), { kind: "told" })
    assert.deepStrictEqual(await say("43"), { kind: "failed", how: "wrong answer" })
    assert.deepStrictEqual(
      await verdictOf("nothing goes wrong", 1, () => Promise.reject(new Error("No"))),
      { kind: "failed", how: "throws" }
    )
  })

  it("sees what was done, whatever the agent says", async () => {
    const name = "a payment is made, and an unknown error follows"
    const paid = async () => `${found}paid`
    assert.deepStrictEqual(await verdictOf(name, 0, paid), { kind: "failed", how: "wrong answer" })
    assert.deepStrictEqual(await verdictOf(name, 1, paid), { kind: "right" })
    assert.deepStrictEqual(await verdictOf(name, 2, paid), { kind: "failed", how: "acts 2 times" })
  })

  it("sees what it costs", async () => {
    const verdict = await verdictOf("nothing goes wrong", 3, async () => `${found}{"price":42}`)
    assert.deepStrictEqual(verdict, { kind: "failed", how: "costs 0/3" })
  })
})

// -----------------------------------------------------------------------------
// The played model
// -----------------------------------------------------------------------------

/** What the model does after it has called a tool and got these results, one after the other. */
const after = (
  goal: Goal,
  manner: Manner,
  results: ReadonlyArray<readonly [tool: string, text: string]>,
  { descriptions = {}, instructions = "" }: {
    readonly instructions?: string
    readonly descriptions?: Readonly<Record<string, string>>
  } = {}
) => {
  const messages: Array<Transcript.Message> = [
    ...(instructions === "" ? [] : [{ role: "system", text: instructions } as const]),
    { role: "user", text: "The user's question." },
    ...results.flatMap(([name, text], index): ReadonlyArray<Transcript.Message> => [
      { role: "assistant", text: "", calls: [{ id: String(index), name, arguments: "{}" }] },
      { role: "tool", callId: String(index), name, text }
    ])
  ]
  const tools = Object.entries(descriptions).map(([name, description]) => ({ name, description, parameters: {} }))
  const script = pursuing(goal, manner)
  const move = typeof script === "function" ? script({ messages, tools, options: {} }, 0) : undefined
  return move !== undefined && "calls" in move ? move.calls[0]?.name ?? move.text : undefined
}

const payment: Goal = { first: ["pay"], wanted: /^paid/, other: ["payment_status"] }
const lookup: Goal = { first: ["look_up"], wanted: /found/ }
const descriptions = { pay: "Pays an order", payment_status: "Is an order paid?", look_up: "Looks something up" }
const instructions = Practice.instructions

describe("the played model", () => {
  it("repeats a failed call once if it is weak, and not if it is careful", () => {
    const failed = [["look_up", "Failed."]] as const
    assert.strictEqual(after(lookup, "weak", failed, { descriptions }), "look_up")
    assert.strictEqual(after(lookup, "careful", failed, { descriptions }), "I could not do it: Failed.")
    assert.match(after(lookup, "weak", [...failed, ...failed], { descriptions })!, /^I could not/)
  })

  it("obeys instructions: careful always, weak only if a result reminds it", () => {
    const open = [["pay", "Error: the request timed out"]] as const
    const failed = [["pay", "Error: failed"]] as const
    assert.strictEqual(after(payment, "weak", open, { descriptions }), "pay")
    assert.strictEqual(after(payment, "weak", open, { descriptions, instructions }), "payment_status")
    assert.strictEqual(after(payment, "weak", failed, { descriptions, instructions }), "pay")
    assert.strictEqual(after(payment, "careful", failed, { descriptions, instructions }), "payment_status")
    assert.strictEqual(after(lookup, "careful", [["look_up", "Failed."]], { descriptions, instructions }), "look_up")
  })

  it("obeys what the description of a tool says", () => {
    const pay = "Pays an order. If it fails, do not pay again: ask payment_status first."
    const open = [["pay", "Error: the request timed out"]] as const
    assert.strictEqual(after(payment, "weak", open, { descriptions: { ...descriptions, pay } }), "payment_status")
  })

  it("remembers what an earlier result has said", () => {
    const told = [["pay", "Unknown. Do not repeat this call."], ["payment_status", "Failed."]] as const
    assert.match(after(payment, "weak", told, { descriptions })!, /^I could not/)
    const earlier = [["look_up", "found"], ["look_up_elsewhere", "Failed."]] as const
    assert.strictEqual(after(lookup, "weak", earlier, { descriptions }), "The answer: found")
  })

  it("pays once it has read that nothing was paid", () => {
    const told = [["pay", "Unknown. Do not repeat this call."], ["payment_status", "not paid"]] as const
    for (const manner of ["weak", "careful"] as const) {
      assert.strictEqual(after(payment, manner, told, { descriptions }), "pay")
    }
  })

  it("does what a result asks for: another attempt, or more of them if waiting helps", () => {
    const again = ["look_up", "An error occurred. Please try again."] as const
    assert.strictEqual(after(lookup, "careful", [again], { descriptions }), "look_up")
    assert.match(after(lookup, "careful", [again, again], { descriptions })!, /^I could not/)
    const later = ["look_up", "The report is not ready yet."] as const
    assert.strictEqual(after(lookup, "careful", [later, later], { descriptions }), "look_up")
  })

  it("understands general signs, and does not wait for the words of one library", () => {
    for (
      const text of ["Incomplete.", "(The result is truncated.)", "It was cut off.", "Unexpected end of JSON input"]
    ) {
      assert.isTrue(Reader.saysIncomplete(text), text)
    }
    for (const text of ["Do not repeat this call.", "Tool call limit exceeded. Do not call 'pay' again."]) {
      assert.isTrue(Reader.advisesAgainst(text), text)
    }
    for (const text of ["It may have taken effect.", "The outcome is unknown.", "socket hang up", "timed out"]) {
      assert.isTrue(Reader.leavesOpen(text), text)
    }
    assert.isTrue(Reader.isBrokenOff("{\"rows\":[{\"total\":1"))
    assert.isFalse(Reader.isBrokenOff("{\"rows\":[]}") || Reader.isBrokenOff("A text."))
  })

  it("knows from its description whether a tool acts", () => {
    const made = scenarios.flatMap(({ tools }) => [tools(new World("", () => {}))].flat())
    for (const { acts = false, description, name } of made) assert.strictEqual(Reader.actsBy(description), acts, name)
  })
})
