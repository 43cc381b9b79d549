import * as Effect from "effect/Effect"
import type * as Fiber from "effect/Fiber"
import type { Fact } from "../../CallFacts.ts"
import type * as Tool from "../../Tool.ts"
import type { ToolFailure } from "../../ToolFailure.ts"
import type { Suspended } from "../../ToolOutcome.ts"
import type { Scope } from "../call/scope.ts"
import { attempt } from "../value/untrusted.ts"
import {
  approved,
  argumentsOf,
  askAgain,
  decisionOn,
  digestOfCall,
  noteDecision,
  saltFor,
  type Shown
} from "./approvalStage.ts"

/** What a call asks before it runs: for an approval, or whether to do again what has been done. */
export class CallQuestions {
  /** True if a person has said that what has been done shall be done again. */
  isWanted = false
  /** What the call runs with, if its intent does not say it. */
  shown: Shown | undefined = undefined
  readonly #call: Scope
  readonly #tool: Tool.Any
  readonly #salt: string | undefined

  /** @param salt that of the question with which the call was suspended */
  constructor(call: Scope, tool: Tool.Any, fiber: Fiber.Fiber<unknown, unknown>, salt: string | undefined) {
    this.#call = call
    this.#tool = tool
    this.#salt = salt ?? saltFor(tool, fiber)
  }

  #salted(shown: Shown): Shown {
    return this.#salt === undefined ? shown : { ...shown, salt: this.#salt }
  }

  /**
   * Asks whether what has been done shall be done again. Throws the question if there is no decision yet.
   *
   * @param denied whether an equal call was denied in this run
   */
  isToBeDoneAgain(toRun: Shown, done: NonNullable<Fact["done"]>, denied: Fact["denied"]): boolean {
    const shown = this.#salted(toRun)
    const decided = decisionOn(this.#call, digestOfCall(this.#tool, shown))
    // Who has changed the arguments to these has not been asked whether to do it again.
    if (decided !== undefined && decided.edited !== true) {
      noteDecision(this.#call, decided)
      return this.isWanted = decided.approved
    }
    if (denied !== undefined) return false
    throw askAgain(this.#call, this.#tool, shown, done)
  }

  /** Asks for the approvals of the call, if it needs any. Fails if the call is denied. */
  approved(toRun: Shown, denied: Fact["denied"]): Effect.Effect<void, ToolFailure> {
    const { approvals } = this.#tool
    return approvals === undefined
      ? Effect.void
      : approved(this.#call, this.#tool, approvals, this.#salted(toRun), denied)
  }

  /**
   * Adds to a question what its call would run with. The resumed call runs with that, and with nothing else.
   *
   * @param written the arguments as the model wrote them
   */
  asking(question: Suspended, toRun: Shown, written: string | undefined): Suspended {
    const shown = this.#salted({ params: toRun.params, text: toRun.text })
    const salted = shown.salt === undefined ? question : { ...question, salt: shown.salt }
    const { arguments: text = written } = question
    const outcome = shown.text === undefined || shown.text === text ? salted : { ...salted, arguments: shown.text }
    if (outcome.asks.digest !== undefined) return outcome
    const known = attempt(() => ({
      digest: digestOfCall(this.#tool, shown),
      arguments: argumentsOf(this.#tool, shown)
    }))
    return known === undefined ? outcome : { ...outcome, asks: { ...outcome.asks, ...known } }
  }
}
