/**
 * The calls of a loop that is not an agent's: that of another framework, or a client of a server of tools. They run as an
 * agent's calls do, under one record of facts.
 *
 *     another loop ── call ── session: facts, keys, doubts ── Dispatch ── outcome ── the model's text (Rendering)
 *
 * Calls that act run one by one, in the order in which they are made. Calls that read run at once. Equal calls of one turn are
 * joined. A call that a handler makes in the session of its own call does not wait for that call.
 *
 * Sessions of one named scope may overlap in a process, as two requests of a chat do. Then only one of them acts at a time: a call
 * of another one is refused (`not_run`), and knows later what was done meanwhile. Other processes are not seen.
 *
 * Nobody can be asked here: an approval is a matter of the other loop, which calls only what is approved. A call that asks its
 * user fails with the code `not_asked`.
 *
 * @since 0.1.0
 */
import { demandKnown, type Names } from "@fallible/arguments/internal"
import * as Effect from "effect/Effect"
import { memoize } from "effect/Function"
import * as Schema from "effect/Schema"
import * as Semaphore from "effect/Semaphore"
import * as Struct from "effect/Struct"
import type { Decoded } from "./Arguments.ts"
import { type CallFacts, empty, schema as factsSchema } from "./CallFacts.ts"
import * as DispatchFailure from "./internal/arguments/dispatchFailure.ts"
import { current, isInsideCall, type Scope } from "./internal/call/scope.ts"
import { neededOf } from "./internal/dispatch/approvalStage.ts"
import { type EarlierCall, endedIn, isJoinable } from "./internal/dispatch/equalCalls.ts"
import { handedOn, takenOver, withLateDoubts } from "./internal/dispatch/lateDoubt.ts"
import { performCall, type PerformOptions } from "./internal/dispatch/performCall.ts"
import { beginFacts, recordCall } from "./internal/dispatch/recordCalls.ts"
import { Latest } from "./internal/value/latest.ts"
import { randomId } from "./internal/value/randomId.ts"
import { excerpt } from "./internal/value/text.ts"
import { recordHere } from "./internal/wire/places.ts"
import type * as Tool from "./Tool.ts"
import type { ToolCall } from "./ToolCall.ts"
import { ToolUnavailable } from "./ToolFailure.ts"
import * as Toolkit from "./Toolkit.ts"
import type { Completed, Failed, Stopped, Suspended, ToolOutcome } from "./ToolOutcome.ts"

/**
 * The options of a session.
 *
 * @category models
 * @since 0.1.0
 */
export type Options = {
  /** What earlier sessions or runs of the same scope have done. Default: nothing. */
  readonly facts?: CallFacts
  /** Default: the session is a scope of its own. */
  readonly scope?: undefined
} | {
  readonly facts: CallFacts
  /** Names what the sessions belong to: the id of a conversation, or of an order. It is part of every idempotency key. */
  readonly scope: string
}

/**
 * The options of a call.
 *
 * @category models
 * @since 0.1.0
 */
export interface CallOptions {
  /** Any object that stands for the model's reply: equal calls with the same one are joined. Default: a turn of its own. */
  readonly turn?: object | undefined
  /**
   * What `Arguments.decode` made of the arguments, if the loop has shown it already. What the schema makes up, such as an id, is
   * then the same, and nothing is checked twice. Nobody else may change it. Default: the arguments are decoded.
   */
  readonly decoded?: Decoded<unknown> | undefined
}

/**
 * How a call of a session ends.
 *
 * @category models
 * @since 0.1.0
 */
export type Outcome = Completed | Failed | Stopped

/**
 * A session of calls.
 *
 * @category models
 * @since 0.1.0
 */
export interface CallSession<out T extends Tool.Any> {
  /** Runs one call. The Effect never fails. */
  readonly call: (call: ToolCall, options?: CallOptions) => Effect.Effect<Outcome, never, Tool.Requirements<T>>
  /**
   * True if a call needs an approval (`Tool.approve`), for which the other loop has to ask before it makes the call. A predicate
   * that does not answer says that it does, and is reported.
   *
   * @param tool the name of the tool. One that the toolkit does not have needs none, as its calls fail
   * @param params the decoded arguments
   */
  readonly needsApproval: (tool: string, params: unknown) => Effect.Effect<boolean>
  /**
   * What the calls have done so far. A call that still runs and may have acted is in doubt. Pass it to the next session or run of the
   * scope.
   */
  readonly facts: () => CallFacts
}

const names: Names<Options> = { facts: true, scope: true }

