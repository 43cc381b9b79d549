/**
 * Answers with the last known value while a tool is unavailable, and says how old it is.
 *
 * The tool keeps its own answers: each success is put into a store, under the tool's name and its arguments. When it is
 * unavailable, the value that was kept answers, and the model is told: "from cache, 3h old; the live service is unavailable".
 *
 *     tool.pipe(
 *       Tool.retry(RetryPolicy.transient),
 *       CircuitBreaker.protect(),
 *       Tool.fallback(mirror.run, { name: "mirror" }),    inside: fresh answers of others are kept, too
 *       LastKnown.fallback({ maxAge: "1 day" })           last: when nobody has a fresh one
 *     )
 *
 * A store is never in the way: one that fails or hangs costs a warning in the log, and a second at the most.
 *
 * Values are told apart by the tool's name and by the arguments, and by nothing else. Arguments that do not show what they hold (a
 * `Redacted`, an instance of a class without `toJSON`) keep nothing, and know nothing. Where an answer depends on who asks, give each a store of its own, or name him in the arguments.
 *
 * @since 0.1.0
 */
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
import { millisToAnswer } from "./internal/call/timeLeft.ts"
import { answered } from "./internal/call/userCode.ts"
import { isExit } from "./internal/effect/contained.ts"
import { withinTime } from "./internal/effect/withinTime.ts"
import { exhausted, sourcesTried } from "./internal/failure/exhausted.ts"
import { builtIn } from "./internal/policy/builtIn.ts"
import { canonical } from "./internal/value/canonical.ts"
import { positive } from "./internal/value/numberOption.ts"
import { attempted } from "./internal/value/untrusted.ts"
import * as Policy from "./Policy.ts"
import * as Tool from "./Tool.ts"
import type { ToolFailure, ToolUnavailable } from "./ToolFailure.ts"

/**
 * What is said of the values that answer.
 *
 * @category models
 * @since 0.1.0
 */
export interface Options {
  /** How old a value may be. Default: as old as it is. */
  readonly maxAge?: Duration.Input
  /** What the model is told that it is from, and what stands in the list of what was tried. Default: `"cache"`. */
  readonly name?: string
}

// -----------------------------------------------------------------------------
// Policy
// -----------------------------------------------------------------------------

/**
 * The last known values as a policy of kind `"fallback"`. See {@link fallback}.
 *
 * When to use: as a default of a toolkit or an agent whose tools all read, for those that have no fallback of their own.
 *
 * @category policies
 * @since 0.1.0
 */
export const policy = (
  { maxAge = Duration.infinity, name = "cache" }: Options = {}
): Policy.Policy<LastKnown, never> => {
  const limit = positive("maxAge", maxAge)
  return builtIn(Policy.make<LastKnown>({
    kind: "fallback",
    description: `fallback to ${name}${Duration.isFinite(limit) ? `, up to ${Duration.format(limit)} old` : ""}`,
    // What is inside, and then the store's time, to keep or to read.
    bound: (inner) => ({
      ...inner,
      time: { ...inner.time, most: Duration.sum(inner.time.most, Duration.millis(patience)) }
    }),
    wrap: <A, E extends ToolFailure, R>(
      run: Policy.Run<A, E, R>,
      subject: Policy.Subject<A>,
      call: Policy.Call
    ) => {
      if (subject.sideEffect !== "none") {
        throw new TypeError(
          `The last known value of ${subject.name} says nothing of what a new call would do. Declare its sideEffect as "none", if it only reads.`
        )
      }
      const { find, keep } = valuesOf(subject, limit, call)
      return (params: unknown) =>
        Effect.matchEffect(run(params), {
          onSuccess: (value) => Effect.as(keep(params, value), value),
          onFailure: (failure): Effect.Effect<A, E, LastKnown> =>
            !isUnavailable(failure)
              ? Effect.fail(failure)
              : Effect.flatMap(find(params), (found) =>
                Option.isNone(found)
                  ? Effect.fail(nothingKnown(failure, subject.name, name))
                  : Effect.as(call.instead(failure, { name, age: found.value.age }), found.value.value))
        })
    }
  }))
}

