import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Result from "effect/Result"
import * as CallFacts from "../../CallFacts.ts"
import type * as Tool from "../../Tool.ts"
import type * as Toolkit from "../../Toolkit.ts"
import type { Settlement } from "../../ToolOutcome.ts"
import { keyOfIntent } from "../call/idempotencyKey.ts"
import { settleInner } from "../call/innerScope.ts"
import { note } from "../call/note.ts"
import type { Scope } from "../call/scope.ts"
import { SuspendSignal } from "../failure/controlSignal.ts"
import { effectsOf } from "../failure/effects.ts"
import { reportDefect } from "../fiber/reportDefect.ts"
import { factOf } from "./callFact.ts"
import { runningOf } from "./doubtAge.ts"
import { forgetLateDoubt } from "./lateDoubt.ts"
import { certaintyIn, questionAbout, verdictOf } from "./settlement.ts"

/** The facts that a call knows: those before it, with the doubts that it has settled since. */
export class KnownFacts {
  /** The facts; `undefined` if the call was made without any. */
  current: CallFacts.CallFacts | undefined
  /** The doubts that this call has settled, also before it was suspended. */
  settled: ReadonlyArray<Settlement>
  readonly #call: Scope
  readonly #asks: boolean

  /**
   * @param asks whether the user is asked about a doubt that refuses the call
   * @param settled the doubts that the call had settled before it was suspended
   */
  constructor(
    call: Scope,
    facts: CallFacts.CallFacts | undefined,
    asks: boolean,
    settled: ReadonlyArray<Settlement> = none
  ) {
    this.#call = call
    this.settled = settled
    this.current = facts === undefined ? undefined : settled.reduce(withSettlement, facts)
    this.#asks = asks
  }

  /**
   * Asks the user what became of the call in doubt that refuses this one. Returns true if the reply has settled the doubt.
   * Only the words "yes" and "no" settle it. Throws the question if there is no reply yet.
   *
   * @param id the id of the call in doubt
   */
  areSettledByUser(id: string): boolean {
    const facts = this.current
    if (!this.#asks || facts === undefined) return false
    const question = questionAbout(facts, id)
    // Nobody can know what becomes of a call that is still running.
    if (question === undefined || runningOf(facts.scope ?? "", id)?.() === true) return false
    const { id: call, live } = this.#call
    const reply = live.replyTo(call, question)
    if (reply === undefined) throw new SuspendSignal(question, call, { kind: "doubt", choices: ["yes", "no"] })
    const certainty = certaintyIn(reply)
    if (certainty !== undefined) this.settle({ id, certainty, by: "person" })
    return certainty !== undefined
  }

  /**
   * Settles the doubts that the result of this call, a check, says something about. Only a fresh result says anything.
   *
   * @param effect the identity of the check's call
   * @param begun the time at which the check began, by the monotonic clock
   */
  settleBy(
    check: Tool.Any,
    result: unknown,
    effect: () => string | undefined,
    toolkit: Toolkit.Toolkit,
    begun: bigint
  ): Effect.Effect<void> {
    return Effect.catchCause(
      Effect.map(Clock.monotonicTimeNanos, (now) => {
        const facts = this.current
        const about = facts === undefined || !isFresh(this.#call) ? undefined : effect()
        if (facts === undefined || about === undefined) return
        const verdict = verdictOf(check, result, about, facts, toolkit, begun, now)
        if (verdict?.settlement !== undefined) this.settle(verdict.settlement)
        if (verdict !== undefined) note(this.#call, { _tag: "CaveatAdded", text: verdict.note })
      }),
      (cause) => reportDefect(`The 'settles' of the tool ${check.name} failed with an internal error`, cause)
    )
  }

  settle(settlement: Settlement): void {
    const facts = this.current
    if (facts === undefined) return
    const { by, certainty, id } = settlement
    const { failed, number }: CallFacts.Fact = factOf(facts, id)
    const { around } = this.#call
    this.current = withSettlement(facts, settlement)
    this.settled = [...this.settled, settlement]
    if (facts.scope !== undefined) forgetLateDoubt(facts.scope, id)
    note(this.#call, { _tag: "DoubtSettled", about: failed?.tool ?? this.#call.tool.name, certainty, by })
    if (around !== undefined) settleInner(around, keyOfIntent(facts.scope ?? "", id, number), effectsOf(certainty))
  }
}

const none: ReadonlyArray<never> = []

const withSettlement = (facts: CallFacts.CallFacts, settlement: Settlement): CallFacts.CallFacts =>
  Result.getOrElse(CallFacts.settle(facts, settlement.id, settlement), () => facts)

// True if the result is the handler's own, from this call: an answer from a cache or a fallback may be from before.
const isFresh = ({ live, state: { attempts, executions, handled, source } }: Scope): boolean =>
  executions > 0 && attempts === executions && source?.age === undefined && !live.isOwnAnswer &&
  handled.toArray().every(({ by }) => by === "retry")
