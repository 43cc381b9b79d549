/**
 * The report of an agent's run: the turns, calls and tokens that the run used, its failures, and its repairs.
 *
 * The report lists every failure of a call or of the model, and how the failure was handled. This includes
 * failures that were retried, or otherwise handled before the model saw them. The report also lists every
 * change to the arguments of a call.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import { Certainty } from "./Certainty.ts"
import { TextRepair, ValueRepair } from "./internal/call/argumentRepair.ts"
import { Handled, HandledBy } from "./internal/call/handledFailure.ts"
import { alignColumns } from "./internal/value/columns.ts"
import { namedStruct } from "./internal/value/namedStruct.ts"
import { cut, printable } from "./internal/value/text.ts"
import { plusUsage, reportedIn, sumFields, usageFields } from "./internal/value/usage.ts"
import { Severity } from "./ToolFailure.ts"

/**
 * Present if the entry comes from an agent that ran inside a call: the tool that was called. The agent corrected the
 * arguments of that call, or was run by its handler. The entry then has the turn and the position of that call.
 */
const inside = Schema.optionalKey(Schema.String)

const call = {
  /** The 1-based number of the turn. `call` is the 1-based position of the call in that turn. */
  turn: Schema.Int,
  call: Schema.Int,
  tool: Schema.String,
  inside
}

/**
 * One failure of a call.
 *
 * @category models
 * @since 0.1.0
 */
export class CallEntry extends namedStruct<CallEntry>()({
  ...call,
  tag: Handled.fields.tag,
  code: Schema.String,
  detail: Schema.String,
  /** How serious the failure is. Present if a fixer escalated the failure. */
  severity: Schema.optionalKey(Severity),
  /** How many times the call was tried, over all sources: its handler, and tools that its fallbacks ran. */
  attempts: Schema.Int,
  /** Whether the effect has happened, by this call or by an earlier one that it repeats, as far as was known when it ended. */
  certainty: Certainty,
  /** The idempotency key of the call, if its handler read the key: what to look up at the service. */
  key: Schema.optionalKey(Schema.String),
  /** How the failure was handled ({@link HandledBy}), or `"told"` if the model was shown the failure. */
  handling: Schema.Literals([...HandledBy.literals, "told"]),
  /** The name of the policy, if `handling` is `"custom"`. */
  policy: Handled.fields.policy
}) {}

/**
 * One failure of the model, as the agent or the client of the model's provider saw it. After the failure, either
 * the model was asked again, or the run ended.
 *
 * @category models
 * @since 0.1.0
 */
export class ModelEntry extends namedStruct<ModelEntry>()({
  /** The 1-based number of the turn in which the model was asked. */
  turn: Schema.Int,
  inside,
  tag: Schema.Literal("ModelFailure"),
  /** The code of the `ModelFailure`. */
  code: Schema.String,
  detail: Schema.String,
  /** How many times the model was asked in this turn. For an `empty_reply`, the number of empty replies in a row. */
  attempts: Schema.Int,
  /**
   * `"retry"`: the model was asked again. `"fallback"`: the run ended with a text in place of the reply
   * (`ModelRecovery`). `"run_failed"`: the run ended with `ModelFailed` or `RunPostponed`.
   */
  handling: Schema.Literals(["retry", "fallback", "run_failed"]),
  /** The name of the model that failed. */
  model: Schema.optionalKey(Schema.String),
  /** What the failed request used, if the provider said so. The counts of the report include it. */
  usage: Schema.optionalKey(Schema.Struct(usageFields))
}) {}

/**
 * One failure of a run. An entry with the tag `"ModelFailure"` is a failure of the model. Any other entry is a
 * failure of a call.
 *
 * @category models
 * @since 0.1.0
 */
export type Entry = CallEntry | ModelEntry

/**
 * The schema of an {@link Entry}.
 *
 * @category schemas
 * @since 0.1.0
 */
export const Entry = Schema.Union([CallEntry, ModelEntry])

/**
 * The schema of {@link Repaired}.
 *
 * @category schemas
 * @since 0.1.0
 */
export const Repaired = Schema.Union([
  Schema.Struct({ ...call, ...TextRepair.fields }),
  Schema.Struct({ ...call, ...ValueRepair.fields })
])

/**
 * One change to the text or to the values of a call's arguments, whether or not the model was shown the change.
 *
 * @category models
 * @since 0.1.0
 */
export type Repaired = typeof Repaired.Type

/**
 * The counts, the failures and the repairs of a run.
 *
 * @category models
 * @since 0.1.0
 */
export class RunReport extends namedStruct<RunReport>()({
  /** The number of replies from the model, and from the models of agents that correct arguments. */
  turns: Schema.Int,
  /** The number of tool calls by the model, and by the models of agents that correct arguments. */
  calls: Schema.Int,
  // What the run used, and the agents that ran inside its calls. What no provider reported is absent.
  ...sumFields,
  /**
   * Ordered by turn. Within a turn, the model's failures come first. The failures of each call follow, in the
   * order in which they were handled.
   */
  failures: Schema.Array(Entry),
  /** Ordered by turn and by call. A repair that recurs often points to a prompt or a schema to improve. */
  repairs: Schema.Array(Repaired).pipe(Schema.withDecodingDefaultKey(Effect.succeed([])))
}) {}

