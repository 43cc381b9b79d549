/*
 * A scope is the context of running code: a call, a run under a time limit, a policy, a source. Scopes form a tree. Each
 * folds its events into a state, and passes them on to the scope around it (see `forward`).
 */
import * as Context from "effect/Context"
import type { CallEvent } from "../../CallEvent.ts"
import type { Certainty, Doubt } from "../../Certainty.ts"
import type { SideEffect } from "../../SideEffect.ts"
import type { ToolFailure } from "../../ToolFailure.ts"
import type { Reply } from "../../ToolOutcome.ts"
import { certaintyOf, type Effects } from "../failure/effects.ts"
import type { Slot } from "../wire/places.ts"
import type { WireRecord } from "../wire/wireRecord.ts"
import { AbandonedAttempts } from "./abandonedAttempts.ts"
import { type CallState, untouched } from "./callState.ts"
import { doubtIn, effectsIn } from "./done.ts"
import type { Role } from "./forward.ts"
import { keyInside } from "./idempotencyKey.ts"
import { Live, type OpenRun } from "./live.ts"

/** The tool that is called. */
export interface Subject {
  readonly name: string
  readonly sideEffect: SideEffect
  /** Identifies the tool's handler. A copy of the tool may have a different name, but has the same token. */
  readonly token?: object | undefined
  /** Returns a string that identifies the effect intended by the arguments; `undefined` if they do not say. */
  readonly effectOf?: ((params: unknown, text?: string) => string | undefined) | undefined
}

/** Hears the events of a call, each with its failure (if any) and the number of its attempt. */
export type Hear = (event: CallEvent, failure: ToolFailure | undefined, attempt: number) => void

/** The corrected arguments of a call. */
export interface Correction {
  readonly text: string
  /** Whether the text contains secrets, which must not be shown. */
  readonly isSecret: boolean
}

/** A run of a tool inside another scope. */
export interface InnerRun {
  readonly params: unknown
  /** The open run that it continues. */
  readonly again: OpenRun | undefined
  /** Whether its key is made from its place in the scope around it. */
  readonly isPlaced: boolean
}

/** What a custom policy has done in one run. */
export interface PolicyRecord {
  /** Hears the events of its scope. */
  readonly hear: (event: CallEvent) => void
  /** Called when something begins to run in the policy, or the policy says that it waits; and when that has ended. */
  readonly occupy: () => void
  readonly release: () => void
  /** Takes back a failure that the policy reports as handled. Returns the number of the attempt that it ended. */
  readonly settle: (failure: ToolFailure) => number | undefined
  /** The prefix of the ids and keys of tools that the policy itself runs. */
  readonly prefix: string
}

/** Where a call belongs, as its log lines and its handler see it. */
export interface Place {
  readonly run: string
  /** The 1-based number of the turn. */
  readonly turn: number
  /** What the model was sent when it wrote the call: a `Transcript`, which only that module opens. Absent if no agent knows it. */
  readonly transcript?: object
}

