/**
 * Notices when a run is stuck: the model repeats calls that add nothing. The guard works on facts (the tool, its
 * arguments, its outcome), and never on the model's text.
 *
 * | what the guard sees                                    | steps                          |
 * | ------------------------------------------------------ | ------------------------------ |
 * | the same call with the same outcome                    | warn, refuse, withdraw, end    |
 * | two or more calls in turn, with the same outcomes      | warn, refuse, withdraw, end    |
 * | invalid calls, or failures of a tool that is down      | warn; much later withdraw, end |
 * | other same failures or results, with other arguments   | warn                           |
 *
 * First the model is warned. Then the same call is refused without running. Then its tool is withdrawn: the model is
 * no longer offered it. At last the run ends with `LoopDetected`. By default these are the third, tenth, eleventh and
 * twelfth time ({@link Options}), and a round of several calls counts once. A call with other arguments may be right, so it is
 * never refused before its tool is withdrawn, and the last two steps come after at least twelve turns. A call that was made
 * only once is not refused either, because its result may be new by now.
 *
 * **What time may change is waited for.** A result of a read-only tool may say that something is under way:
 * `{"status":"running"}`, `{"done":false}`, "not ready yet". The model is told that it is unchanged, and for how long. The next
 * equal call waits first: half a second, and half as much more each time, at most ten seconds. Such calls, and those between
 * them, count only after twenty looks. So is a tool whose name or description speaks of time or chance, such as a status or a coin: the
 * model is told that it has the result, and only from the eighth time on to do something else. An empty result after the run
 * has changed something, and a failure that asks to wait for a moment, are waited for, too.
 *
 * Progress resets all steps. A turn makes progress if one of its calls has a new result, or acts. So the guard never
 * stops a run that polls a result that changes, follows pages, or tries new arguments with new results. A
 * successful call of a tool that is not idempotent always counts as progress, because the repetition may be meant: the
 * model is warned, and nothing else. If a repetition cannot be meant, declare `repeats: false`. Idempotent tools that set
 * a state back and forth are warned, too, and count half. A tool that is polled (`poll`) waits instead, and is left alone.
 *
 * Failures of a tool that ran are left to `CallFacts`: it refuses the same call after as many failures as the tool
 * permits. The third such refusal withdraws the tool, and the fourth ends the run.
 *
 * The calls of one turn count once, because the model has not seen their results yet.
 *
 * Two results are the same if they differ only in volatile fields. These are the fields that a tool declares as
 * `volatile`, times of responses (`timestamp`, `generated_at`, `took_ms`), and ids of requests (`request_id`, as a text of
 * at least 6 characters). Under an ambiguous name, such as `at`, `time` or `updated_at`, and in a text, a time is volatile
 * if the other one is within an hour, and not both are on the minute.
 *
 * The idea comes from guards against loops in other agents (Gemini CLI, OpenHands). Those compare texts.
 *
 * @since 0.1.0
 */
import { whole } from "./internal/value/numberOption.ts"

/**
 * The thresholds of a guard. A threshold counts how often the same call has had the same outcome. The four steps
 * must not come in another order.
 *
 * @category models
 * @since 0.1.0
 */
export interface Options {
  /** At which equal call (counted from 1) the model is warned. At least 2. Default: 3. */
  readonly warnAt?: number
  /** At which equal call the call is refused, without running. Default: seven more than `warnAt`, unless the
   * steps after it come before. */
  readonly refuseAt?: number
  /** At which equal call the tool is withdrawn. Default: one more than `refuseAt`. */
  readonly withdrawAt?: number
  /** At which equal call the run ends. Default: one more than `withdrawAt`. */
  readonly endAt?: number
  /** How many different calls the guard remembers. A loop over more calls is not noticed. Default: 12. */
  readonly window?: number
}

/**
 * A guard: {@link Options} with all values filled in.
 *
 * @category models
 * @since 0.1.0
 */
export type LoopGuard = Required<Options>

/**
 * Makes a guard. Throws if a threshold is not a whole number, or if the steps come in the wrong order.
 *
 * @example
 * ```ts
 * import * as LoopGuard from "@fallible/core/LoopGuard"
 *
 * LoopGuard.make({ warnAt: 5 }) // => { warnAt: 5, refuseAt: 12, withdrawAt: 13, endAt: 14, window: 12 }
 * ```
 *
 * @category constructors
 * @since 0.1.0
 */
export const make = (options: Options = {}): LoopGuard => {
  const warnAt = whole("A loop guard's 'warnAt'", options.warnAt ?? 3, 2)
  const { endAt: last = Infinity, withdrawAt: next = last - 1 } = options
  const usual = Math.max(warnAt, Math.min(warnAt + 7, next - 1))
  const refuseAt = whole("A loop guard's 'refuseAt'", options.refuseAt ?? usual, warnAt)
  const withdrawAt = whole(
    "A loop guard's 'withdrawAt'",
    options.withdrawAt ?? Math.min(refuseAt + 1, last),
    refuseAt
  )
  const endAt = whole("A loop guard's 'endAt'", options.endAt ?? withdrawAt + 1, withdrawAt)
  const window = whole("A loop guard's 'window'", options.window ?? 12, 4)
  return { warnAt, refuseAt, withdrawAt, endAt, window }
}

/**
 * A step of a guard.
 *
 * @category models
 * @since 0.1.0
 */
export type Step = "warned" | "refused" | "withdrawn" | "ended"
