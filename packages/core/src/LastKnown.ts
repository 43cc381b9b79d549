/**
 * Answers with a tool's last known value while the tool is unavailable, and reports how old the value is.
 *
 * Each result of the tool is stored under the tool's name and the arguments of the call. When the tool is
 * unavailable, the stored value is the answer, and the model reads: "from cache, 3h old; the live service
 * is unavailable".
 *
 *     tool.pipe(
 *       Tool.retry(RetryPolicy.transient),
 *       CircuitBreaker.protect(),
 *       Tool.fallback(mirror.run, { name: "mirror" }),    inside: fresh answers from the mirror are stored, too
 *       LastKnown.fallback({ maxAge: "1 day" })           last: used if no source has a fresh answer
 *     )
 *
 * A store cannot make a call fail. If the store fails or hangs, a warning goes to the log, and the call
 * takes at most one second longer.
 *
 * By default, a refusal is never answered from the store. The service was up, and a stored record may be the one that
 * it refused to show. These failures are refusals:
 *
 * - a permanent failure with the scope `"arguments"`, such as a 400, 403 or 409;
 * - a failure with the code `permission_denied`, such as a 401.
 *
 * Of several sources, only the last failure counts. So a `Tool.fallback` inside should pass refusals on. The option
 * `when` names other failures: `when: ({ _tag }) => _tag === "ToolUnavailable"` answers refusals, too.
 *
 * Only the tool's name and the arguments identify a value, and not the user. If an answer depends on the user,
 * one user would read what another user was told. Then include the user in the arguments, or give each user a store of their
 * own ({@link LastKnown}). No value is stored or looked up for a tool that takes a secret, or for arguments with
 * hidden content, such as an instance of a class without `toJSON`.
 *
 * @since 0.1.0
 */
import { demandKnown, hasSecrets, type Names } from "@fallible/arguments/internal"
import * as Cache from "effect/Cache"
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import type * as Fiber from "effect/Fiber"
import * as Hash from "effect/Hash"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Persistable from "effect/persistence/Persistable"
import * as Persistence from "effect/persistence/Persistence"
import * as Schema from "effect/Schema"
import * as SchemaParser from "effect/SchemaParser"
import { schemaOf } from "./internal/arguments/jsonSchema.ts"
import { requireEffect, requireSync } from "./internal/call/runUserCode.ts"
import { current } from "./internal/call/scope.ts"
import { millisToAnswer } from "./internal/call/timeLeft.ts"
import { isDown } from "./internal/failure/policyRefusal.ts"
import { failExhausted, lastFailure, sourcesTried } from "./internal/failure/sourcesExhausted.ts"
import { isExit } from "./internal/fiber/runContained.ts"
import { withinTime } from "./internal/fiber/withinTime.ts"
import { builtIn } from "./internal/policy/builtInPolicy.ts"
import { attemptCounter } from "./internal/policy/fallbackSource.ts"
import { canonical } from "./internal/value/canonical.ts"
import { positive } from "./internal/value/numberOption.ts"
import { kind } from "./internal/value/text.ts"
import { attempt } from "./internal/value/untrusted.ts"
import * as Policy from "./Policy.ts"
import * as Tool from "./Tool.ts"
import type { ToolFailure, ToolUnavailable } from "./ToolFailure.ts"

/**
 * The options of a fallback to last known values.
 *
 * @category models
 * @since 0.1.0
 */
export interface Options {
  /** The maximum age at which a stored value is still used. Default: no limit. */
  readonly maxAge?: Duration.Input
  /**
   * The name of this source for the model, and in the list of sources that were tried. Default: `"cache"`.
   */
  readonly name?: string
  /**
   * Whether a stored value may answer a failure. Of several sources, it is the failure of the last one. Default: if the tool
   * is down, so if it is unavailable, and has not refused the call (see the top of this module).
   */
  readonly when?: (failure: ToolFailure) => boolean
}

// -----------------------------------------------------------------------------
// Policy
// -----------------------------------------------------------------------------

/**
 * Makes a policy of kind `"fallback"` that answers with last known values. See {@link fallback}.
 *
 * When to use: as a default of a toolkit or an agent whose tools are all read-only. The policy applies to
 * each tool that does not have its own fallback.
 *
 * @category policies
 * @since 0.1.0
 */