/**
 * Makes a session of calls. Make one for each run of the other loop, not one for a process.
 *
 * When to use: to run tools in the loop of another framework, or for the clients of a server, with keys and doubts as in an
 * agent. Inside an agent, nothing has to be made.
 *
 * @param toolkit its approvals do not count: see above
 * @param options {@link Options}
 *
 * @example
 * ```ts
 * import { Tool, Toolkit } from "@fallible/core"
 * import * as CallSession from "@fallible/core/CallSession"
 * import { Effect, Schema } from "effect"
 *
 * const pay = Tool.make("pay", {
 *   description: "Pays",
 *   parameters: Schema.Struct({ order: Schema.String }),
 *   success: Schema.String,
 *   identity: ({ order }) => order,
 *   repeats: false
 * }, ({ order }) => Effect.succeed(`${order} is paid.`))
 *
 * const session = CallSession.make(Toolkit.make(pay))
 * const call = { id: "1", name: "pay", arguments: "{\"order\":\"o-7\"}" }
 * const outcomes = Effect.runSync(Effect.all([session.call(call), session.call(call)]))
 * outcomes.map((outcome) => outcome._tag === "Failed" ? outcome.failure.code : outcome._tag) // => ["Completed", "already_done"]
 * ```
 *
 * @category constructors
 * @since 0.1.0
 */
export const make = <T extends Tool.Any>(toolkit: Toolkit.Toolkit<T>, options: Options = {}): CallSession<T> => {
  demandKnown("CallSession.make", options, names)
  const why = whyNot(options)
  if (why !== undefined) throw new TypeError(`CallSession.make needs ${why}`)
  const session = new Session(toolkit, options)
  return {
    call: (call, options) => session.call(call, options),
    needsApproval: (name, params) => {
      const tool: Tool.Any | undefined = toolkit.tools.get(name)
      return Effect.map(neededOf(name, tool?.approvals ?? [], params), (needed) => needed.length > 0)
    },
    facts: () => session.facts
  }
}

// Facts that were stored are easily forgotten, or read back by `JSON.parse` alone. Without them, effects could be repeated.
const whyNot = ({ facts, scope }: Options): string | undefined => {
  if (facts === undefined) {
    return scope === undefined ? undefined : "the facts of its scope. For the first session, pass CallFacts.empty."
  }
  if (!isFacts(facts)) return "facts as CallFacts.schema decodes them. Encode them by it to store them."
  return facts.scope === undefined || scope === undefined || facts.scope === scope
    ? undefined
    : `facts of the scope '${scope}'; got those of '${facts.scope}'.`
}

const isFacts = Schema.is(Schema.toType(factsSchema))

/** A reply of the model, and those of its calls that have ended. */
interface Turn {
  readonly number: number
  readonly ended: Array<EarlierCall>
}

/** A call that runs. One that reads may run a tool that acts. */
interface Open {
  readonly id: string
  readonly session: object
  readonly tool: Tool.Any
  /** For the calls that its handler makes in this session, which few make. */
  inner?: Semaphore.Semaphore
  /** How it would end if it were cut off now. */
  soFar?: () => ToolOutcome
}

/**
 * What the sessions of one scope in this process know of each other. Two requests of a chat may come at once, each with the facts of
 * the one before. Only one of them acts at a time, and the other then knows what it did.
 */
interface Known {
  readonly acting: Set<Open>
  facts: CallFacts
  /** How many times a call was recorded. */
  recorded: number
}

const scopes = new Latest<string, Known>(10_000)

const knownOf = (scope: string | undefined): Known => {
  const known = (scope === undefined ? undefined : scopes.get(scope)) ??
    { acting: new Set(), facts: empty, recorded: 0 }
  if (scope !== undefined) scopes.set(scope, known)
  return known
}

/** How a call is performed. */
type Performed = Pick<PerformOptions, "decoded" | "id" | "onBegun"> & { readonly tool: Tool.Any | undefined }

class Session<T extends Tool.Any> {
  readonly #toolkit: Toolkit.Toolkit<T>
  readonly #options: Options
  readonly #turns = new WeakMap<object, Turn>()
  readonly #acting = Semaphore.makeUnsafe(1)
  readonly #known: Known
  /** How much of what is known this session has taken into account. */
  #seen: number
  readonly #open = new Set<Open>()
  #begun: { readonly run: string; facts: CallFacts } | undefined
  #turnCount = 0
  #callCount = 0

  constructor(toolkit: Toolkit.Toolkit<T>, options: Options) {
    this.#toolkit = withoutApprovals(toolkit) as Toolkit.Toolkit<T>
    this.#options = options
    this.#known = knownOf(options.scope)
    // What was recorded before is in the facts that were given, as far as they are those of this process.
    this.#seen = this.#known.recorded
  }

