import * as Effect from "effect/Effect"
import type * as Fiber from "effect/Fiber"
import type { Fact } from "../../CallFacts.ts"
import type { Question } from "../../Question.ts"
import type * as Tool from "../../Tool.ts"
import type { ToolFailure } from "../../ToolFailure.ts"
import type { Suspended } from "../../ToolOutcome.ts"
import type { Scope } from "../call/scope.ts"
import { attempt } from "../value/untrusted.ts"
import { approved, argumentsOf, digestOfCall, saltFor, type Shown } from "./approvalStage.ts"

/** What a call runs with, and the text that it was decoded from. */
export type ToRun = Pick<Shown, "params" | "text">

const none: ReadonlyArray<never> = []

/** What a call asks before it runs: for an approval, or whether to do again what has been done. */
export class CallQuestions {
  /** Present if an earlier run has done what the call would do. A person is asked whether to do it again. */
  again: Question["again"]
  /** What the call runs with, if its intent does not say it. */
  shown: ToRun | undefined = undefined
  readonly #call: Scope
  readonly #tool: Tool.Any
  readonly #salt: string | undefined

  /** @param salt that of the question with which the call was suspended */
  constructor(call: Scope, tool: Tool.Any, fiber: Fiber.Fiber<unknown, unknown>, salt: string | undefined) {
    this.#call = call
    this.#tool = tool
    this.#salt = salt ?? saltFor(tool, fiber)
  }

  #salted({ params, text }: ToRun): Shown {
    return this.#salt === undefined ? { params, text } : { params, text, salt: this.#salt }
  }

  /** Asks for the approvals of the call, if it needs any. Fails if the call is denied. */
  approved(toRun: ToRun, denied: Fact["denied"]): Effect.Effect<void, ToolFailure> {
    const { again } = this
    const { approvals = none } = this.#tool
    if (approvals.length === 0 && again === undefined) return Effect.void
    const shown = this.#salted(toRun)
    return approved(this.#call, this.#tool, approvals, again === undefined ? shown : { ...shown, again }, denied)
  }

  /**
   * Adds to a question what its call would run with. The resumed call runs with that, and with nothing else.
   *
   * @param written the arguments as the model wrote them
   */
  asking(question: Suspended, toRun: ToRun, written: string | undefined): Suspended {
    const shown = this.#salted(toRun)
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