const isUnavailable = <E extends ToolFailure>(failure: E): failure is E & ToolUnavailable =>
  failure._tag === "ToolUnavailable"

// What is left of a failure is of its own type, which the compiler does not see of a type parameter.
const nothingKnown = <E extends ToolFailure>(failure: E & ToolUnavailable, tool: string, name: string) =>
  exhausted(failure, failure, [...sourcesTried(failure, tool), `${name} (nothing known)`]) as E & ToolUnavailable

/**
 * Answers with the last known value for the same arguments when the tool is unavailable.
 *
 * When to use: as the last source of a tool that only reads, where an old answer is better than none. A tool that acts throws
 * at once: what it did the last time says nothing of this one.
 *
 * A success is kept, unless it is stale itself; so what makes answers up belongs outside. The value that answers is noted with
 * its age, so that it is not taken for a fresh one. When nothing is known, or it is older than `maxAge`, or no longer fits the
 * tool's `success`, the failure goes on, with `name` among those that were `sourcesTried`.
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
 * A value that was an answer once, in JSON, and when that was, in milliseconds of the `Clock`.
 *
 * @category models
 * @since 0.1.0
 */
export interface Entry {
  readonly value: Schema.Json
  readonly at: number
}

/**
 * Where last known values are kept. A store of your own may fail with anything: it is logged.
 *
 * @category services
 * @since 0.1.0
 */
export class LastKnown extends Context.Service<LastKnown, {
  readonly get: (key: string) => Effect.Effect<Option.Option<Entry>, unknown>
  readonly set: (key: string, entry: Entry) => Effect.Effect<void, unknown>
}>()("@fallible/core/LastKnown") {}

/**
 * Keeps values in this process.
 *
 * @param options `capacity`: how many; the one that was used least recently goes first. Default: 1,000
 *
 * @category layers
 * @since 0.1.0
 */
export const layerMemory = ({ capacity = 1000 }: { readonly capacity?: number } = {}): Layer.Layer<LastKnown> =>
  Layer.effect(
    LastKnown,
    Effect.map(
      Cache.make<string, Entry>({ capacity, lookup: () => Effect.die("Values are set, and not looked up.") }),
      (cache) => {
        const memory: Memory = {
          // What is set again keeps its place in effect's cache, unless it has left it before.
          set: (key, entry) => Effect.andThen(Cache.invalidate(cache, key), Cache.set(cache, key, entry))
        }
        const store = LastKnown.of({ get: (key) => Cache.getOption(cache, key), set: memory.set })
        inMemory.set(store, memory)
        return store
      }
    )
  )

/**
 * Keeps values in effect's `Persistence`, over any backing: files, SQL, Redis. They survive a restart.
 *
 * @param options `storeId`: the name of the store in its backing. `timeToLive`: how long a value is kept. Default: for ever
 *
 * @category layers
 * @since 0.1.0
 */
export const layerPersisted = (
  { storeId, timeToLive = Duration.infinity }: { readonly storeId: string; readonly timeToLive?: Duration.Input }
): Layer.Layer<LastKnown, never, Persistence.Persistence> =>
  Layer.effect(
    LastKnown,
    // Not a `PersistedCache`: that one asks the tool when it knows nothing, and only then. Here the tool is asked first, always.
    Persistence.Persistence.use((persistence) =>
      Effect.map(persistence.make({ storeId, timeToLive: () => timeToLive }), (store) =>
        LastKnown.of({
          get: (key) =>
            Effect.map(store.get(new Kept({ key })), (exit) =>
              exit !== undefined && Exit.isSuccess(exit) && exit.value.key === key
                ? Option.some(exit.value)
                : Option.none()),
          set: (key, entry) => store.set(new Kept({ key }), Exit.succeed({ ...entry, key }))
        }))
    )
  )

// -----------------------------------------------------------------------------
// Inside
// -----------------------------------------------------------------------------

