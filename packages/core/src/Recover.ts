/**
 * A recovery table says, for every failure that a toolkit's tools can have, what happens next.
 *
 *     const recovered = Recover.table(toolkit, {
 *       get_weather: {
 *         SemanticGarbage: Recover.tell,                                    the model reads the failure
 *         ToolUnavailable: (_, { city }) => yesterday(city)                 another answer, or another failure
 *       },
 *       get_rate: {
 *         ToolUnavailable: { ask: () => "How many dollars is a euro?" }     the user is asked
 *       }
 *     })
 *
 * The table is complete: a tool that can fail needs a row, and each class of its failures an entry. It has nothing else.
 * So when a tool learns to fail in another way, the program does not compile until somebody has decided what to do.
 *
 * A table is applied outside all policies that the tools have. It sees what retries, breakers and fallbacks leave over. It
 * does not see the failures of `Dispatch`, such as arguments that cannot be decoded: they are no failures of a tool.
 *
 * @since 0.1.0
 */
import { demandKnown, didYouMean, type Names } from "@fallible/arguments/internal"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Predicate from "effect/Predicate"
import type * as Types from "effect/Types"
import { builtIn } from "./internal/policy/builtInPolicy.ts"
import { callOf } from "./internal/policy/policyCall.ts"
import type { Terms } from "./internal/policy/policyTerms.ts"
import type { Advice } from "./internal/tool/permittedFailure.ts"
import { withPolicy } from "./internal/tool/toolParts.ts"
import { excerpt, kind, list } from "./internal/value/text.ts"
import * as Policy from "./Policy.ts"
import type * as Tool from "./Tool.ts"
import type { Tag, ToolFailure, ToolUnavailable } from "./ToolFailure.ts"
import * as Toolkit from "./Toolkit.ts"

const TypeId = "~@fallible/core/Recover"

// -----------------------------------------------------------------------------
// Entries
// -----------------------------------------------------------------------------

/**
 * The entry that leaves a failure to the model. See {@link tell}.
 *
 * @category models
 * @since 0.1.0
 */
export interface Tell {
  readonly [TypeId]: "tell"
}

/**
 * The entry that asks the user when the tool is unavailable, and goes on with the reply, as `Tool.askWhenUnavailable` does.
 * Refusals and doubts are passed on to the model.
 *
 * @category models
 * @since 0.1.0
 */
export interface Ask<in Params, out Handled> {
  /** Returns what the user is asked. */
  readonly ask: (params: Params, failure: ToolUnavailable) => string
  /** Makes the answer from the reply. Default: the failure stays, and its hint tells the model what the user replied. */
  readonly use?: (reply: string, params: Params, failure: ToolUnavailable) => Handled
}

/**
 * What happens to a failure `F` of a tool that takes `Params` and answers with an `A`.
 *
 * @category models
 * @since 0.1.0
 */
export type Entry<Params, A, F extends ToolFailure> =
  | ((failure: F, params: Params) => Handling<A>)
  | Tell
  | (F extends ToolUnavailable ? Ask<Params, Handling<A>> : never)

type Handling<A> = Effect.Effect<A, ToolFailure<A> | MustFail, unknown>

type MustFail = Advice<"This function must fail with a ToolFailure. Add: Effect.mapError(ToolFailure.from)">

/**
 * A table for tools of the types `T`: a row for each tool that can fail, with an entry for each tag of its failures.
 *
 * @category models
 * @since 0.1.0
 */
export type Table<T extends Tool.Any> = {
  readonly [Each in T as [Tool.Failure<Each>] extends [never] ? never : Each["name"]]: Row<Each>
}

type Row<T extends Tool.Any> = T extends Tool.Tool<string, infer Params, infer A, infer E, infer _R>
  ? { readonly [F in E as F["_tag"]]: Entry<Params, A, F> }
  : never

/**
 * What a table must not have: rows and entries for what cannot happen. The compiler says so.
 *
 * @category utility types
 * @since 0.1.0
 */
export type Superfluous<T extends Tool.Any, Entries> = {
  readonly [Name in keyof Entries]: Name extends keyof Table<T> ? {
      readonly [Tag in keyof Entries[Name]]: Tag extends keyof Table<T>[Name] ? unknown
        : Advice<`${Name & string} cannot fail with ${Tag & string}. Remove this entry.`>
    }
    : Name extends T["name"] ? Advice<`${Name & string} cannot fail. Remove this row.`>
    : Advice<`The toolkit has no tool '${Name & string}'.`>
}

/**
 * The type of a tool under a table: it loses the failures that a function handles, and gains what the entries fail with,
 * and the services that they need.
 *
 * @category utility types
 * @since 0.1.0
 */
