/*
 * A policy of a user's own, watched from both sides, so that the account of the call is right whatever it does:
 *
 *     outer ── Visit: the policy's own code ─┬─ Branch: what is inside, run once
 *                                            └─ Branch: what is inside, run again, or beside
 *
 * Each run of what is inside has a branch of its own. What a branch says of its answer counts once it has succeeded. A failure that it
 * ends with was handled, unless the policy ends with the same one. The time in which nothing inside runs was waited. What still runs
 * when the policy has ended was left behind.
 */
import * as Cause from "effect/Cause"
import * as Clock from "effect/Clock"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import type * as Fiber from "effect/Fiber"
import { isToolFailure, type ToolFailure } from "../ToolFailure.ts"
import { Branch, current, type Frame, Gate, Inside, type Subject } from "./frame.ts"
import { isUnreadable } from "./outcome.ts"
import { named, type PolicyName } from "./policyKind.ts"
import { kind } from "./text.ts"
import { ended } from "./userCode.ts"

type Run = (params: unknown) => Effect.Effect<unknown, ToolFailure, unknown>

/** @param wrap the policy's own, given what is inside */
export const watched = (policy: PolicyName, tool: string, wrap: (run: Run) => Run, run: Run): Run => {
  const who = `The policy '${policy.name ?? policy.kind}' of '${tool}'`
  const around = wrap(observed(run))
  if (typeof around !== "function") {
    throw new TypeError(`${who} wraps a run in ${kind(around)}, which is not a function.`)
  }
  return (params) =>
    Effect.withFiber((fiber) => {
      const visit = new Visit(fiber.getRef(current), policy, fiber.getRef(Clock.Clock))
      return Effect.suspend(() => ended(who, around(params))).pipe(
        Effect.provideService(current, visit),
        Effect.onExit((exit) => Effect.sync(() => visit.finish(exit)))
      )
    })
}

// What is inside, each time that the policy runs it.
const observed = (run: Run): Run => (params) =>
  Effect.withFiber((fiber) => {
    const visit = fiber.getRef(current)
    if (!(visit instanceof Visit)) return run(params)
    const branch = visit.branch(fiber)
    return Effect.onExit(
      Effect.provideService(run(params), current, branch),
      (exit) => Effect.sync(() => visit.rejoin(branch, fiber, exit))
    )
  })

/** One call of a custom policy. */
export class Visit extends Gate {
  readonly #policy: PolicyName
  readonly #clock: Clock.Clock
  readonly #under = new Map<Fiber.Fiber<unknown, unknown>, Branch>()
  readonly #failures: Array<ToolFailure> = []
  #key: string | undefined = undefined
  #busy = 0
  #idleSince: number
  #idle = 0

  constructor(outer: Frame, policy: PolicyName, clock: Clock.Clock) {
    super(outer)
    this.#policy = policy
    this.#clock = clock
    this.#idleSince = clock.currentTimeMillisUnsafe()
  }

  /** Something inside runs, or the policy says itself that it waits. */
  occupy(): void {
    if (this.#busy++ === 0) this.#idle += this.#clock.currentTimeMillisUnsafe() - this.#idleSince
  }

  release(): void {
    if (--this.#busy === 0) this.#idleSince = this.#clock.currentTimeMillisUnsafe()
  }

  branch(fiber: Fiber.Fiber<unknown, unknown>): Branch {
    this.occupy()
    const branch = new Branch(this)
    this.#under.set(fiber, branch)
    return branch
  }

  /** A tool that the policy runs itself. No tool's name has a plus in it. */
  override enter(tool: Subject): Frame {
    this.#key ??= this.outer.live.keyInside(this.idempotencyKey, "policy+")
    return new Inside(this, this.live.keyInside(this.#key, tool.name), tool)
  }

  rejoin(branch: Branch, fiber: Fiber.Fiber<unknown, unknown>, exit: Exit.Exit<unknown, unknown>): void {
    this.release()
    this.#under.delete(fiber)
    this.live.rejoin(branch.live)
    const failures = failuresOf(exit)
    this.#failures.push(...failures)
    if (Exit.isSuccess(exit) || failures.some(({ _tag }) => _tag === "PartialData")) branch.leave()
  }

  /** The policy says itself what became of a failure. */
  settle(failure: ToolFailure): void {
    const index = this.#failures.lastIndexOf(failure)
    if (index !== -1) this.#failures.splice(index, 1)
  }

  finish(exit: Exit.Exit<unknown, unknown>): void {
    for (const failure of failuresOf(exit)) this.settle(failure)
    for (const failure of this.#failures) {
      this.handled(failure, named(this.#policy))
      // An answer that nobody could read is lost: the call may have acted.
      if (isUnreadable(failure)) this.doubt()
    }
    this.occupy()
    if (this.#idle > 0) this.note({ _tag: "WaitEnded", ...named(this.#policy), wait: Duration.millis(this.#idle) })
    for (const [fiber, branch] of this.#under) {
      this.live.rejoin(branch.live)
      this.live.running.add(fiber)
      this.note({ _tag: "AttemptAbandoned", ...named(this.#policy) })
    }
    this.close()
  }
}

const failuresOf = (exit: Exit.Exit<unknown, unknown>): ReadonlyArray<ToolFailure> =>
  Exit.isSuccess(exit)
    ? []
    : exit.cause.reasons.filter(Cause.isFailReason).map(({ error }) => error).filter(isToolFailure)
