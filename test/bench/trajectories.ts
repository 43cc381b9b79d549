/**
 * Plays recorded trajectories of agents through `LoopGuard`, and prints what the guard would have done.
 *
 *     node test/bench/trajectories.ts FILE...
 *
 * A file has one call for each line, as JSON:
 *
 *     {"run": "a", "turn": 1, "tool": "look", "sideEffect": "none", "arguments": "{}", "result": {"rows": []}}
 *     {"run": "a", "turn": 2, "tool": "look", "sideEffect": "none", "failure": {"code": "timeout", "detail": "Late."}}
 *
 * A false stop is a run that the guard would have stopped although it went on: it is marked `"productive": true`, or a
 * call that the guard would have prevented brought news. A missed loop is a run with many turns without news, of which
 * the guard noticed nothing.
 */
import { type ToolFailure, ToolUnavailable } from "@fallible/core"
import * as LoopGuard from "@fallible/core/LoopGuard"
import type * as ToolOutcome from "@fallible/core/ToolOutcome"
import { Duration, Result, Schema } from "effect"
import { readFileSync } from "node:fs"
import { judgeTurn, noLoop, refuseInLoop } from "../../packages/core/src/internal/agent/loopGuard.ts"
import { type Observed, type Subject } from "../../packages/core/src/internal/agent/loopJudgement.ts"
import * as DispatchFailure from "../../packages/core/src/internal/arguments/dispatchFailure.ts"
import { canonical } from "../../packages/core/src/internal/value/canonical.ts"
import { isSameData } from "../../packages/core/src/internal/value/volatileData.ts"

const Line = Schema.Struct({
  run: Schema.String,
  turn: Schema.Int,
  tool: Schema.String,
  sideEffect: Schema.optionalKey(Schema.Literals(["none", "idempotent", "idempotent_by_key", "non_idempotent"])),
  arguments: Schema.optionalKey(Schema.String),
  result: Schema.optionalKey(Schema.Json),
  failure: Schema.optionalKey(Schema.Struct({ code: Schema.String, detail: Schema.String })),
  productive: Schema.optionalKey(Schema.Boolean)
})
type Line = typeof Line.Type

const guard = LoopGuard.make()

// -----------------------------------------------------------------------------
// One run
// -----------------------------------------------------------------------------

interface Played {
  readonly turns: number
  /** The turns of the steps. */
  readonly steps: ReadonlyMap<LoopGuard.Step, ReadonlyArray<number>>
  readonly isFalseStop: boolean
  readonly isMissed: boolean
}

const play = (lines: ReadonlyArray<Line>): Played => {
  const steps = new Map<LoopGuard.Step, Array<number>>()
  const news = new News()
  const failures = new Map<string, number>()
  let state = noLoop
  let stale = 0
  let longest = 0
  let isLate = false
  let hasLost = false
  for (const [turn, calls] of turnsOf(lines)) {
    const before = state
    let hasNews = false
    const observed = calls.map((line): Observed => {
      const call = callOf(line)
      const tool = { sideEffect: line.sideEffect ?? "non_idempotent" }
      const isNew = news.add(line)
      hasNews ||= isNew
      const refusal = isLate ? undefined : refuseInLoop(guard, before, call, tool)
      if (isNew && (isLate || refusal !== undefined)) hasLost = true
      if (refusal !== undefined) return { call, tool, outcome: failed(refusal, 0) }
      return { call, tool, outcome: outcomeOf(line, tool, failures) }
    })
    stale = hasNews ? 0 : stale + 1
    longest = Math.max(longest, stale)
    if (isLate) continue
    const verdict = judgeTurn(guard, state, turn, observed, { used: 0 })
    state = verdict.state
    if (verdict.step === undefined) continue
    steps.set(verdict.step, [...steps.get(verdict.step) ?? [], turn])
    isLate = verdict.step === "ended"
  }
  const isStopped = steps.has("withdrawn") || steps.has("ended")
  const isMarked = lines.some(({ productive }) => productive === true)
  return {
    turns: new Set(lines.map(({ turn }) => turn)).size,
    steps,
    isFalseStop: hasLost || isMarked && (isStopped || steps.has("refused")),
    isMissed: longest >= guard.endAt && steps.size === 0
  }
}

const turnsOf = (lines: ReadonlyArray<Line>): ReadonlyArray<readonly [number, ReadonlyArray<Line>]> =>
  Array.from(Map.groupBy(lines, ({ turn }) => turn)).toSorted(([a], [b]) => a - b)

const callOf = ({ arguments: text, tool }: Line) =>
  text === undefined ? { id: "", name: tool } : { id: "", name: tool, arguments: text }

