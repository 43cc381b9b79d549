import type { CallEvent } from "../../CallEvent.ts"
import type { ToolFailure } from "../../ToolFailure.ts"
import type { Reply } from "../../ToolOutcome.ts"
import { AbandonedAttempts } from "./abandonedAttempts.ts"
import { isStart } from "./callState.ts"
import { logHandled } from "./failureLogLine.ts"
import { attemptStarted, type Correction, Frame, type Hear, type Stage, type Subject, whyNotAgain } from "./frame.ts"
import { keyInside } from "./idempotencyKey.ts"
import { LiveState } from "./liveState.ts"

/**
 * The frame of a dispatched call, or of a tool that runs outside any call. (A frame is the context of
 * a running call.) Most calls need no {@link LiveState}, so it is allocated on first use.
 */
export class CallFrame extends Frame {
  readonly replies: ReadonlyArray<Reply>
  stage: Stage | undefined = undefined
  /** The latest correction of the arguments, if any. */
  correction: Correction | undefined = undefined
  /** The text of the arguments, exactly as the model wrote it. */
  readonly #written: string | undefined
  readonly #hear: Hear | undefined
  #makeKey: (() => string) | undefined = undefined
  /** The cached idempotency key; `undefined` until the key is first read. */
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

  /** Sets the function that computes the idempotency key. By default, the key is the call's id. */
  set keyed(key: () => string) {
    this.#makeKey = key
    this.askedKey = undefined
  }

  get idempotencyKey() {
    return this.askedKey ??= this.#makeKey?.() ?? this.id
  }

  get live() {
    return this.#live ??= new LiveState(new AbandonedAttempts(), this.replies)
  }

  override get hasLeftSome() {
    return this.#live !== undefined && this.#live.abandoned.isAny
  }

  /** The text of the arguments in use: the latest correction if there is one, else the model's text. */
  get text(): string | undefined {
    return this.correction === undefined ? this.#written : this.correction.text
  }

  /**
   * Continues the call with corrected arguments. If the handler has already run with other arguments,
   * and the key is the call's id, the key changes, because the request body changes.
   */
  adopt(correction: Correction, params?: unknown): void {
    this.correction = correction
    if (params === undefined || this.#makeKey !== undefined || this.state.executions === 0) return
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
    const eventAttempt = isStart(event) ? this.state.attempts : attempt
    if (event._tag === "FailureHandled") logHandled(this.tool.name, event)
    this.#hear?.(event, failure, eventAttempt)
    return eventAttempt
  }

  whyNot() {
    return whyNotAgain(this)
  }
}

const none: ReadonlyArray<never> = []
