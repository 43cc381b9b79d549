/**
 * The limits of a run: on its turns, calls, tokens and time, on the calls of one tool, and on those in a row.
 *
 * When the turns, tokens or time are used up, the run ends before the model is asked again. A call beyond
 * `calls`, `callsPerTool` or `consecutive` is refused. If the model calls tools again after it has exceeded `calls`, the
 * run ends. A tool whose own limit is used up is no longer offered.
 *
 * A run ends with `LimitReached`. With the agent option `onLimit: "conclude"`, it instead asks the model once more,
 * without tools, for the best answer from what is known. The last of the `turns`, a tenth of the time, and as many tokens
 * as the latest request used are kept for this request. If one reply uses up the tokens, no other follows.
 *
 * When a fifth or less of a limit is left, the model is told how much is left.
 *
 * An agent may run inside another run: as a tool, or to correct the arguments of a call (`Fixer.agent`). Its tokens
 * and its time then also count in the outer run. The turns and calls of an agent that corrects arguments count there,
 * too. The inner run ends when a shared limit of either run is used up.
 *
 * @since 0.1.0
 */
import type * as Duration from "effect/Duration"
import * as Schema from "effect/Schema"

/**
 * The limits of a run.
 *
 * @category models
 * @since 0.1.0
 */
export interface Limits {
  /** How many times the model may reply: a whole number of at least 1. Default: 30. */
  readonly turns?: number
  /** How many tool calls the model may make, whatever their outcomes. Default: no limit. */
  readonly calls?: number
  /**
   * How many input and output tokens the run may use, as far as the provider counts them. Only the last reply can exceed
   * the limit. Default: no limit.
   */
  readonly tokens?: number
  /**
   * What the run may cost, in the currency of your prices (`Model.priced`): a number above 0. Only the last reply can exceed
   * the limit. A reply without a price then ends the run (`ModelFailed`, code `unpriced`). Default: no limit.
   */
  readonly money?: number
  /**
   * How long a run may take. A `Deadline` around the run also limits it. When the time is up, a running
   * model call ends, and every running tool call ends with a timeout as its outcome. The time that a run spends
   * waiting for its user does not count. Default: no limit.
   */
  readonly elapsed?: Duration.Input
  /**
   * How many calls of one tool the model may make: a number for every tool, or numbers by tool name, where `"*"`
   * stands for all other tools. Default: no limit.
   */
  readonly callsPerTool?: number | Readonly<Record<string, number>>
  /**
   * How many calls of one tool the model may make in a row, whatever their arguments. Default: no limit. Calls that are the
   * same are the business of the `LoopGuard`.
   */
  readonly consecutive?: number
}

/**
 * The name of a limit that can end a run.
 *
 * @category models
 * @since 0.1.0
 */
export type Limit = typeof Limit.Type

/**
 * The schema of a {@link Limit}.
 *
 * @category schemas
 * @since 0.1.0
 */
export const Limit = Schema.Literals(["turns", "calls", "tokens", "money", "elapsed"])