export class Scope {
  /** A policy becomes a source once it asks others for the answer. */
  role: Role
  readonly tool: Subject
  /** True if the called tool acts (has side effects). */
  readonly acts: boolean
  readonly parent: Scope | undefined
  /** True if attempts are counted here. Other scopes share the record of the scope around them. */
  readonly ownsRecord: boolean
  /** The name of the call in logs, events and replies. */
  readonly id: string
  state: CallState
  /** The run and the turn of a call that an agent makes. */
  place: Place | undefined = undefined
  /** The number of the current attempt, as observers see it. */
  attempt: number
  /** The most recent failure of the handler. */
  last: ToolFailure | undefined = undefined
  /**
   * Whether the run has ended: `"over"` while its caller waited, so that its time limit no longer applies to what it left
   * behind; `"closed"` if the caller had stopped waiting, so that the result of the run is not used.
   */
  phase: "open" | "over" | "closed" = "open"
  /** True if the caller that waited was interrupted. */
  wasLeft = false
  /** True once a dispatched call has its outcome. */
  hasOutcome = false
  /** True once the outer scope was told that the tool acts. */
  isKnownToAct = false
  /** True if an observer receives events as they happen. */
  isWatched: boolean
  hear: Hear | undefined = undefined
  /**
   * The scope in which the code runs: the parent, or the scope in which a call was dispatched. Such a call has its own
   * events, but tells that scope that it acts, and does not begin once that scope is closed.
   */
  around: Scope | undefined
  policy: PolicyRecord | undefined = undefined
  /** The requests of the handler that runs in this scope, if the tool acts. */
  wire: WireRecord | undefined = undefined
  /** Called if a handler of the call sends a request after it has ended. Set once the call has its outcome. */
  onLateRequest: (() => void) | undefined = undefined
  /** Where the record of requests goes if the handler runs in the fiber of this scope. */
  slot: Slot | undefined = undefined
  correction: Correction | undefined = undefined
  /** How the tool runs inside another scope, once it may. */
  ran: InnerRun | undefined = undefined
  /** The idempotency key, once something has read it. */
  askedKey: string | undefined = undefined
  /** True if the call repeats one that is in doubt. */
  repeatsDoubt = false
  /** The arguments of the earlier call in doubt, if they are known and only a check finds out what became of it. */
  doubted: { readonly params: unknown } | undefined = undefined
  /** Whether the earlier call that this one repeats is still running; absent if it is not. */
  alsoRuns: (() => boolean) | undefined = undefined
  /** What the key of an inner tool or a source is made from. */
  mark: string | undefined
  #makeKey: (() => string) | undefined = undefined
  #live: Live | undefined
  readonly #replies: ReadonlyArray<Reply>

  constructor(
    role: Role,
    tool: Subject,
    id: string,
    state: CallState = untouched,
    parent?: Scope,
    mark?: string,
    replies: ReadonlyArray<Reply> = none
  ) {
    this.role = role
    this.tool = tool
    this.acts = tool.sideEffect !== "none"
    this.id = id
    this.state = state
    this.parent = parent
    this.around = parent
    this.mark = mark
    this.#replies = replies
    this.isWatched = parent?.isWatched === true
    this.ownsRecord = parent === undefined || owners.has(role)
    this.attempt = parent === undefined || this.ownsRecord ? 0 : parent.attempt
    // Parallel runs each start with the first reply and the first key.
    this.#live = role === "run" ? parent?.live.beside() : undefined
  }

  // -----------------------------------------------------------------------------
  // What the call has done
  // -----------------------------------------------------------------------------

  /** The scope that sees every event of the call. An abandoned run sees only its own. */
  get record(): Scope {
    return this.ownsRecord || this.parent === undefined || this.phase === "closed" ? this : this.parent.record
  }

  /** The run and the turn that this scope belongs to, also through the calls around it. */
  get placeInRun(): Place | undefined {
    return this.place ?? (this.parent ?? this.around)?.placeInRun
  }

  /** The effects of the call. */
  effects(hasAnswer: boolean): Effects {
    return effectsIn(this.record.state.done, this.acts, hasAnswer)
  }

  /** How strong the doubt is about a call with these effects; `undefined` if there is none. */
  doubt(effects: Effects): Doubt | undefined {
    return doubtIn(this.record.state.done, effects, this.acts)
  }

  /** Whether the call, which has no answer, has taken effect. */
  get certainty(): Certainty {
    return certaintyOf(this.effects(false))
  }

  /** True if an abandoned attempt is still running, also of an earlier call that this one repeats. */
  get hasLeftSome(): boolean {
    const { record } = this
    return record.#live?.abandoned.isAny === true || record.alsoRuns?.() === true
  }

  // -----------------------------------------------------------------------------
  // What belongs to the running attempt
  // -----------------------------------------------------------------------------

  get idempotencyKey(): string {
    const { mark, parent } = this
    if (parent === undefined) return this.askedKey ??= this.#makeKey?.() ?? this.id
    return mark === undefined ? parent.idempotencyKey : this.askedKey ??= keyInside(parent.idempotencyKey, mark)
  }

  /** The idempotency key, if something has read it. */
  get keyIfAsked(): string | undefined {
    return this.parent === undefined || this.mark !== undefined ? this.askedKey : this.parent.keyIfAsked
  }

  /** The requests of the innermost handler that this code belongs to. */
  get wireHere(): WireRecord | undefined {
    return this.wire ?? (handlerRoles.has(this.role) ? this.parent?.wireHere : undefined)
  }