export const policy = (options: Options = {}): Policy.Policy<LastKnown, never> => {
  demandKnown("LastKnown", options, optionNames)
  const { maxAge = Duration.infinity, name = "cache", when = isDown } = options
  const limit = positive("maxAge", maxAge)
  if (typeof when !== "function") throw new TypeError(`The 'when' of LastKnown must be a function; got ${kind(when)}.`)
  return builtIn(Policy.make<LastKnown>({
    kind: "fallback",
    description: `fallback to ${name}${Duration.isFinite(limit) ? `, up to ${Duration.format(limit)} old` : ""}`,
    // The time of the inner run, plus the time that the store may take to read or write a value.
    terms: { after: { time: Duration.millis(storeMillis) } },
    wrap: <A, E extends ToolFailure, R>(
      run: Policy.Run<A, E, R>,
      subject: Policy.Subject<A>,
      call: Policy.Call
    ) => {
      if (subject.sideEffect !== "none") {
        throw new TypeError(
          `The last known value of ${subject.name} does not tell what a new call would do. Declare its sideEffect as "none", if it only reads.`
        )
      }
      const { find, keep } = valuesOf(subject, limit)
      return (params: unknown) =>
        Effect.flatMap(attemptCounter, (newAttempts) =>
          Effect.matchEffect(run(params), {
            onSuccess: (value) => Effect.as(keep(params, value), value),
            onFailure: (failure): Effect.Effect<A, E, R | LastKnown> => {
              const last = isUnavailable(failure) ? lastFailure(failure) : failure
              if (!requireSync("The 'when' of LastKnown", when(last))) return Effect.fail(failure)
              const attempts = newAttempts()
              return Effect.flatMap(find(params), (stored) => {
                if (Option.isSome(stored)) {
                  return Effect.as(call.instead(failure, { name, age: stored.value.age }), stored.value.value)
                }
                if (!isUnavailable(failure)) return Effect.fail(failure)
                const tried = [...sourcesTried(failure, subject.name, attempts), `${name} (no value)`]
                return Effect.fail(noValueFailure(failure, tried))
              })
            }
          }))
    }
  }))
}

const isUnavailable = <E extends ToolFailure>(failure: E): failure is E & ToolUnavailable =>
  failure._tag === "ToolUnavailable"

const optionNames: Names<Options> = { maxAge: true, name: true, when: true }

// `failExhausted` returns a failure of the same type as its argument, which the compiler does not see for a
// type parameter.
const noValueFailure = <E extends ToolFailure>(failure: E & ToolUnavailable, tried: ReadonlyArray<string>) =>
  failExhausted(failure, failure, tried) as E & ToolUnavailable

/**
 * When the tool is unavailable, or fails as `when` says, answers with the last known value for the same arguments.
 *
 * When to use: as the last source of a read-only tool, if an old answer is better than none. Not for an answer
 * that depends on the user, unless the arguments include the user or each user has a store: see the top of this
 * module.
 *
 * A refusal is passed on: a permanent failure with the scope `"arguments"`, or one with the code
 * `permission_denied`. So is an error that `ToolFailure.from` does not recognize (`rejected` or `failed`), since it
 * may be a refusal. If such an error means that the service is down, fail with your own `ToolUnavailable`.
 *
 * To answer other failures, too, name them with `when`. Name a refusal only if every caller may read every stored value.
 *
 * Throws when added to a tool that acts (has side effects). The last result of an acting tool does not tell
 * what a new call would do.
 *
 * Every answer of the tool, or of a fallback inside this one, is stored, unless the answer carries an age.
 * So put a fallback to a default value outside this one; otherwise, the default value would be stored. An
 * answer from the store carries its age, so that it is not mistaken for a fresh one. Files of an answer
 * (`ToolCall.attach`) are not stored.
 *
 * If no usable value is stored, the call fails with the tool's own failure. A `ToolUnavailable` then lists `name` among
 * the sources that were `tried`. A stored value is not usable if it is older than `maxAge`, or if it no
 * longer matches the tool's `success` schema.
 *
 * @example
 * ```ts
 * import { Tool, ToolUnavailable } from "@fallible/core"
 * import * as LastKnown from "@fallible/core/LastKnown"
 * import { Effect, Schema } from "effect"
 *
 * let isUp = true
 * const rate = Tool.make("get_rate", { description: "A rate", success: Schema.Finite, sideEffect: "none" }, () =>
 *   isUp
 *     ? Effect.succeed(1.08)
 *     : Effect.fail(new ToolUnavailable({ code: "connection", detail: "Refused.", transient: true }))
 * ).pipe(LastKnown.fallback({ maxAge: "1 day" }))
 *
 * const goesDown = Effect.sync(() => {
 *   isUp = false
 * })
 * const program = Effect.all([rate.run({}), Effect.andThen(goesDown, rate.run({}))])
 * await Effect.runPromise(Effect.provide(program, LastKnown.layerMemory())) // => [1.08, 1.08]
 * ```
 *
 * @category policies
 * @since 0.1.0
 */