/**
 * What is new: another result of a call, another failure of a tool, or an effect. Unlike the guard, this remembers
 * everything.
 */
class News {
  readonly #failures = new Set<string>()
  readonly #results = new Map<string, Array<{ readonly of: string; readonly result: Schema.Json }>>()

  add({ arguments: text = "{}", failure, result = null, sideEffect, tool }: Line): boolean {
    if (failure !== undefined) {
      const before = this.#failures.size
      return this.#failures.add(JSON.stringify([tool, failure.code])).size > before
    }
    if (sideEffect !== "none" && sideEffect !== "idempotent") return true
    const of = canonical(parsed(text)) ?? text
    const isLong = JSON.stringify(result).length >= 100
    const results = this.#results.get(tool) ?? []
    if (results.some((known) => (isLong || known.of === of) && isSameData(known.result, result))) return false
    this.#results.set(tool, [...results, { of, result }])
    return true
  }
}

const parsed = (text: string): Schema.Json =>
  Result.getOrElse(Schema.decodeUnknownResult(Schema.fromJsonString(Schema.Json))(text), () => text)

// -----------------------------------------------------------------------------
// Outcomes
// -----------------------------------------------------------------------------

const effort = { waited: Duration.zero, handled: [] }

const failed = (
  failure: ToolFailure.ToolFailure<Schema.Json>,
  attempts: number
): ToolOutcome.Failed => ({ _tag: "Failed", failure, stage: "run", certainty: "not_executed", attempts, ...effort })

// After as many failures of a call as `CallFacts` permits, the call is refused.
const outcomeOf = (
  line: Line,
  { sideEffect }: Subject,
  failures: Map<string, number>
): ToolOutcome.Completed | ToolOutcome.Failed => {
  const { arguments: text = "{}", failure, result = null, tool } = line
  const acts = sideEffect !== "none"
  if (failure === undefined) {
    const certainty = acts ? "executed" : "not_executed"
    return { _tag: "Completed", value: result, caveats: [], certainty, attempts: 1, ...effort }
  }
  const { code, detail } = failure
  if (refusals.has(code)) return failed(new ToolUnavailable({ code, detail, transient: false }), 0)
  const key = JSON.stringify([tool, text])
  const executions = failures.get(key) ?? 0
  failures.set(key, executions + 1)
  const limit = sideEffect === "non_idempotent" ? 1 : 3
  const tag = "ToolUnavailable"
  return executions >= limit
    ? failed(DispatchFailure.repeatedCall({ executions, code, detail, tag, certainty: "not_executed" }), 0)
    : failed(new ToolUnavailable({ code, detail, transient: false }), 1)
}

// With these codes, the tool did not run.
const refusals: ReadonlySet<string> = new Set(["unknown_tool", "invalid_json", "invalid_arguments", "no_identity"])

// -----------------------------------------------------------------------------
// Files
// -----------------------------------------------------------------------------

const decode = Schema.decodeUnknownSync(Schema.fromJsonString(Line))

const linesOf = (file: string): ReadonlyArray<Line> =>
  readFileSync(file, "utf8").split("\n").flatMap((line) => line.trim() === "" ? [] : [decode(line)])

const print = (text: string) => process.stdout.write(`${text}\n`)

const stepNames = ["warned", "refused", "withdrawn", "ended"] as const

const main = (files: ReadonlyArray<string>): void => {
  const runs = Map.groupBy(files.flatMap(linesOf), ({ run }) => run)
  const played = Array.from(runs, ([name, lines]) => ({ name, ...play(lines) }))
  for (const { isFalseStop, isMissed, name, steps, turns } of played) {
    const taken = stepNames.flatMap((step) => steps.has(step) ? [`${step} in ${steps.get(step)!.join(", ")}`] : [])
    const mark = `${isFalseStop ? " FALSE STOP" : ""}${isMissed ? " MISSED LOOP" : ""}`
    print(`${name}: ${turns} turns: ${taken.length === 0 ? "nothing" : taken.join("; ")}${mark}`)
  }
  const count = (is: (run: typeof played[number]) => boolean) => played.filter(is).length
  const sums = stepNames.map((step) => `${step} ${count(({ steps }) => steps.has(step))}`)
  print(
    `${played.length} runs: ${sums.join(", ")}; false stops ${count((run) => run.isFalseStop)}, missed loops ${
      count((run) => run.isMissed)
    }`
  )
}

const files = process.argv.slice(2)
if (files.length === 0) {
  process.stderr.write("Usage: node test/bench/trajectories.ts FILE...\n")
  process.exitCode = 1
} else {
  main(files)
}
