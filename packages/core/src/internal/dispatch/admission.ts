import * as Effect from "effect/Effect"
import * as Arguments from "../../Arguments.ts"
import * as Availability from "../../Availability.ts"
import type * as DispatchFailure from "../../DispatchFailure.ts"
import { isIdempotent } from "../../SideEffect.ts"
import type * as Tool from "../../Tool.ts"
import { type ToolFailure, ToolUnavailable } from "../../ToolFailure.ts"
import type { Intent, ToolOutcome } from "../../ToolOutcome.ts"
import { type Admission, anyIntentOf, Intended, type Repeated, type Sent } from "../arguments/intent.ts"
import type { Call } from "../call/callFrame.ts"
import { detached, type Frame } from "../call/frame.ts"
import { nothing } from "../failure/done.ts"
import { attempted } from "../value/untrusted.ts"

/**
 * Decides of a call.
 *
 * @category models
 * @since 0.1.0
 */
export type Admit = (tool: Tool.Any, call?: Intended) => Admission

/** What a call is told of its place, as far as it is admitted by that. */
interface Place {
  readonly id?: string
  readonly idempotencyKey?: string
  readonly admit?: Admit
  readonly wasBegun?: boolean
}

/** Whether a call runs, with which arguments and under which key: asked again for each correction of its arguments. */
export class Admitting {
  readonly #call: Call
  readonly #tool: Tool.Any
  readonly #place: Place
  readonly #disabled: () => DispatchFailure.DispatchFailure | undefined
  /** What it is inside of, if its key comes of that. */
  readonly #outer: Frame | undefined
  #intended: Intended | undefined = undefined
  #number: number | undefined = undefined
  #isUnread = false

  constructor(
    call: Call,
    tool: Tool.Any,
    place: Place,
    disabled: () => DispatchFailure.DispatchFailure | undefined,
    outer: Frame
  ) {
    this.#call = call
    this.#tool = tool
    this.#place = place
    this.#disabled = disabled
    this.#outer = outer === detached || place.id !== undefined ? undefined : outer
  }

