import type { CallEvent } from "../../CallEvent.ts"
import type { ToolFailure } from "../../ToolFailure.ts"
import type { Reply } from "../../ToolOutcome.ts"
import { AbandonedAttempts } from "./abandonedAttempts.ts"
import { isStart } from "./callState.ts"
import { logHandled } from "./failureLine.ts"
import { attemptStarted, type Correction, Frame, type Hear, type Stage, type Subject, whyNotAgain } from "./frame.ts"
import { keyInside } from "./idempotencyKey.ts"
import { LiveState } from "./liveState.ts"

/** A call of its own. Most note nothing but their one attempt, so nothing is allocated before it is needed. */
export class CallFrame extends Frame {
  readonly replies: ReadonlyArray<Reply>
  stage: Stage | undefined = undefined
  /** What the arguments were corrected to, if they were. */
  correction: Correction | undefined = undefined
  /** The text of the arguments, as the model wrote it. */
  readonly #written: string | undefined
  readonly #hear: Hear | undefined
  #keyed: (() => string) | undefined = undefined
  /** Its key, once somebody has asked for it. */
  askedKey: string | undefined = undefined
  #live: LiveState | undefined = undefined

  constructor(
    id: string,
    tool: Subject,
    written?: string,
    replies: ReadonlyArray<Reply> = none,
    hear?: Hear
  ) {
    super(id, tool, hear !== undefined)
    this.#written = written
    this.replies = replies
    this.#hear = hear
  }

  /** What its key is; by default its name. */
  set keyed(key: () => string) {
    this.#keyed = key
    this.askedKey = undefined
  }

  get idempotencyKey() {
    return this.askedKey ??= this.#keyed?.() ?? this.id
  }

  get live() {
    return this.#live ??= new LiveState(new AbandonedAttempts(), this.replies)
  }

  override get hasLeftSome() {
    return this.#live !== undefined && this.#live.abandoned.isAny
  }

  /** The text of the arguments that are used now. */
  get text(): string | undefined {
    return this.correction === undefined ? this.#written : this.correction.text
  }

  /** The call goes on with better arguments. Once it has run with others, a key of its own making is another one, since its body is. */
  adopt(correction: Correction, params?: unknown): void {
    this.correction = correction
    if (params === undefined || this.#keyed !== undefined || this.state.executions === 0) return
    const mark = JSON.stringify([this.state.executions, this.tool.effectOf?.(params) ?? "corrected"])
    this.keyed = () => keyInside(this.id, mark)
  }

  get gate() {
    return undefined
  }

  override begin() {
    this.#live?.restart()
    this.note(attemptStarted)
  }

  protected pass(event: CallEvent, failure: ToolFailure | undefined, attempt: number) {
    const of = isStart(event) ? this.state.attempts : attempt
    if (event._tag === "FailureHandled") logHandled(this.tool.name, event)
    this.#hear?.(event, failure, of)
    return of
  }

  whyNot() {
    return whyNotAgain(this)
  }
}

const none: ReadonlyArray<never> = []