export type Recovered<T extends Tool.Any, Entries> = T extends
  Tool.Tool<infer Name, infer Params, infer A, infer E, infer R> ? Name extends keyof Entries ? Tool.Tool<
      Name,
      Params,
      A,
      Types.ExcludeTag<E, HandledIn<Entries[Name]>> | FailureOf<HandledBy<Entries[Name]>>,
      R | Effect.Services<HandledBy<Entries[Name]>>
    >
  : T
  : never

/** The tags that only functions handle. */
type HandledIn<Row> = {
  [Tag in keyof Row]: Row[Tag] extends (...args: never) => unknown ? Tag & string : never
}[keyof Row]

/** The Effects of the functions in a row. */
type HandledBy<Row> = EffectOf<Row[keyof Row]>

// A question without a use of the reply has no Effect. The compiler then infers `unknown`, which would hide the others.
type EffectOf<One> = One extends (...args: never) => infer Handled ? Handled
  : One extends { readonly ask: unknown; readonly use?: (...args: never) => infer Handled }
    ? unknown extends Handled ? never : Handled
  : never

type FailureOf<Handled> = Exclude<Extract<Effect.Error<Handled>, ToolFailure>, MustFail>

// -----------------------------------------------------------------------------
// Constructors
// -----------------------------------------------------------------------------

/**
 * Leaves the failure in `E`: the model reads it, and decides.
 *
 * When to use: for each failure that the model is best placed to handle, such as an unknown city. The entry says that
 * somebody has thought of it.
 *
 * @category constructors
 * @since 0.1.0
 */
export const tell: Tell = { [TypeId]: "tell" }

/**
 * Applies a recovery table to a toolkit.
 *
 * When to use: last, when the tools have all their policies. Give defaults to the toolkit before (`Toolkit.withDefaults`):
 * the failures that they add then count, too. An agent's `policies` come later, and the table does not know them.
 *
 * An entry is one of three:
 *
 * - a function `(failure, params)`, which answers or fails in another way. It is a `Tool.catchTag`: an answer of a tool
 *   that acts carries the caveat that says whether the call may have taken effect, and no entry removes a doubt. The
 *   function also gets refusals, such as a 403; to pass one on, fail with the failure.
 * - {@link tell}: the model reads the failure.
 * - `{ ask, use }`, for a `ToolUnavailable`: the user is asked. It is a `Tool.askWhenUnavailable`, which passes on refusals
 *   and doubts, so `ToolUnavailable` stays in `E`.
 *
 * A failure goes to the entry of its own tag. What that entry fails with is final: no other entry of the table sees it.
 *
 * Does not compile if a tool that can fail, or one of its tags, has no entry, or if there is an entry for what cannot
 * happen. Throws if a row names no tool of the toolkit, or if an entry is none of the three.
 *
 * @param entries by tool name, then by the tag of the failure. A tool that cannot fail has no row
 *
 * @example
 * ```ts
 * import { SemanticGarbage, Tool, Toolkit, ToolUnavailable } from "@fallible/core"
 * import * as Recover from "@fallible/core/Recover"
 * import { Effect, Schema } from "effect"
 *
 * const weather = Tool.make("get_weather", {
 *   description: "The weather",
 *   parameters: Schema.Struct({ city: Schema.String }),
 *   success: Schema.String,
 *   sideEffect: "none"
 * }, ({ city }) =>
 *   city === "Paris"
 *     ? Effect.fail(new ToolUnavailable({ code: "connection", detail: "Refused.", transient: true }))
 *     : Effect.fail(new SemanticGarbage({ code: "unknown_city", detail: `Unknown city: '${city}'.` })))
 *
 * const toolkit = Recover.table(Toolkit.make(weather), {
 *   get_weather: {
 *     SemanticGarbage: Recover.tell,
 *     ToolUnavailable: (_, { city }) => Effect.succeed(`Usually rainy in ${city}.`)
 *   }
 * })
 * const recovered = toolkit.tools.get("get_weather")!
 * recovered.run({ city: "Paris" }) // Effect<string, SemanticGarbage, never>
 * Effect.runSync(recovered.run({ city: "Paris" })) // => "Usually rainy in Paris."
 * ```
 *
 * @category constructors
 * @since 0.1.0
 */
export const table = <T extends Tool.Any, Entries extends Table<T>>(
  toolkit: Toolkit.Toolkit<T>,
  entries: Entries & Superfluous<T, Entries>
): Toolkit.Toolkit<Recovered<T, Entries>> => {
  const policiesOf = policiesIn(toolkit, entries)
  return Toolkit.make(
    ...Array.from(toolkit.tools.values(), (tool) => asRecovered<T, Entries>(recover(tool, policiesOf(tool.name))))
  )
}

// -----------------------------------------------------------------------------
// Internals
// -----------------------------------------------------------------------------

/** The policies of a row, by the tags that they handle. */
type ByTag = ReadonlyMap<string, Policy.Any>