  #decide(params: unknown, text: string | undefined): Admission {
    const refusal = this.#disabled()
    if (refusal !== undefined) return { refusal }
    const decided = this.#asked(params, text)
    const { idempotencyKey } = this.#place
    const key = idempotencyKey === undefined ? decided.key ?? this.#outer?.keyFor(this.#call.tool, params) : undefined
    if (decided.refusal !== undefined) return decided
    this.#number = decided.number
    if (key !== undefined) this.#call.keyed = key
    return decided
  }

  #asked(params: unknown, text: string | undefined): Admission {
    const { admit } = this.#place
    if (admit === undefined) return {}
    const sent = this.#sent
    this.#intended = new Intended(this.#tool, params, text, sent)
    return admit(this.#tool, this.#intended)
  }

  get #sent(): Sent | undefined {
    const before = this.#intended
    const number = this.#number
    return before === undefined || number === undefined ? undefined : { id: before.id, number }
  }

  /** The parameters to run with. */
  readonly admit = (
    params: unknown,
    text: string | undefined,
    admitted?: () => void
  ): Effect.Effect<unknown, ToolFailure> => {
    const before = this.#intended
    const { refusal, repeated } = this.#decide(params, text)
    if (refusal !== undefined) {
      // What was run before a fixer corrected it is what the call has meant.
      if (this.#call.state.executions > 0) this.#intended = before
      this.#call.note({ _tag: "CallRefused", code: refusal.code })
      return Effect.fail(refusal)
    }
    admitted?.()
    if (this.#wasBegun) {
      this.#call.note({ _tag: "CallRepeated", certainty: "unknown" })
    }
    return repeated === undefined ? Effect.succeed(params) : this.#repeated(repeated, params)
  }

  // One key, one body: what the service was sent first, it is sent again.
  #repeated(repeated: Repeated, params: unknown): Effect.Effect<unknown, ToolFailure> {
    const { refusal, text } = repeated
    const sent: Effect.Effect<{ readonly params: unknown }, ToolFailure> = text === undefined
      ? Effect.succeed({ params })
      // It cannot be decoded where the tool has been changed since then.
      : Effect.mapErrorEager(Arguments.decode(text, this.#tool), (failure) => refusal ?? failure)
    return Effect.mapEager(sent, ({ params }) => {
      this.#tell(repeated)
      return params
    })
  }

  #tell({ certainty, isChanged, text }: Repeated): void {
    this.#call.note({ _tag: "CallRepeated", certainty })
    if (certainty === "not_executed") return
    const same =
      `An earlier call of ${this.#tool.name} may already have taken effect. Both calls have one key, and take effect once`
    const note = isChanged ? `${same}. The arguments of the earlier call were sent: ${text}` : same
    const repairs = [{ kind: "repeated", path: [], note }] as const
    if (isChanged && text !== undefined) {
      this.#call.adopt({ text, isSecret: false })
    }
    this.#call.note({ _tag: "ArgumentsRepaired", repairs })
  }

  /**
   * The arguments of a call.
   *
   * Of one that was under way when its process ended, nobody knows with which it was run where a fixer may have corrected them, or where they
   * cannot be decoded any more. It is not run again. What takes effect once, however often it runs, is run where it needed no fixer: what
   * the handler rejected then, it rejects now.
   */
  read<A, E>(decode: () => Effect.Effect<A, E>): Effect.Effect<A, E | ToolFailure> {
    if (!this.#wasBegun) return decode()
    const { fixers = [], sideEffect } = this.#tool
    const mayDiffer = fixers.some(({ on }) => sideEffect === "non_idempotent" || on.length > 0)
    if (mayDiffer) return this.#unread
    return fixers.length === 0 && isIdempotent(sideEffect)
      ? decode()
      : Effect.catchEager(decode(), () => this.#unread)
  }

  // Then it may have acted already.
  get #wasBegun(): boolean {
    return this.#place.wasBegun === true && this.#call.acts
  }

  /** Is the tool called at all now: neither refused, nor in an open circuit? */
  get isCalled(): Effect.Effect<boolean> {
    return Effect.map(
      Availability.lookup,
      (availabilityOf) =>
        availabilityOf(this.#tool)._tag === "Available" && this.#place.admit?.(this.#tool).refusal === undefined
    )
  }

  get #unread(): Effect.Effect<never, ToolFailure> {
    return Effect.suspend(() => {
      this.#isUnread = true
      return Effect.fail(lost(this.#tool.name))
    })
  }

  /** The outcome, with what the call was meant to do, where anybody needs to know. */
  named(outcome: ToolOutcome): ToolOutcome {
    const intent = this.#intended === undefined
      ? this.#isUnread ? anyIntentOf(this.#tool.name) : undefined
      : this.#intentOf(this.#intended, outcome)
    return intent === undefined ? outcome : { ...outcome, intent }
  }

  #intentOf(intended: Intended, outcome: ToolOutcome): Intent | undefined {
    const { acts, askedKey: key, state: { lasting } } = this.#call
    const isNeeded = acts || intended.isKnown || outcome._tag === "Failed"
    // An identity that throws has been reported.
    if (!isNeeded || attempted(() => intended.isEmpty) !== false) {
      // What is suspended says so that it was admitted.
      return outcome._tag === "Suspended" ? anyIntentOf(this.#tool.name) : undefined
    }
    const isSentAgain = this.#tool.sideEffect === "idempotent_by_key" && outcome.certainty !== "not_executed" &&
      (outcome._tag !== "Completed" || outcome.certainty === "unknown")
    const text = isSentAgain ? intended.again : undefined
    const number = this.#number
    return {
      id: intended.id,
      arguments: intended.arguments,
      ...(number === undefined ? {} : { number }),
      ...(key === undefined ? {} : { key }),
      ...(lasting === nothing ? {} : { lasting: true }),
      ...(text === undefined ? {} : { text })
    }
  }
}

/** What becomes of a call that was under way when its process ended, and cannot be run again. */
export const lost = (tool: string): ToolUnavailable =>
  new ToolUnavailable({
    code: "outcome_unknown",
    detail: `${tool} was running when its process ended.`,
    transient: false,
    outcome: "unknown"
  })