/**
 * What the agents that a handler ran have used, and what failed in their runs. Their turns and calls are not part of the run
 * around them.
 *
 * @category models
 * @since 0.1.0
 */
export class Spent extends namedStruct<Spent>()({
  ...sumFields,
  failures: Schema.Array(Entry).pipe(Schema.withDecodingDefaultKey(Effect.succeed([]))),
  repairs: Schema.Array(Repaired).pipe(Schema.withDecodingDefaultKey(Effect.succeed([])))
}) {}

/**
 * Combines what two agents have spent.
 *
 * @category combining
 * @since 0.1.0
 */
export const plusSpent = (one: Spent, other: Spent): Spent => ({
  ...reportedIn(plusUsage(one, other)),
  failures: [...one.failures, ...other.failures],
  repairs: [...one.repairs, ...other.repairs]
})

/**
 * Combines two reports into one.
 *
 * @category combining
 * @since 0.1.0
 */
export const plus = (one: RunReport, other: RunReport): RunReport => ({
  turns: one.turns + other.turns,
  calls: one.calls + other.calls,
  ...plusSpent(one, other)
})

// -----------------------------------------------------------------------------
// Rendering
// -----------------------------------------------------------------------------

/**
 * Renders a report as a table for people: a line for each failure, and a line with the counts.
 *
 * The column `handling` says how a failure was handled: `told` means that the model read it. The column `effect` says
 * whether the call took effect. Details are cut after 100 characters. Characters that could control a
 * terminal become spaces.
 *
 * @param max how many failures to list; default: all
 *
 * @example
 * ```ts
 * import * as RunReport from "@fallible/core/RunReport"
 *
 * const entry = { turn: 2, tag: "ModelFailure", code: "server_error", detail: "503", attempts: 1, handling: "retry" } as const
 * const report = { turns: 3, calls: 4, inputTokens: 120, outputTokens: 30, failures: [entry], repairs: [] }
 *
 * RunReport.table(report).split("\n")
 * // => ["  turn  call  tool     failure       code          attempts  effect  handling  detail", "  2     -     (model)  ModelFailure  server_error  1         -       retry     503", "", "  3 turns, 4 calls, 1 failure, 0 repairs, 120 input tokens, 30 output tokens"]
 * ```
 *
 * @category rendering
 * @since 0.1.0
 */
export const table = (report: RunReport, max = Infinity): string => {
  const { calls, failures, repairs, turns } = report
  const listed = failures.slice(0, max)
  const left = failures.length - listed.length
  return [
    ...(failures.length === 0 ? ["  No failures."] : alignColumns([heading, ...listed.map(cellsOf)])),
    ...(left > 0 ? [`  … and ${left} more`] : []),
    "",
    `  ${
      [
        counted(turns, "turn"),
        counted(calls, "call"),
        counted(failures.length, "failure"),
        counted(repairs.length, "repair"),
        ...usageText(report)
      ].join(", ")
    }`
  ].join("\n")
}

const usageText = (report: RunReport): ReadonlyArray<string> => {
  const { inputTokens, money, outputTokens, unreported = 0 } = report
  if (inputTokens === undefined && outputTokens === undefined && money === undefined) {
    return report.turns === 0 ? [] : ["tokens unknown"]
  }
  return [
    inputTokens === undefined ? "input tokens unknown" : counted(inputTokens, "input token"),
    outputTokens === undefined ? "output tokens unknown" : counted(outputTokens, "output token"),
    ...(money === undefined ? [] : [`cost ${Number(money.toPrecision(6))}`]),
    ...(unreported === 0 ? [] : [`${counted(unreported, "reply", "replies")} without a count of tokens`])
  ]
}

const heading = ["turn", "call", "tool", "failure", "code", "attempts", "effect", "handling", "detail"]

const cellsOf = (entry: Entry): ReadonlyArray<string> => {
  const { attempts, code, detail, handling, inside, tag, turn } = entry
  const { call, certainty, policy, tool } = isOfModel(entry) ? ofModel : { policy: undefined, ...entry }
  return [
    turn,
    call,
    inside === undefined ? tool : `${tool} (for ${inside})`,
    tag,
    code,
    attempts,
    certainty,
    policy === undefined ? handling : `${handling} (${policy})`,
    detail
  ].map((cell) => cut(printable(String(cell)).trim(), 100))
}

const isOfModel = (entry: Entry): entry is ModelEntry => entry.tag === "ModelFailure"

const ofModel = { call: "-", tool: "(model)", certainty: "-", policy: undefined }

const counted = (count: number, what: string, many = `${what}s`): string => `${count} ${count === 1 ? what : many}`
