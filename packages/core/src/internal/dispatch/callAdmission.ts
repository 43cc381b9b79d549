import * as Cause from "effect/Cause"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import type * as Fiber from "effect/Fiber"
import * as Struct from "effect/Struct"
import * as Arguments from "../../Arguments.ts"
import * as Availability from "../../Availability.ts"
import type * as CallFacts from "../../CallFacts.ts"
import type * as Tool from "../../Tool.ts"
import { type ToolFailure, ToolUnavailable } from "../../ToolFailure.ts"
import type { ToolHealth } from "../../ToolHealth.ts"
import type * as Toolkit from "../../Toolkit.ts"
import type { Intent, Settlement, Stage, Suspended, ToolOutcome } from "../../ToolOutcome.ts"
import { anyCallOf, anyIntentOf, Intended, type Sent } from "../arguments/callIntent.ts"
import * as DispatchFailure from "../arguments/dispatchFailure.ts"
import { isIdentified } from "../arguments/freeText.ts"
import { isLasting } from "../call/done.ts"
import { keyOfCallIn } from "../call/innerScope.ts"
import { isIdempotent } from "../call/isIdempotent.ts"
import { whetherRunning } from "../call/mayBegin.ts"
import { note } from "../call/note.ts"
import { noteAgain, openRun } from "../call/openRuns.ts"
import { detached, type Scope } from "../call/scope.ts"
import { isReconciled } from "../call/settling.ts"
import { effectsOf } from "../failure/effects.ts"
import { attempt } from "../value/untrusted.ts"
import { deniedBefore } from "./approvalStage.ts"
import { CallQuestions, type ToRun } from "./callQuestions.ts"
import { noteEnd, noteStopped, runningOf } from "./doubtAge.ts"
import { type EarlierCall, isJoinable, joinedCall, joinedOutcome } from "./equalCalls.ts"
import { disabledRefusal } from "./healthCount.ts"
import { KnownFacts } from "./knownFacts.ts"
import { noteLateDoubt } from "./lateDoubt.ts"
import { keepKeyNumber } from "./recordCalls.ts"
import { type Admission, admissionOf, admissionOfText, type Repeated, writtenOf } from "./repeatedCall.ts"
import { shownArguments } from "./shownArguments.ts"

/** The options of a call that decide whether the call may run. */
interface Options {
  readonly id?: string
  readonly idempotencyKey?: string
  readonly facts?: CallFacts.CallFacts
  readonly refusal?: DispatchFailure.DispatchFailure | undefined
  readonly loopRefusal?: DispatchFailure.DispatchFailure | undefined
  readonly before?: {
    readonly intent?: Intent | undefined
    readonly arguments?: string | undefined
    readonly settled?: ReadonlyArray<Settlement> | undefined
    readonly asks?: Suspended["asks"]
    readonly salt?: string
  }
  readonly wasBegun?: boolean
  readonly turn?: ReadonlyArray<EarlierCall> | undefined
  readonly onDoubt?: "refuse" | "ask" | undefined
  readonly onDone?: "refuse" | "ask" | undefined
  readonly asksOnly?: boolean
}

/**
 * Decides whether a call runs, with which arguments, and under which key. Decides again after each correction of
 * the arguments.
 */
export class CallAdmission {
  /** How far the call has come. */
  stage: Stage = "decode"
  readonly #call: Scope
  readonly #tool: Tool.Any
  readonly #options: Options
  readonly #health: ToolHealth["Service"] | undefined
  /** The scope of the outer call, if this call's key derives from the outer key. */
  readonly #outer: Scope | undefined
  /** True if the call was running when its process ended, and may have acted. */
  readonly #wasBegun: boolean
  /** True until the first decision, if the call was already admitted before its suspension. */
  #isAdmitted: boolean
  #intended: Intended | undefined = undefined
  #number: number | undefined = undefined
  #repeats: Repeated | undefined = undefined
  #isIntentUnknown = false
  /** The earlier call of the same turn whose outcome this call shares. */
  #joined: EarlierCall | undefined = undefined
  /** Absent until something may be settled. */
  #known: KnownFacts | undefined
  readonly #fiber: Fiber.Fiber<unknown, unknown>
  /** The arguments as the model wrote them. */
  readonly #written: string | undefined
  /** The arguments of an earlier call, which this call repeats although a fixer might correct its text otherwise. */
  #again: string | undefined = undefined
  /** Absent for nearly all calls. */
  #asking: CallQuestions | undefined = undefined