export const fallback = (options?: Options) => {
  const added = policy(options)
  return <Name extends string, Params, A, E extends ToolFailure, R>(
    self: Tool.Tool<Name, Params, A, E, R>
  ): Tool.Tool<Name, Params, A, E, R | LastKnown> => Tool.with(self, added)
}

// -----------------------------------------------------------------------------
// Store
// -----------------------------------------------------------------------------

/**
 * A stored answer: its JSON form, and the time at which it was stored (`at`, in milliseconds of the
 * `Clock`).
 *
 * @category models
 * @since 0.1.0
 */
export interface Entry {
  readonly value: Schema.Json
  readonly at: number
}

/**
 * The store of last known values. If you implement a store, it may fail with any error; the error is
 * logged.
 *
 * @example
 * ```ts
 * import * as LastKnown from "@fallible/core/LastKnown"
 * import { Effect } from "effect"
 *
 * // Gives each user a store of their own: provide it to each run of an agent, or to each `tool.run`.
 * const storeOf = (user: string) =>
 *   Effect.updateService(LastKnown.LastKnown, (store) => ({
 *     get: (key) => store.get(`${user} ${key}`),
 *     set: (key, entry) => store.set(`${user} ${key}`, entry)
 *   }))
 * ```
 *
 * @category services
 * @since 0.1.0
 */
export class LastKnown extends Context.Service<LastKnown, {
  readonly get: (key: string) => Effect.Effect<Option.Option<Entry>, unknown>
  readonly set: (key: string, entry: Entry) => Effect.Effect<void, unknown>
}>()("@fallible/core/LastKnown") {}

/**
 * Provides a store that keeps the values in the memory of this process. It takes options, so call it even
 * without them: `LastKnown.layerMemory()`.
 *
 * @param options `capacity`: how many values the store keeps; beyond that number, it drops the least
 * recently used value. Default: 1,000
 *
 * @category layers
 * @since 0.1.0
 */
export const layerMemory = ({ capacity = 1000 }: { readonly capacity?: number } = {}): Layer.Layer<LastKnown> =>
  Layer.effect(
    LastKnown,
    Effect.map(
      Cache.make<string, Entry>({ capacity, lookup: () => Effect.die("Values are set, not looked up.") }),
      (cache) => {
        const memory: Memory = {
          // In effect's cache, a key that is set again keeps its old place in the order of use. So the key
          // is removed first.
          set: (key, entry) => Effect.andThen(Cache.invalidate(cache, key), Cache.set(cache, key, entry))
        }
        const store = LastKnown.of({ get: (key) => Cache.getOption(cache, key), set: memory.set })
        inMemory.set(store, memory)
        return store
      }
    )
  )

/**
 * Provides a store that keeps the values in effect's `Persistence`, with files, SQL or Redis as its
 * backing, for example. The values survive a restart.
 *
 * @param options `storeId`: the name of the store in its backing. `timeToLive`: how long a value is kept.
 * Default: forever
 *
 * @category layers
 * @since 0.1.0
 */
export const layerPersisted = (
  { storeId, timeToLive = Duration.infinity }: { readonly storeId: string; readonly timeToLive?: Duration.Input }
): Layer.Layer<LastKnown, never, Persistence.Persistence> =>
  Layer.effect(
    LastKnown,
    // A `PersistedCache` would run the tool only if no value is stored. Here, the tool always runs first.
    Persistence.Persistence.use((persistence) =>
      Effect.map(persistence.make({ storeId, timeToLive: () => timeToLive }), (store) =>
        LastKnown.of({
          get: (key) =>
            Effect.map(store.get(new StoredEntry({ key })), (exit) =>
              exit !== undefined && Exit.isSuccess(exit) && exit.value.key === key
                ? Option.some(exit.value)
                : Option.none()),
          set: (key, entry) => store.set(new StoredEntry({ key }), Exit.succeed({ ...entry, key }))
        }))
    )
  )