const recover = (tool: Tool.Any, byTag: ByTag): Tool.Any => {
  const [first, ...others] = byTag.values()
  if (first === undefined) return tool
  return withPolicy(tool, others.length === 0 ? first : oneOf(byTag))
}

/**
 * Makes one policy of several. Each failure goes to the policy of its tag, and to no other: one around the other, the outer
 * policy would handle what the inner one has made.
 */
const oneOf = (byTag: ByTag): Policy.Any => {
  const policies = Array.from(byTag.values())
  const description = policies.map(({ description }) => description).join(", ")
  return builtIn(Policy.make<unknown, ToolFailure>({
    kind: policies.some(({ kind }) => kind === "fallback") ? "fallback" : "catch",
    description,
    terms: termsOf(policies.map(({ terms = {} }) => terms)),
    wrap: (run, subject) => (params) =>
      Effect.catch(run(params), (failure) => {
        const policy = byTag.get(failure._tag)
        return policy === undefined
          ? Effect.fail(failure)
          : policy.wrap(() => Effect.fail(failure), subject, callOf(policy))(params)
      })
  }))
}

// Only one of the policies does something after a run. If one of them has no time limit, they all count as having none.
const termsOf = (all: ReadonlyArray<Terms>): Terms => {
  const parts = all.flatMap(({ after }) => after ?? [])
  const what = parts.flatMap(({ what }) => what ?? []).join(", or ")
  return {
    after: parts.every(({ time }) => time !== undefined) ? { what, time: Duration.zero } : { what },
    ...(all.every(({ passesOnDoubt }) => passesOnDoubt === true) ? { passesOnDoubt: true } : {})
  }
}

// A policy treats all tools alike. The declared type says how the entries change each of them.
const asRecovered = <T extends Tool.Any, Entries>(tool: Tool.Any) => tool as unknown as Recovered<T, Entries>

const tags: Readonly<Record<Tag, true>> = {
  SchemaMismatch: true,
  PartialData: true,
  SemanticGarbage: true,
  ToolUnavailable: true
}

/** Returns the policies of each tool's row. Throws if a row or an entry is not what its type says. */
const policiesIn = ({ tools }: Toolkit.Toolkit, entries: object): (name: string) => ByTag => {
  const names = Array.from(tools.keys())
  const rows = new Map(
    Object.entries(demandRecord("A recovery table", entries)).map(([name, row]) => {
      if (!tools.has(name)) throw new TypeError(`A recovery table has a row for '${name}'. ${instead(name, names)}`)
      return [name, policiesOfRow(name, row)]
    })
  )
  return (name) => rows.get(name) ?? new Map()
}

const instead = (name: string, names: ReadonlyArray<string>): string => {
  const meant = didYouMean(name, names)
  return meant === undefined ? `The tools are ${list(names)}.` : `Did you mean '${meant}'?`
}

const policiesOfRow = (name: string, row: unknown): ByTag =>
  new Map(
    Object.entries(demandRecord(`The recovery of '${name}'`, row)).flatMap(([tag, entry]) => {
      if (!isTag(tag)) {
        throw new TypeError(`The recovery of '${name}' is by the tags ${list(Object.keys(tags))}; got ${excerpt(tag)}.`)
      }
      const policy = policyOf(`The recovery of '${name}' from ${tag}`, tag, entry)
      return policy === undefined ? [] : [[tag, policy] as const]
    })
  )

const policyOf = (what: string, tag: Tag, entry: unknown): Policy.Any | undefined => {
  if (entry === tell) return undefined
  if (isHandler(entry)) return Policy.catchTag(tag, entry)
  if (!isAsk(entry)) {
    throw new TypeError(`${what} must be a function, Recover.tell or { ask: () => question }; got ${kind(entry)}.`)
  }
  demandKnown(what, entry, askNames)
  if (tag !== "ToolUnavailable") throw new TypeError(`${what} cannot ask the user. Only ToolUnavailable can.`)
  return Policy.askWhenUnavailable(entry.ask, entry.use)
}

const askNames: Names<Ask<never, never>> = { ask: true, use: true }

const isTag = (tag: string): tag is Tag => Object.hasOwn(tags, tag)

type Handler = (failure: never, params: never) => Effect.Effect<unknown, ToolFailure, unknown>

// A function is called under a guard, which says what is wrong with its result.
const isHandler = (entry: unknown): entry is Handler => typeof entry === "function"

const isAsk = (entry: unknown): entry is Ask<never, Effect.Effect<unknown, ToolFailure, unknown>> =>
  Predicate.isObject(entry) && "ask" in entry

const demandRecord = (what: string, value: unknown): object => {
  if (Predicate.isObject(value) && !(Symbol.iterator in value)) return value
  throw new TypeError(`${what} must be an object; got ${kind(value)}.`)
}