  /** @param written the arguments as the model wrote them */
  constructor(
    call: Scope,
    tool: Tool.Any,
    written: string | undefined,
    options: Options,
    health: ToolHealth["Service"] | undefined,
    outer: Scope,
    fiber: Fiber.Fiber<unknown, unknown>
  ) {
    const { before, id } = options
    this.#fiber = fiber
    this.#call = call
    this.#tool = tool
    this.#written = written
    this.#options = options
    this.#known = before?.settled === undefined ? undefined : this.#facts
    this.#health = health
    this.#outer = outer === detached || id !== undefined ? undefined : outer
    // What is to be approved has not begun, and what other calls have done since may refuse it.
    this.#isAdmitted = before?.intent !== undefined && before.asks?.kind !== "approval"
    this.#wasBegun = options.wasBegun === true && call.acts
  }

  get #facts(): KnownFacts {
    const { before, facts, onDoubt } = this.#options
    return this.#known ??= new KnownFacts(this.#call, facts, onDoubt === "ask", before?.settled)
  }

  get #current(): CallFacts.CallFacts | undefined {
    return this.#known === undefined ? this.#options.facts : this.#known.current
  }

  get #settled(): ReadonlyArray<Settlement> {
    return this.#known?.settled ?? none
  }

  #decide(params: unknown, text: string | undefined): Admission {
    const refusal = this.#disabled
    if (refusal !== undefined) return { refusal }
    const decided = this.#byFacts(params, text)
    if (decided.refusal !== undefined) return decided
    this.#number = decided.number
    if (this.#call.around !== undefined) this.#decideInside(this.#call.around, params, decided.key)
    else if (decided.key !== undefined && this.#options.idempotencyKey === undefined) this.#call.keyBy(decided.key)
    return decided
  }

  // Inside another call, this call may continue an open run.
  #decideInside(around: Scope, params: unknown, keyOfFacts: (() => string) | undefined): void {
    const { facts, idempotencyKey } = this.#options
    const isPlaced = idempotencyKey === undefined && keyOfFacts === undefined && this.#outer !== undefined
    // A model makes these calls. In an earlier run, it may have made the same call in other words.
    const isReworded = facts !== undefined && this.#tool.sideEffect !== "idempotent" && !isIdentified(this.#tool)
    const open = openRun(around, this.#call.tool, params, isPlaced, isReworded)
    const isOtherKey = idempotencyKey !== undefined && open?.key !== idempotencyKey
    const again = open !== undefined && isOtherKey ? { ...open, isLasting: true } : open
    this.#call.ran = { params, again, isPlaced }
    if (idempotencyKey !== undefined) return
    const key = again === undefined ? keyOfFacts ?? this.#outerKey(params) : () => again.key
    if (key !== undefined) this.#call.keyBy(key)
  }

  get #disabled(): DispatchFailure.DispatchFailure | undefined {
    return disabledRefusal(this.#tool, this.#health)
  }

  #outerKey(params: unknown): (() => string) | undefined {
    return this.#outer === undefined ? undefined : keyOfCallIn(this.#outer, this.#call.tool, params)
  }

  #byFacts(params: unknown, text: string | undefined): Admission {
    const { before, loopRefusal, refusal } = this.#options
    const wasAdmitted = this.#isAdmitted
    this.#isAdmitted = false
    // A resumed call keeps the number that its key was derived from.
    const known = this.#current
    const facts = known === undefined ? undefined : keepKeyNumber(known, before?.intent)
    if (facts !== undefined) this.#intended = new Intended(this.#tool, params, text, this.#sent)
    if (facts === undefined || this.#intended === undefined) return wasAdmitted ? {} : { refusal }
    if (!wasAdmitted && (refusal !== undefined || loopRefusal !== undefined)) {
      return this.#refused(facts, this.#intended, refusal, loopRefusal)
    }
    const admission = admissionOf(facts, this.#tool, this.#intended, this.#asking?.again !== undefined)
    if (!wasAdmitted || admission.refusal === undefined) return admission
    const key = before?.intent?.key
    return key === undefined ? {} : { key: () => key }
  }

  // A limit, or a guard against loops, knows nothing of doubt: it might send the model to another tool. So the facts come
  // first. A call that is safe to send again under its key runs although the run is stuck.
  #refused(
    facts: CallFacts.CallFacts,
    intended: Intended,
    limit: DispatchFailure.DispatchFailure | undefined,
    loopRefusal: DispatchFailure.DispatchFailure | undefined
  ): Admission {
    const admission: Admission = attempt(() => admissionOf(facts, this.#tool, intended)) ?? {}
    const { doubt, refusal, refusedBy, repeated } = admission
    if (refusal !== undefined) return { refusal, refusedBy }
    if (limit !== undefined) return { refusal: doubt ?? limit }
    const isSafe = repeated !== undefined && repeated.certainty !== "not_executed"
    return isSafe ? admission : { refusal: doubt ?? loopRefusal }
  }

  get #sent(): Sent | undefined {
    const before = this.#intended
    const number = this.#number
    return before === undefined || number === undefined ? undefined : { id: before.id, number }
  }

  /** Decides whether the call may run with these parameters. Returns the refusal, if it may not. */
  refuse(params: unknown, text: string | undefined): ToolFailure | undefined {
    this.stage = "admit"
    const before = this.#intended
    const wasAdmitted = this.#isAdmitted
    const written = this.#again ?? text
    if (this.#asking !== undefined) this.#asking.again = undefined
    let decided = this.#decide(params, written)
    if (this.#intended === undefined || this.#asking?.shown !== undefined) {
      this.#questions.shown = { params, text: written }
    }
    if (!wasAdmitted && this.#joins()) return joinedCall
    while (decided.refusedBy !== undefined && this.#facts.areSettledByUser(decided.refusedBy)) {
      decided = this.#decide(params, written)
    }
    if (decided.done !== undefined && this.#options.onDone === "ask") {
      // A person is asked, if nothing else refuses the call.
      this.#questions.again = Struct.omit(decided.done, ["run"])
      decided = this.#decide(params, written)
    }
    const { repeated } = decided
    const { turn = none } = this.#options
    const refusal = decided.refusal ?? (this.#call.acts ? this.#doneMeanwhile(turn) : undefined)
    if (refusal !== undefined) {
      // The call already ran with its earlier arguments, and these still determine its intent.
      if (this.#call.state.executions > 0) this.#intended = before
      note(this.#call, { _tag: "CallRefused", code: refusal.code })
      return refusal
    }
    this.#repeats = repeated
    return undefined
  }

  // ---------------------------------------------------------------------------
  // Questions
  // ---------------------------------------------------------------------------

  get #questions(): CallQuestions {
    return this.#asking ??= new CallQuestions(this.#call, this.#tool, this.#fiber, this.#options.before?.salt)
  }

  // What the call runs with.
  get #shown(): ToRun | undefined {
    return this.#asking?.shown ?? this.#intended
  }

  // An `identity` that throws has already been reported.
  get #denied(): CallFacts.Fact["denied"] {
    return deniedBefore(this.#current, attempt(() => this.#intended?.id))
  }

  // The handler of a tool that the client runs only asks, too.
  get #asksOnly(): boolean {
    return this.#options.asksOnly === true && this.#tool.client !== true
  }

  // A call that may only ask ends here.
  #approved(shown: ToRun): Effect.Effect<unknown, ToolFailure> {
    return Effect.andThen(
      this.#questions.approved(shown, this.#denied),
      Effect.suspend((): Effect.Effect<unknown, ToolFailure> => {
        if (this.#asksOnly) return Effect.fail(DispatchFailure.notRun(this.#tool.name))
        this.stage = "run"
        return Effect.succeed(shown.params)
      })
    )
  }

  /** Adds to a question what its call would run with. */
  asking(question: Suspended): Suspended {
    const shown = this.#shown
    return shown === undefined ? question : this.#questions.asking(question, shown, this.#written)
  }

  // ---------------------------------------------------------------------------
  // Equal calls of one turn
  // ---------------------------------------------------------------------------

  /** True if an equal call of the same turn ran in place of this one. */
  get isJoined(): boolean {
    return this.#joined !== undefined
  }

  #joins(): boolean {
    const { turn } = this.#options
    const intended = this.#intended
    if (turn === undefined || turn.length === 0 || intended === undefined || !isJoinable(this.#tool)) return false
    if (attempt(() => intended.isEmpty) !== false) return false
    return this.#join(turn.find(({ outcome }) => outcome.intent?.id === intended.id))
  }

  #join(earlier: EarlierCall | undefined): boolean {
    if (earlier === undefined) return false
    this.#joined = earlier
    note(this.#call, { _tag: "CallJoined" })
    return true
  }

  // The call was made before its model could read that an earlier one has taken effect.
  #doneMeanwhile(turn: ReadonlyArray<EarlierCall>): DispatchFailure.DispatchFailure | undefined {
    const { name } = this.#tool
    const isDone = ({ by, certainty, id }: Settlement) =>
      by === "person" && certainty === "executed" && id !== this.#intended?.id
    // With an identity, the other calls of the turn say themselves that they are others. But nothing says which call it was
    // whose arguments are lost.
    const mayBeThis = (settlement: Settlement) =>
      isDone(settlement) && (settlement.id === anyCallOf(name) || !isIdentified(this.#tool))
    const isTold = this.#settled.some(isDone) ||
      turn.some(({ call, outcome }) => call.name === name && outcome.settled?.some(mayBeThis) === true)
    return isTold ? DispatchFailure.doneMeanwhile(name) : undefined
  }

  /** Settles the doubts that the result of this call, a check, says something about. */
  settleBy(result: unknown, toolkit: Toolkit.Toolkit, begun: bigint): Effect.Effect<void> {
    return this.#facts.settleBy(this.#tool, result, () => this.#intended?.effect, toolkit, begun)
  }

  /** Returns the parameters to run with: those of an earlier call, if this call repeats it. */
  admitted(params: unknown): Effect.Effect<unknown, ToolFailure> {
    if (this.#wasBegun) this.#noteDoubt()
    const again = this.#call.ran?.again
    if (again !== undefined) noteAgain(this.#call, again)
    if (this.#repeats !== undefined) return this.#repeated(this.#repeats, params)
    if (
      this.#tool.approvals !== undefined || this.#options.asksOnly === true || this.#asking?.again !== undefined
    ) {
      return this.#approved({ params, text: this.#shown?.text })
    }
    this.stage = "run"
    return Effect.succeed(params)
  }

  #noteDoubt(): void {
    note(this.#call, { _tag: "CallRepeated", effects: "maybe" })
  }

  /**
   * Returns the stage in which a call ended.
   *
   * A call that was running when its process ended may not have been admitted again, because a schema or an `identity`
   * threw. It stays in doubt. The stage `admit` would say that it did not run in the earlier process either.
   */
  stageOf(cause: Cause.Cause<unknown>): Stage {
    if (!this.#wasBegun || this.#call.certainty !== "not_executed" || !Cause.hasDies(cause)) return this.stage
    this.#isIntentUnknown = true
    this.#noteDoubt()
    return "decode"
  }

  // A service must always receive the same body under one key. So the arguments of the earlier call are sent again.
  #repeated(repeated: Repeated, params: unknown): Effect.Effect<unknown, ToolFailure> {
    const { checked, refusal, text } = repeated
    const { facts: { scope } = {} } = this.#options
    // A check proves nothing while the earlier call runs.
    if (scope !== undefined && this.#intended !== undefined) {
      this.#call.alsoRuns = runningOf(scope, this.#intended.id)
    }
    const earlier: Effect.Effect<{ readonly params: unknown }, ToolFailure> = text === undefined
      ? Effect.succeed({ params })
      // Decoding fails if the tool has changed since the earlier call.
      : Effect.mapErrorEager(Arguments.decode(text, this.#tool), (failure) => refusal ?? failure)
    return Effect.flatMapEager(earlier, (again) => {
      if (checked !== undefined && text !== undefined && !this.#isThat(again.params, text, checked)) {
        return Effect.fail(refusal!)
      }
      this.#noteRepetition(repeated)
      // What is checked is the earlier call. What runs, once a check has proved that nothing was done, is this one.
      if (checked !== undefined) {
        this.#call.doubted = again
        return this.#approved({ params, text: this.#shown?.text })
      }
      const shown = { params: again.params, text: text ?? this.#shown?.text }
      // The arguments of the earlier call count for all that is asked.
      if (text !== undefined) this.#questions.shown = shown
      return this.#approved(shown)
    })
  }

  // Arguments with a default, for example, may be others if the tool has changed since.
  #isThat(params: unknown, text: string, digest: string): boolean {
    return attempt(() => new Intended(this.#tool, params, text).arguments) === digest
  }

  #noteRepetition({ certainty, checked, doubt, isChanged, text }: Repeated): void {
    note(this.#call, {
      _tag: "CallRepeated",
      effects: effectsOf(certainty),
      ...(doubt === undefined ? {} : { doubt })
    })
    this.#call.repeatsDoubt = certainty !== "not_executed"
    if (certainty === "not_executed" || checked !== undefined) return
    const same =
      `An earlier call of ${this.#tool.name} may already have taken effect. Both calls share one idempotency key, so the effect happens only once`
    const sentence = isChanged ? `${same}. The arguments of the earlier call were sent: ${text}` : same
    if (isChanged && text !== undefined) this.#call.adopt({ text, isSecret: false })
    note(this.#call, { _tag: "ArgumentsRepaired", repairs: [{ kind: "repeated", path: [], note: sentence }] })
  }

  /**
   * Decodes the arguments of the call.
   *
   * A call that was running when its process ended may have had other arguments: a fixer may have corrected them,
   * or they may no longer decode. Such a call fails with `outcome_unknown`, and does not run again.
   *
   * A call to an idempotent tool is different. Without fixers it just decodes again. With fixers it runs again if
   * its arguments decode, and if no fixer is asked about failed executions (the option `on`). This is safe, because
   * a handler that rejected these arguments rejects them again.
   */
  read<A, E>(decode: (again?: string) => Effect.Effect<A, E>): Effect.Effect<A, E | ToolFailure> {
    const early = this.#before()
    if (early.refusal !== undefined) return Effect.fail(early.refusal)
    if (!this.#wasBegun) return decode(early.text)
    // The refusal of a disabled tool would say that the call did nothing.
    if (this.#disabled !== undefined) return this.#failUnread
    const { fixers = [], sideEffect } = this.#tool
    const mayDiffer = fixers.some(({ on }) => sideEffect === "non_idempotent" || on.length > 0)
    if (mayDiffer) return this.#failUnread
    return fixers.length === 0 && isIdempotent(sideEffect)
      ? decode()
      : Effect.catchEager(decode(), () => this.#failUnread)
  }

  // What the text alone says, before anything is made of it. A fixer may correct the same text differently the next time.
  #before(): { readonly refusal?: ToolFailure; readonly text?: string | undefined } {
    const { before, turn } = this.#options
    if (!this.#call.acts || this.#isAdmitted || before?.arguments !== undefined) return noText
    const written = this.#written
    const { fixers = [], name } = this.#tool
    const isSame = ({ call }: EarlierCall) => call.name === name && call.arguments === written
    if (turn !== undefined && isJoinable(this.#tool) && this.#join(turn.find(isSame))) return { refusal: joinedCall }
    if (fixers.length === 0) return noText
    const known = () => {
      const current = this.#current
      return current === undefined ? {} : admissionOfText(current, this.#tool, writtenOf(name, written))
    }
    let admission = known()
    while (admission.refusedBy !== undefined && this.#facts.areSettledByUser(admission.refusedBy)) admission = known()
    const { refusal, text } = admission
    if (refusal === undefined) return { text: this.#again = text }
    this.stage = "admit"
    note(this.#call, { _tag: "CallRefused", code: refusal.code })
    return { refusal }
  }

  /** Returns true if the call would reach the tool now: the tool is available, and the call is not refused. */
  get isCalled(): Effect.Effect<boolean> {
    // What needs a correction asks later, when it is its turn.
    if (this.#options.asksOnly === true) return Effect.succeed(false)
    return Effect.map(
      Availability.lookup,
      (availabilityOf) =>
        availabilityOf(this.#tool)._tag === "Available" && (this.#isAdmitted || this.#options.refusal === undefined)
    )
  }

  get #failUnread(): Effect.Effect<never, ToolFailure> {
    return Effect.suspend(() => {
      this.#isIntentUnknown = true
      return Effect.fail(lostInProcess(this.#tool.name))
    })
  }

  /** Adds the intent of the call to the outcome, if later calls may need the intent. */
  named(outcome: ToolOutcome): ToolOutcome {
    if (this.#joined !== undefined) {
      return joinedOutcome(this.#joined, outcome, this.#written, this.#tool.repeats !== false)
    }
    this.#settleByReconcile(outcome)
    const settled = this.#settled
    const intent = this.#intended === undefined
      ? this.#isIntentUnknown ? anyIntentOf(this.#tool.name) : undefined
      : this.#intentOf(this.#intended, outcome)
    if (intent !== undefined) {
      this.#watchLate(intent)
      if (outcome.doubt !== undefined) this.#noteDoubtAge(intent)
    }
    const named = intent === undefined ? outcome : { ...outcome, intent }
    return settled.length === 0 ? named : { ...named, settled }
  }

  /** Like {@link named}, while the call runs: nothing is noted. */
  soFar(outcome: ToolOutcome): ToolOutcome {
    const intent = this.#intended === undefined ? undefined : this.#intentOf(this.#intended, outcome)
    return intent === undefined ? outcome : { ...outcome, intent }
  }

  // Nothing else than a check clears the doubt about an earlier call that this one repeats, or may repeat.
  #settleByReconcile({ certainty }: ToolOutcome): void {
    const { corrected, executions, wasDoneBefore } = this.#call.state
    const repeats = this.#repeats
    // If the handler has run, a check had proved that the earlier call did nothing. The doubt is about this call now.
    const hasRun = repeats?.checked !== undefined && executions > corrected
    const settled = certainty === "executed"
      ? wasDoneBefore ? certainty : undefined
      : hasRun || certainty === "not_executed" && repeats?.certainty === "unknown"
      ? "not_executed"
      : undefined
    if (settled === undefined || this.#intended === undefined) return
    this.#facts.settle({ id: this.#intended.id, certainty: settled, by: "reconcile" })
  }

  #noteDoubtAge({ id }: Pick<Intent, "id">): void {
    const { facts: { scope } = {} } = this.#options
    if (scope === undefined || !this.#call.acts) return
    const clock = this.#fiber.getRef(Clock.Clock)
    const runs = whetherRunning(this.#call)
    noteEnd(scope, id, clock.monotonicTimeNanosUnsafe(), runs)
    if (runs === undefined) return
    for (const fiber of this.#call.live.abandoned.fibers) {
      fiber.addObserver(() => noteStopped(scope, id, clock.monotonicTimeNanosUnsafe()))
    }
  }

  // A request after the end of the call puts it in doubt, which its outcome cannot say any more.
  #watchLate({ id, number }: Intent): void {
    if (!this.#call.acts) return
    const { run = 0, scope } = this.#options.facts ?? {}
    const intended = this.#intended
    const { name: tool } = this.#tool
    if (scope === undefined || number === undefined || intended === undefined) return
    // V8 puts a function literal that is assigned to a property into old space, where it keeps all that it refers to.
    const onLateRequest = () => {
      const text = attempt(() => this.#textOf(intended))
      noteLateDoubt(scope, {
        id,
        number,
        failed: {
          tool,
          run,
          executions: 1,
          certainty: "unknown",
          arguments: intended.arguments,
          ...(text === undefined ? {} : { text }),
          code: "outcome_unknown",
          detail: `${tool} sent a request after its call had ended.`,
          tag: "ToolUnavailable"
        }
      })
      this.#noteDoubtAge({ id })
    }
    this.#call.onLateRequest = onLateRequest
  }

  #intentOf(intended: Intended, outcome: ToolOutcome): Intent | undefined {
    const { acts, askedKey: key, state } = this.#call
    const isNeeded = acts || intended.isKnown || outcome._tag === "Failed"
    // A call that asks what became of an earlier one has not been admitted.
    if (outcome._tag === "Suspended" && outcome.asks.kind === "doubt") return undefined
    // An `identity` that throws has already been reported.
    if (!isNeeded || attempt(() => intended.isEmpty) !== false) {
      // The intent of a suspended call records that the call was admitted.
      return outcome._tag === "Suspended" || this.#isIntentUnknown ? anyIntentOf(this.#tool.name) : undefined
    }
    const isSentAgain = this.#tool.sideEffect === "idempotent_by_key" && outcome.certainty !== "not_executed" &&
      (outcome._tag !== "Completed" || outcome.certainty === "unknown")
    const text = acts && (outcome.doubt !== undefined || isSentAgain) ? this.#textOf(intended) : undefined
    const number = this.#number
    const { onDone } = this.#options
    const isDone = onDone === "ask" && outcome.certainty === "executed"
    const isCorrected = acts && this.#call.correction !== undefined && this.#tool.fixers?.length !== 0
    return {
      id: intended.id,
      arguments: intended.arguments,
      ...(number === undefined ? {} : { number }),
      ...(key === undefined ? {} : { key }),
      ...(isLasting(state.done) || state.done.wasLasting ? { lasting: true } : {}),
      ...(text === undefined ? {} : { text }),
      ...(isDone ? { at: this.#fiber.getRef(Clock.Clock).currentTimeMillisUnsafe() } : {}),
      ...(isCorrected ? { written: writtenOf(this.#tool.name, this.#written) } : {})
    }
  }

  // Only a call that is sent again, or checked, needs its whole text. For any other, it is for whoever settles the doubt.
  #textOf(intended: Intended): string | undefined {
    const { again } = intended
    const isWhole = this.#tool.sideEffect === "idempotent_by_key" || isReconciled(this.#tool)
    return again === undefined || isWhole ? again : shownArguments(again)
  }
}

const noText = {}
const none: ReadonlyArray<never> = []

/** Returns the failure of a call that was running when its process ended and cannot run again. */
export const lostInProcess = (tool: string): ToolUnavailable =>
  new ToolUnavailable({
    code: "outcome_unknown",
    detail: `${tool} was running when its process ended.`,
    transient: false,
    outcome: "unknown"
  })