  /** Sets how the key is computed. By default, the key of a call is its id. */
  keyBy(makeKey: () => string): void {
    this.#makeKey = makeKey
    this.askedKey = undefined
  }

  /** Continues with corrected arguments. `params` are what they decode to, if they are new. */
  adopt(correction: Correction, params?: unknown): void {
    this.correction = correction
    if (params === undefined) return
    const what = this.tool.effectOf?.(params, correction.text) ?? "corrected"
    if (this.parent !== undefined) {
      this.mark = JSON.stringify([this.mark, what])
      this.askedKey = undefined
    } else if (this.#makeKey === undefined && this.state.executions > 0) {
      // The handler has run with other arguments, so the body of its request changes.
      const mark = JSON.stringify([this.state.executions, what])
      this.keyBy(() => keyInside(this.id, mark))
    }
  }

  get live(): Live {
    const owner = this.#liveOwner
    return owner.#live ?? owner.#makeLive()
  }

  /** What an inner tool's failure has said in this attempt: see {@link Live}. */
  get quoted(): Live["quoted"] {
    return this.#liveOwner.#live?.quoted
  }

  /** How the latest run of a handler with fixers has ended: see {@link Live}. */
  get rejection(): Live["rejection"] {
    return this.#liveOwner.#live?.rejection
  }

  /** True if a run inside the call is open: see `openRuns`. */
  get hasOpenRuns(): boolean {
    const live = this.#liveOwner.#live ?? this.around?.live
    return live !== undefined && live.lasting.length + live.open.length > 0
  }

  /** Forgets what belonged to the last attempt, because another one starts. */
  restart(): void {
    this.#liveOwner.#live?.restart()
  }

  get #liveOwner(): Scope {
    return this.#live !== undefined || this.ownsRecord || this.parent === undefined ? this : this.parent.#liveOwner
  }

  // An attempt that is abandoned in an inner tool counts as an abandoned attempt of the outer call, too.
  #makeLive(): Live {
    const live = new Live(
      new AbandonedAttempts(this.parent?.live.abandoned),
      this.parent?.live.replies ?? this.#replies,
      this.around?.live.lasting
    )
    return this === detached ? live : this.#live = live
  }

  /** Notes that the run has ended while its caller waited. */
  end(): void {
    if (this.phase === "open") this.phase = "over"
  }

  /** Closes the scope: its caller has stopped waiting. */
  close(): void {
    this.#live ??= this.live.apart()
    this.phase = "closed"
  }
}

const none: ReadonlyArray<never> = []

/** The roles of scopes in which a handler may run. */
const handlerRoles: ReadonlySet<Role> = new Set<Role>(["call", "page", "limit", "run"])

const owners: ReadonlySet<Role> = new Set<Role>(["inner", "page", "fixer"])

/** The scope outside any call. It notes nothing. */
export const detached: Scope = new Scope("call", { name: "", sideEffect: "none" }, "detached")

/** Returns the scope of the call, or of the inner tool, that code in a scope runs for. */
export const calledIn = (innermost: Scope): Scope => {
  let scope = innermost
  // A page counts as an attempt of the call around it.
  while ((!scope.ownsRecord || scope.role === "page") && scope.parent !== undefined) scope = scope.parent
  return scope
}

/** True if a call that a scope belongs to has its outcome. */
export const isAfterCall = ({ around, hasOutcome, parent }: Scope): boolean => {
  const outer = parent ?? around
  return hasOutcome || outer !== undefined && isAfterCall(outer)
}

/** True if a scope is that of a call, or one inside it. */
export const isInsideCall = ({ around, id, parent }: Scope, call: string): boolean => {
  const outer = parent ?? around
  return id === call || outer !== undefined && isInsideCall(outer, call)
}

/** The scope of the running code. */
export const current: Context.Reference<Scope> = Context.Reference("@fallible/core/scope", {
  defaultValue: () => detached
})

/** Returns which call a scope belongs to, as handlers and policies see it. */
export const identityOf = (
  { id, placeInRun, tool }: Scope
): { readonly tool: string; readonly id: string } & Partial<Omit<Place, "transcript">> =>
  placeInRun === undefined
    ? { tool: tool.name, id }
    : { tool: tool.name, id, run: placeInRun.run, turn: placeInRun.turn }