  get facts(): CallFacts {
    if (this.#begun === undefined) return this.#options.facts ?? empty
    // Whoever has aborted a call may ask before it has ended, and keeps what is said here.
    let { facts } = this.#isBehind ? this.#known : this.#begun
    for (const { soFar, tool } of this.#open) {
      const outcome = soFar?.()
      if (outcome !== undefined && outcome.certainty !== "not_executed") facts = recordCall(facts, outcome, tool)
    }
    return handedOn(facts)
  }

  call(call: ToolCall, { decoded, turn }: CallOptions = {}): Effect.Effect<Outcome, never, Tool.Requirements<T>> {
    return Effect.flatMap(this.#begin, (begun) => {
      const id = `${begun.run}/call/${++this.#callCount}`
      const tool: Tool.Any | undefined = this.#toolkit.tools.get(call.name)
      const of = this.#turnOf(turn ?? {})
      if (tool === undefined) return Effect.suspend(() => this.#perform(begun, of, call, { id, tool }))
      const isReading = tool.sideEffect === "none"
      const open: Open = { id, tool, session: this }
      const performed = Effect.suspend(() => {
        this.#open.add(open)
        if (!isReading) this.#known.acting.add(open)
        return Effect.ensuring(
          this.#perform(begun, of, call, { id, tool, decoded, onBegun: (soFar) => open.soFar = soFar }),
          Effect.sync(() => {
            this.#open.delete(open)
            this.#known.acting.delete(open)
          })
        )
      })
      return isReading
        ? performed
        : Effect.flatMap(current, (scope) => this.#turnTaking(scope).withPermits(1)(performed))
    })
  }

  // Waiting for the call whose handler makes this one would never end.
  #turnTaking(scope: Scope): Semaphore.Semaphore {
    const record = this.#open.size === 0 ? undefined : recordHere()
    const around = Array.from(this.#open).findLast(({ id, tool }) =>
      tool.sideEffect !== "none" && (isInsideCall(scope, id) || record?.attempt.isInside(id) === true)
    )
    return around === undefined ? this.#acting : around.inner ??= Semaphore.makeUnsafe(1)
  }

  get #begin() {
    return this.#begun === undefined
      ? Effect.map(randomId("run"), (run) => {
        const { facts = empty, scope = run } = this.#options
        // A request that is sent twice has a named scope, as a job that a queue delivers twice has.
        const likelihood = scope === run ? "no" : "likely"
        return this.#begun ??= { run, facts: takenOver(beginFacts(facts, scope, likelihood)) }
      })
      : Effect.succeed(this.#begun)
  }

  // True if another session of the scope has recorded something meanwhile.
  get #isBehind(): boolean {
    return this.#seen < this.#known.recorded
  }

  get #isOtherActing(): boolean {
    return Array.from(this.#known.acting).some(({ session }) => session !== this)
  }

  #turnOf(turn: object): Turn {
    const known = this.#turns.get(turn) ?? { number: ++this.#turnCount, ended: [] }
    this.#turns.set(turn, known)
    return known
  }

  #perform(
    begun: { readonly run: string; facts: CallFacts },
    turn: Turn,
    call: ToolCall,
    { tool, ...options }: Performed
  ): Effect.Effect<Outcome, never, Tool.Requirements<T>> {
    const record = (outcome: ToolOutcome) => {
      const facts = recordCall(begun.facts, outcome, tool ?? { name: call.name, sideEffect: "non_idempotent" })
      if (facts === begun.facts) return
      begun.facts = this.#known.facts = facts
      this.#seen = ++this.#known.recorded
    }
    if (this.#isBehind) {
      begun.facts = beginFacts(this.#known.facts, begun.facts.scope ?? begun.run, "likely")
      this.#seen = this.#known.recorded
    }
    begun.facts = withLateDoubts(begun.facts)
    const { facts, run } = begun
    const place = { run, turn: turn.number }
    // Most replies have one call, which has no other to join.
    const ended = turn.ended.length === 0 ? undefined : turn.ended
    const performing = performCall(this.#toolkit, call, {
      ...options,
      facts,
      turn: ended,
      // Waiting for a call that nobody can stop might never end.
      loopRefusal: tool?.sideEffect !== "none" && this.#isOtherActing ? DispatchFailure.otherRequest() : undefined,
      place,
      onInterrupted: record
    })
    return Effect.map(performing, (outcome) => {
      const told = outcome._tag === "Suspended" ? notAsked(call, outcome) : outcome
      record(told)
      if (tool !== undefined && isJoinable(tool)) turn.ended.push(...endedIn(call, told))
      return told
    })
  }
}

// Sessions are made for each request, of the same toolkit.
const withoutApprovals: (toolkit: Toolkit.Toolkit) => Toolkit.Toolkit = memoize((toolkit) =>
  Toolkit.make(...Array.from(toolkit.tools.values(), (tool): Tool.Any => Struct.omit(tool, ["approvals"])))
)

// A handler that asks before it acts has done nothing. What another one has done, its effects say.
const notAsked = ({ name }: ToolCall, suspended: Suspended): Failed => {
  const { certainty, question, ...effort } = Struct.omit(suspended, ownOfSuspended)
  return {
    ...effort,
    _tag: "Failed",
    failure: new ToolUnavailable({
      code: "not_asked",
      detail: `${name} asks its user, and here nobody can be asked: ${excerpt(question)}`,
      transient: false,
      outcome: certainty
    }),
    stage: "run",
    certainty
  }
}

const ownOfSuspended = ["_tag", "asks", "effects", "id", "lasting", "replies", "salt"] as const