// -----------------------------------------------------------------------------
// Internals
// -----------------------------------------------------------------------------

// Backings limit the length of a key (a file name has at most 255 bytes), but arguments may be long. So an
// entry is stored under a hash of its key, and contains the full key.
class StoredEntry extends Persistable.Class<{ payload: { readonly key: string } }>()("LastKnown", {
  primaryKey: ({ key }) => `${key.length}-${Hash.string(key)}`,
  success: Schema.Struct({ key: Schema.String, value: Schema.Json, at: Schema.Finite })
}) {}

const valuesOf = <A>({ name, parameters, success }: Policy.Subject<A>, maxAge: Duration.Duration) => {
  const codec = Schema.toCodecJson(success)
  const encode = SchemaParser.encodeUnknownEffect(codec)
  const decode = SchemaParser.decodeUnknownEffect(codec)
  const keyOf = (params: unknown): string | undefined => {
    const args = hasSecrets(schemaOf(parameters)) ? undefined : canonical(params)
    return args === undefined ? undefined : `${name} ${args}`
  }
  const readFailed = `The last known value of ${name} could not be read`
  const writeFailed = `The last known value of ${name} could not be stored`
  const label = "The store of last known values"
  return {
    find: (params: unknown) =>
      Effect.suspend(() => {
        const key = keyOf(params)
        return key === undefined ? Effect.succeedNone : askStore(
          readFailed,
          (store) =>
            Effect.flatMap(requireEffect(label, store.get(key)), (entry) =>
              Effect.flatMap(Clock.currentTimeMillis, (now) => {
                if (Option.isNone(entry)) {
                  return Effect.succeedNone
                }
                const age = Duration.millis(Math.max(0, now - entry.value.at))
                if (Duration.isGreaterThan(age, maxAge)) {
                  return Effect.succeedNone
                }
                return Effect.option(Effect.map(decode(entry.value.value), (value) => ({ value, age })))
              })),
          Effect.succeedNone
        )
      }),
    keep: (params: unknown, value: A): Effect.Effect<void, never, LastKnown> =>
      Effect.withFiber((fiber: Fiber.Fiber<unknown, unknown>) => {
        const key = fiber.getRef(current).state.source?.age === undefined ? keyOf(params) : undefined
        if (key === undefined) return Effect.void
        const memory = inMemory.get(Context.getOrUndefined(fiber.context, LastKnown) ?? fiber)
        const json = memory === undefined ? undefined : attempt(() => encode(value))
        if (memory !== undefined && json !== undefined && isExit(json)) {
          const at = fiber.getRef(Clock.Clock).currentTimeMillisUnsafe()
          return Exit.isSuccess(json) ? memory.set(key, { value: json.value, at }) : Effect.void
        }
        return askStore(
          writeFailed,
          (store, at) =>
            Effect.matchEffect(encode(value), {
              // `Dispatch` already reports a value that cannot be encoded.
              onFailure: () => Effect.void,
              onSuccess: (json) => requireEffect(label, store.set(key, { value: json, at }))
            }),
          Effect.void
        )
      })
  }
}

interface Memory {
  readonly set: (key: string, entry: Entry) => Effect.Effect<void>
}

// The in-memory stores of this module. They answer immediately and never fail, so they need no time limit.
const inMemory = new WeakMap<object, Memory>()

/** How long a store may take to read or write a value, in milliseconds. */
const storeMillis = 1_000

// A store may fail, hang, or ignore an interruption. None of these must affect the caller.
const askStore = <A>(
  warning: string,
  ask: (store: LastKnown["Service"], now: number) => Effect.Effect<A, unknown>,
  otherwise: Effect.Effect<A>
): Effect.Effect<A, never, LastKnown> =>
  Effect.withFiber((fiber) => {
    const now = fiber.getRef(Clock.Clock).currentTimeMillisUnsafe()
    const answer = withinTime(
      LastKnown.use((store) => ask(store, now)),
      Math.min(storeMillis, millisToAnswer(fiber)),
      { late: () => Effect.andThen(Effect.logWarning(`${warning} in time.`), otherwise) }
    )
    return Effect.catchCause(answer, (cause) => {
      const isMissing = Context.getOrUndefined(fiber.context, LastKnown) === undefined
      const advice = isMissing ? " Provide LastKnown.layerMemory(), or a store of your own." : ""
      return Effect.andThen(Effect.logWarning(`${warning}.${advice}`, cause), otherwise)
    })
  })
