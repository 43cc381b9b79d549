/**
 * How many retries a process may make, as a share of what succeeds.
 *
 * Why a budget and not a maximum of retries? A maximum bounds one call; it does not bound a thousand. When a
 * service is down, three attempts a call are three times the load, just when the service can bear it least, and
 * layers that retry around each other multiply. A budget looks at the whole: each success deposits a fifth of a
 * retry, each retry withdraws a whole one, and when nothing succeeds any more there are but the few that the
 * reserve allows, however many calls fail. (The design is that of tower's `retry::budget`, after Finagle's
 * `RetryBudget`.)
 *
 *     tools and model calls ── retry ── withdraw ─┐
 *                              success ─ deposit ─┴─ one budget per process: provide its layer once
 *
 * `Tool.retry` and `Model.retry` ask it whenever there is one; without one, retries are bound by their schedules alone.
 *
 * @since 0.1.0
 */
import * as Context from "effect/Context"
import * as Duration from "effect/Duration"
import * as Layer from "effect/Layer"

/**
 * Takes deposits and gives out retries. Both are plain functions of the time in milliseconds, since they stand on every
 * call's way.
 *
 * @category models
 * @since 0.1.0
 */
export interface RetryBudget {
  /** Something succeeded. */
  readonly deposit: (now: number) => void
  /** May something be tried again? If so, it is paid for. */
  readonly withdraw: (now: number) => boolean
}

/**
 * What a budget is made of.
 *
 * @category models
 * @since 0.1.0
 */
export interface Options {
  /** Retries per success, from 0 to 1. Default: 0.2, a fifth more load at the most. */
  readonly ratio?: number
  /** Retries that are always there, per second, for those who call seldom. Default: 10. */
  readonly minPerSecond?: number
  /** How long a deposit counts. Default: 10 seconds. */
  readonly timeToLive?: Duration.Input
}

/**
 * The budget of the process; by default there is none, and nothing is counted.
 *
 * @category context
 * @since 0.1.0
 */
export const current: Context.Reference<RetryBudget | undefined> = Context.Reference<RetryBudget | undefined>(
  "@fallible/core/RetryBudget/current",
  { defaultValue: () => undefined }
)

/**
 * A budget. Numbers out of their range throw.
 *
 * @example
 * ```ts
 * import { RetryBudget } from "@fallible/core"
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
  if (!(ratio >= 0 && ratio <= 1)) throw new RangeError(`A retry budget's ratio is from 0 to 1; got ${ratio}.`)
  if (!(minPerSecond >= 0 && Number.isFinite(minPerSecond))) {
    throw new RangeError(`A retry budget's minPerSecond is a number from 0; got ${minPerSecond}.`)
  }
  if (!(window > 0 && Number.isFinite(window))) {
    throw new RangeError("A retry budget's timeToLive is a finite duration above zero.")
  }
  const slot = window / slots
  const reserve = minPerSecond * window / 1000
  // What was deposited less what was withdrawn, per slot of time: a ring, in which a slot's time says whether it still counts.
  const balances = new Float64Array(slots)
  const times = new Float64Array(slots).fill(-Infinity)
  const book = (now: number, amount: number) => {
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
    deposit: (now) => book(now, ratio),
    withdraw: (now) => {
      // Fifths do not add up to a whole in binary.
      if (balance(now) < 1 - 1e-9) return false
      book(now, -1)
      return true
    }
  }
}

const slots = 10

/**
 * One budget for all that runs below it: provide it once, where the process starts.
 *
 * @category layers
 * @since 0.1.0
 */
export const layer = (options?: Options): Layer.Layer<never> => Layer.sync(current, () => make(options))