// Backings bound the length of a key (the name of a file has 255 bytes), and arguments may be long. So it is a hash, and what is
// kept says whose it is.
class Kept extends Persistable.Class<{ payload: { readonly key: string } }>()("LastKnown", {
  primaryKey: ({ key }) => `${key.length}-${Hash.string(key)}`,
  success: Schema.Struct({ key: Schema.String, value: Schema.Json, at: Schema.Finite })
}) {}

const valuesOf = <A>({ name, success }: Policy.Subject<A>, maxAge: Duration.Duration, call: Policy.Call) => {
  const codec = Schema.toCodecJson(success)
  const encode = SchemaParser.encodeUnknownEffect(codec)
  const decode = SchemaParser.decodeUnknownEffect(codec)
  const keyOf = (params: unknown): string | undefined => {
    const args = canonical(params)
    return args === undefined ? undefined : `${name} ${args}`
  }
  const unread = `The last known value of ${name} could not be read`
  const unkept = `The last known value of ${name} could not be kept`
  const who = "The store of last known values"
  return {
    find: (params: unknown) =>
      Effect.suspend(() => {
        const key = keyOf(params)
        return key === undefined ? Effect.succeedNone : asked(
          unread,
          (store) =>
            Effect.flatMap(answered(who, store.get(key)), (entry) =>
              Effect.flatMap(Clock.currentTimeMillis, (now) => {
                if (Option.isNone(entry)) return Effect.succeedNone
                const age = Duration.millis(Math.max(0, now - entry.value.at))
                if (Duration.isGreaterThan(age, maxAge)) return Effect.succeedNone
                return Effect.option(Effect.map(decode(entry.value.value), (value) => ({ value, age })))
              })),
          Effect.succeedNone
        )
      }),
    keep: (params: unknown, value: A): Effect.Effect<void, never, LastKnown> =>
      Effect.flatMap(call.state, (state) => {
        const key = state.source?.age === undefined ? keyOf(params) : undefined
        if (key === undefined) return Effect.void
        return Effect.withFiber((fiber: Fiber.Fiber<unknown, unknown>) => {
          const memory = inMemory.get(Context.getOrUndefined(fiber.context, LastKnown) ?? fiber)
          const json = memory === undefined ? undefined : attempted(() => encode(value))
          if (memory !== undefined && json !== undefined && isExit(json)) {
            const at = fiber.getRef(Clock.Clock).currentTimeMillisUnsafe()
            return Exit.isSuccess(json) ? memory.set(key, { value: json.value, at }) : Effect.void
          }
          return asked(
            unkept,
            (store, at) =>
              Effect.matchEffect(encode(value), {
                // Dispatch says so, of every value that is none.
                onFailure: () => Effect.void,
                onSuccess: (json) => answered(who, store.set(key, { value: json, at }))
              }),
            Effect.void
          )
        })
      })
  }
}

interface Memory {
  readonly set: (key: string, entry: Entry) => Effect.Effect<void>
}

// Stores of this module's own, which answer at once and never fail: nobody has to wait for them with patience.
const inMemory = new WeakMap<object, Memory>()

/** How long a store may take, in milliseconds. */
const patience = 1_000

// A store may fail, hang, and ignore that it is interrupted. None of that is the caller's matter.
const asked = <A>(
  complaint: string,
  ask: (store: LastKnown["Service"], now: number) => Effect.Effect<A, unknown>,
  otherwise: Effect.Effect<A>
): Effect.Effect<A, never, LastKnown> =>
  Effect.withFiber((fiber) => {
    const now = fiber.getRef(Clock.Clock).currentTimeMillisUnsafe()
    const answer = withinTime(
      LastKnown.use((store) => ask(store, now)),
      Math.min(patience, millisToAnswer(fiber)),
      { late: () => Effect.andThen(Effect.logWarning(`${complaint} in time.`), otherwise) }
    )
    return Effect.catchCause(answer, (cause) => Effect.andThen(Effect.logWarning(`${complaint}.`, cause), otherwise))
  })
