/**
 * A retry budget limits how many retries a process makes, in proportion to its successes.
 *
 * A limit on the attempts of one call does not limit the total of a thousand calls. If a service is down,
 * three attempts per call triple the load on it, just when it can bear the least. Nested retries multiply
 * the load again. A budget limits the total: each success adds a fifth of a retry to the budget, and each
 * retry takes a whole one. Once all calls fail, only a small reserve of retries remains, however many calls
 * there are. (The design is that of `retry::budget` in the Rust library tower, which follows Finagle's
 * `RetryBudget`.)
 *
 *     tools and model calls ── retry ── withdraw ─┐
 *                              success ─ deposit ─┴─ one budget per process: provide its layer once
 *
 * `Tool.retry` and `Model.retry` use the budget if one is provided. Without a budget, only their schedules
 * limit retries.
 *
 * @since 0.1.0
 */
import * as Context from "effect/Context"
import * as Duration from "effect/Duration"
import * as Layer from "effect/Layer"

/**
 * A budget that records successes and pays for retries. Both methods take the current time in milliseconds.
 * They are plain functions and not Effects, because every call uses them.
 *
 * @category models
 * @since 0.1.0
 */
export interface RetryBudget {
  /** Records a success. */
  readonly deposit: (now: number) => void
  /** Takes one retry from the budget. Returns `false` if the budget is used up. */
  readonly withdraw: (now: number) => boolean
}

/**
 * The options of a budget.
 *
 * @category models
 * @since 0.1.0
 */
export interface Options {
  /**
   * How many retries each success pays for, from 0 to 1. Default: 0.2, so that retries add at most a fifth
   * to the load.
   */
  readonly ratio?: number
  /** The reserve for processes with few calls: retries per second that are allowed without successes. Default: 10. */
  readonly minPerSecond?: number
  /** How long a success or a retry counts in the budget. Default: 10 seconds. */
  readonly timeToLive?: Duration.Input
}

/**
 * The budget of the process. By default there is none, so that retries are not counted.
 *
 * @category context
 * @since 0.1.0
 */
export const current: Context.Reference<RetryBudget | undefined> = Context.Reference<RetryBudget | undefined>(
  "@fallible/core/RetryBudget/current",
  { defaultValue: () => undefined }
)

/**
 * Makes a budget. Throws if an option is out of range.
 *
 * @example
 * ```ts
 * import * as RetryBudget from "@fallible/core/RetryBudget"
 *
 * const budget = RetryBudget.make({ ratio: 0.5, minPerSecond: 0 })
 * budget.withdraw(0) // => false
 * budget.deposit(0)
 * budget.deposit(0)
 * budget.withdraw(0) // => true
 * budget.withdraw(0) // => false
 * ```
 *
 * @category constructors
 * @since 0.1.0
 */
export const make = ({ minPerSecond = 10, ratio = 0.2, timeToLive = "10 seconds" }: Options = {}): RetryBudget => {
  const window = Duration.toMillis(Duration.fromInputUnsafe(timeToLive))
  if (!(ratio >= 0 && ratio <= 1)) throw new RangeError(`A retry budget's ratio must be from 0 to 1; got ${ratio}.`)
  if (!(minPerSecond >= 0 && Number.isFinite(minPerSecond))) {
    throw new RangeError(`A retry budget's minPerSecond must be a number of at least 0; got ${minPerSecond}.`)
  }
  if (!(window > 0 && Number.isFinite(window))) {
    throw new RangeError("A retry budget's timeToLive must be a finite duration above zero.")
  }
  const slot = window / slots
  const reserve = minPerSecond * window / 1000
  // Deposits minus withdrawals, in a ring of time slots. `times` tells for each slot whether its balance
  // still counts.
  const balances = new Float64Array(slots)
  const times = new Float64Array(slots).fill(-Infinity)
  const record = (now: number, amount: number) => {
    const time = Math.floor(now / slot)
    const index = ((time % slots) + slots) % slots
    balances[index] = times[index] === time ? balances[index]! + amount : amount
    times[index] = time
  }
  const balance = (now: number): number => {
    const oldest = Math.floor(now / slot) - slots
    return balances.reduce((sum, amount, index) => times[index]! > oldest ? sum + amount : sum, reserve)
  }
  return {
    deposit: (now) => record(now, ratio),
    withdraw: (now) => {
      // Sums of fractions such as 0.2 are not exact in binary, so a tiny shortfall is ignored.
      if (balance(now) < 1 - 1e-9) return false
      record(now, -1)
      return true
    }
  }
}

const slots = 10

/**
 * Provides one budget for the whole process. Provide this layer once, where the process starts.
 *
 * @category layers
 * @since 0.1.0
 */
export const layer = (options?: Options): Layer.Layer<never> => Layer.sync(current, () => make(options))
