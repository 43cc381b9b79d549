/*
 * Checks a tool's results against rules that its author declares, because no schema can express them.
 * The checks run after each success of the handler:
 *
 *     handler ─ execution ─ failed ─ invariants ─ freshness ─ pages ─ empty ─ policies
 *
 * The order matters. A result that reports a failure need not satisfy any other rule. A result that breaks
 * an invariant is not trusted further. The age is noted before pages are followed, so that it also applies
 * to a merged result. Emptiness is checked last, since an empty page may be followed by more pages.
 *
 * The checks run after the execution. By then, the call has recorded that an acting tool (one with side
 * effects) has taken effect. So a failed check does not count as a refusal, and no policy runs the tool again.
 */
import type { JsonSchema as AnyJsonSchema } from "@fallible/arguments"
import * as Cause from "effect/Cause"
import * as Clock from "effect/Clock"
import * as DateTime from "effect/DateTime"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Predicate from "effect/Predicate"
import * as Schema from "effect/Schema"
import * as SchemaAST from "effect/SchemaAST"
import type * as Guard from "../../Guard.ts"
import type { SideEffect } from "../../SideEffect.ts"
import {
  type PartialData,
  SchemaMismatch,
  SemanticGarbage,
  type ToolFailure,
  type ToolUnavailable
} from "../../ToolFailure.ts"
import { foreignOf, isWritable } from "../arguments/foreignSchema.ts"
import { isIdempotent } from "../call/isIdempotent.ts"
import { note } from "../call/note.ts"
import { IllTyped, requireSync } from "../call/runUserCode.ts"
import { current } from "../call/scope.ts"
import { withFields } from "../failure/failureClass.ts"
import { reportDefect } from "../fiber/reportDefect.ts"
import { kind } from "../value/text.ts"
import { attempt, isA } from "../value/untrusted.ts"
import { hasNothing } from "./emptiness.ts"
import { type Field, isFurther, nextPageOf, type Pages } from "./nextPage.ts"
import { incompleteOf, partialData } from "./partialResult.ts"
import { failureOf, reportedIn, wordsIn } from "./reportedFailure.ts"

export type { Pages } from "./nextPage.ts"

/**
 * The meaning of an empty result.
 *
 * @category models
 * @since 0.1.0
 */
export interface Empty<in A, in Params> {
  /**
   * Returns whether a result is empty. By default, a result is empty if it is `undefined`, `null`, `""`,
   * `Option.none`, an empty list, map or set, or an object without fields. An object with lists is
   * empty if all its lists are empty and its other fields are flags, numbers up to 1, times, or absent.
   */
  readonly when?: (value: A, params: Params) => boolean
  /** The meaning of the empty result, as a sentence: "No orders match this name." */
  readonly detail: string
  /** What the model should do next. */
  readonly hint?: string
  /** The valid choices, nearest to the requested one first. */
  readonly alternatives?: ReadonlyArray<string>
}

/**
 * The rules that the author of a tool declares for the results of that tool.
 *
 * If one of these functions throws, this is a defect of the tool, and goes to the `Observer`. If
 * the tool acts (has side effects), it still returns its answer, with a caveat.
 *
 * @example
 * ```ts
 * import { Tool } from "@fallible/core"
 * import { Effect, Schema } from "effect"
 *
 * const getRate = Tool.make("get_rate", {
 *   description: "The exchange rate of a currency",
 *   parameters: Schema.Struct({ currency: Schema.String }),
 *   success: Schema.Struct({
 *     ok: Schema.Boolean,
 *     rate: Schema.optionalKey(Schema.Finite),
 *     error: Schema.optionalKey(Schema.String)
 *   }),
 *   sideEffect: "none",
 *   failed: true
 * }, ({ currency }) =>
 *   Effect.succeed(currency === "EUR" ? { ok: true, rate: 1.1 } : { ok: false, error: `There is no ${currency}.` }))
 *
 * const failure = Effect.runSync(Effect.flip(getRate.run({ currency: "DEM" })))
 * failure.code // => "reported_failure"
 * failure.detail // => "The answer says that it failed: There is no DEM."
 * ```
 *
 * @category models
 * @since 0.1.0
 */
export interface Contract<A, Params> {
  /**
   * The meaning of an empty result: a sentence, or an object with more fields. If a result is empty,
   * the tool fails with a `SemanticGarbage` whose code is `empty_result`. A page does not count as
   * empty if it has a next page, or if it is not the first page. Default: none.
   */
  readonly empty?: string | Empty<A, Params>
  /**
   * How a result reports that the call has failed. A function returns the service's words for the failure, or `undefined`,
   * `null` or `""` if the result is none. With `true`, these fields of an object report a failure, unless its `ok` or
   * `success` is `true`: an `ok` or `success` of `false`, an `error` or `errors` that is not empty, a `status` of `"failed"`,
   * `"failure"` or `"error"`.
   *
   * The tool then fails with a `SemanticGarbage` that has the code `reported_failure`. If the tool is read-only and the words
   * say that waiting helps ("Rate limit exceeded", "try again later"), it is a transient `ToolUnavailable`, which policies
   * retry. A tool that acts counts as executed. Default: such a result is an answer. The model reads it with a note, unless
   * `success` declares the field as data. A tool that acts must declare its values, as with literals: a mere `ok: Schema.Boolean`
   * still gets the note.
   */
  readonly failed?: true | ((value: A, params: Params) => string | null | undefined)
  /**
   * How a result reports more pages: by its fields, or by a function. If there are more pages, the
   * tool fails with a `PartialData` that has the code `more_pages` and the arguments of the next page.
   * `Tool.paginate` requests these pages. Default: none.
   */
  readonly pages?: Pages<A, Params> | ((value: A, params: Params) => Guard.Incomplete | undefined)
  /**
   * Returns the time of the data. A number is in milliseconds since 1970, and a string in ISO 8601. `null` and
   * `undefined` mean that the time is not known. If the data is older than `freshness`, a note says how old it
   * is. If the time cannot be parsed, a note says that the age is unknown. A time in the future counts as fresh. Default: none.
   */
  readonly asOf?: (value: A) => DateTime.DateTime.Input | null | undefined
  /** The maximum age of the data. Required with `asOf`. Default: none. */
  readonly freshness?: Duration.Input
  /**
   * Rules that every result must satisfy. Each key is a sentence that states a rule, and its value is the
   * predicate that checks the rule. If a predicate returns `false`, the tool fails with a `SchemaMismatch` of
   * side `"result"` and code `invariant_broken`. The failure tells the model that the tool is at fault. Default: none.
   */
  readonly invariants?: { readonly [sentence: string]: (value: A, params: Params) => boolean }
  /**
   * The parameter with which the model can request a smaller result. It is suggested to the model if
   * the result of a read-only tool is cut off, or if that tool times out. Default: none.
   */
  readonly size?: Field<Params>
}

/**
 * The failures that the fields of a contract add to a tool, keyed by these fields.
 *
 * @category utility types
 * @since 0.1.0
 */
export interface ContractFailures<A> {
  readonly failed: SemanticGarbage | ToolUnavailable
  readonly invariants: SchemaMismatch
  readonly empty: SemanticGarbage
  readonly pages: PartialData<A>
}

/** The rules that decide what a result means. */
type Rules = { readonly [K in keyof ContractFailures<unknown>]?: unknown }

/** The rules of tools, by their tokens. They are rarely asked for, and one more field would make a tool slower. */
const rulesOf = new WeakMap<object, Rules>()

/** Remembers which rules a tool has. */
export const rememberRules = (token: object, rules: Rules): void => {
  rulesOf.set(token, rules)
}

/** Whether the definition of a tool has a rule. */
export const hasRule = (token: object, rule: keyof Rules): boolean => rulesOf.get(token)?.[rule] !== undefined

interface Tool<A, Params> extends Contract<A, Params> {
  readonly name: string
  readonly parameters: Schema.ConstraintDecoder<unknown>
  readonly success: Schema.Constraint
  readonly sideEffect: SideEffect
}

type Run<A, Params, E, R> = (params: Params) => Effect.Effect<A, E, R>

type Verdict<A> = SchemaMismatch | SemanticGarbage | PartialData<A> | ToolUnavailable

/**
 * Wraps a handler so that its results are checked against the tool's contract. If the tool has no
 * contract, returns the handler itself.
 */
export const keepContract = <A, Params, E extends ToolFailure, R>(
  tool: Tool<A, Params>,
  run: Run<A, Params, E, R>
): Run<A, Params, E | Verdict<A>, R> => {
  const { asOf, empty, failed, freshness, invariants, pages } = tool
  if ([asOf, empty, failed, invariants, pages].every((rule) => rule === undefined)) return run
  const findFailed = failureCheckOf(tool)
  const findBroken = invariantCheckOf(tool)
  const findEmpty = emptinessCheckOf(tool)
  const findStale = asOf === undefined || freshness === undefined ? undefined : ageCheckOf(tool.name, asOf, freshness)
  const checkPages = pageCheckOf(tool)
  const checkAll = (value: A, params: Params): Effect.Effect<A, Verdict<A>> => {
    const failed = findFailed?.(value, params)
    if (failed !== undefined) return Effect.fail(failed)
    const broken = findBroken?.(value, params)
    if (broken !== undefined) return Effect.andThen(logBroken(broken), Effect.fail(broken))
    if (findStale === undefined) return checkExtent(value, params)
    return Effect.withFiber((fiber) => {
      const stale = findStale(value, fiber.getRef(Clock.Clock).currentTimeMillisUnsafe())
      if (stale !== undefined) note(fiber.getRef(current), { _tag: "CaveatAdded", text: stale })
      return checkExtent(value, params, stale)
    })
  }
  const checkExtent = (value: A, params: Params, stale?: string): Effect.Effect<A, Verdict<A>> =>
    Effect.flatMapEager(checkPages?.(value, params, stale) ?? Effect.succeed(value), (value) => {
      const emptyResult = isFurtherPage(tool, params) ? undefined : findEmpty?.(value, params)
      if (emptyResult === undefined) return Effect.succeed(value)
      const failure = stale === undefined
        ? emptyResult
        : withFields(emptyResult, { detail: `${withFullStop(emptyResult.detail)} ${stale}` })
      // An empty page after other pages only marks the end of the result.
      return Effect.flatMap(
        current,
        ({ record }) => record.role === "page" ? Effect.succeed(value) : Effect.fail(failure)
      )
    })
  const check = tool.sideEffect === "none" ?
    checkAll :
    (value: A, params: Params) => keepingAnswer(value, tool.name, Effect.suspend(() => checkAll(value, params)))
  return (params) => Effect.flatMap(run(params), (value) => check(value, params))
}

const withFullStop = (sentence: string): string => /[.!?…]$/.test(sentence) ? sentence : `${sentence}.`

/** Keeps the answer of an acting tool if a function of the tool's contract throws. */
const keepingAnswer = <A, E>(value: A, name: string, checked: Effect.Effect<A, E>): Effect.Effect<A, E> =>
  Effect.catchCause(checked, (cause) =>
    Cause.hasDies(cause)
      // The report runs in the background: if the call waited for the report, the answer could be lost.
      ? Effect.andThen(
        Effect.forkDetach(reportDefect(`The definition of ${name} could not check a result`, cause), {
          startImmediately: true
        }),
        Effect.map(current, (scope) => {
          note(scope, { _tag: "CaveatAdded", text: "This result could not be checked." })
          return value
        })
      )
      : Effect.failCause(cause))

/** Calls a user's function that must be synchronous. If it throws, the defect names the function. */
const callNow = <B>(functionName: string, call: () => B): B => {
  try {
    return requireSync(functionName, call())
  } catch (defect) {
    throw isA(IllTyped)(defect) ? defect : new Error(`${functionName} threw.`, { cause: defect })
  }
}

const callPredicate = (functionName: string, call: () => boolean): boolean => {
  const answer = callNow(functionName, call)
  if (Predicate.isBoolean(answer)) return answer
  throw new IllTyped(`${functionName} returned ${kind(answer)}: return true or false.`)
}

// -----------------------------------------------------------------------------
// Reported failures
// -----------------------------------------------------------------------------

const failureCheckOf = <A, Params>({ failed, name, sideEffect, success }: Tool<A, Params>) => {
  if (failed === undefined) return undefined
  const functionName = `The 'failed' of '${name}'`
  return (value: A, params: Params): SemanticGarbage | ToolUnavailable | undefined => {
    if (failed === true) {
      // Reading a value may throw. What cannot be read reports nothing.
      return attempt(() => reportedIn(value) === undefined ? undefined : failureOf(wordsIn(value, success), sideEffect))
    }
    const words = callNow(functionName, () => failed(value, params)) ?? ""
    if (Predicate.isString(words)) return words === "" ? undefined : failureOf(words, sideEffect)
    throw new IllTyped(`${functionName} returned ${kind(words)}: return the words of the failure, or undefined.`)
  }
}

// -----------------------------------------------------------------------------
// Invariants
// -----------------------------------------------------------------------------

const invariantCheckOf = <A, Params>({ invariants, name }: Tool<A, Params>) => {
  if (invariants === undefined) return undefined
  const all = Object.entries(invariants)
  return (value: A, params: Params): SchemaMismatch | undefined => {
    const broken = all.find(([sentence, holds]) =>
      !callPredicate(`The invariant '${sentence}' of '${name}'`, () => holds(value, params))
    )
    return broken === undefined ? undefined : new SchemaMismatch({
      side: "result",
      code: "invariant_broken",
      detail: `The result of ${name} is wrong: it breaks the rule '${broken[0].replace(/\.$/, "")}'.`
    })
  }
}

// Informs the author of the tool, since the model cannot repair the tool. A logger that dies must not
// fail the tool.
const logBroken = ({ detail }: SchemaMismatch) => Effect.ignoreCause(Effect.logWarning(detail))

// -----------------------------------------------------------------------------
// Emptiness
// -----------------------------------------------------------------------------

const emptinessCheckOf = <A, Params>({ empty, name }: Tool<A, Params>) => {
  if (empty === undefined) return undefined
  const { when, ...fields }: Empty<A, Params> = typeof empty === "string" ? { detail: empty } : empty
  return (value: A, params: Params): SemanticGarbage | undefined => {
    const isEmpty = when === undefined
      ? hasNothing(value)
      : callPredicate(`The 'empty' of '${name}'`, () => when(value, params))
    return isEmpty ? new SemanticGarbage({ ...fields, code: "empty_result" }) : undefined
  }
}

// -----------------------------------------------------------------------------
// Freshness
// -----------------------------------------------------------------------------

const ageCheckOf = <A>(name: string, asOf: Contract<A, never>["asOf"] & {}, freshness: Duration.Input) => {
  const limit = Duration.fromInputUnsafe(freshness)
  const max = Duration.format(limit)
  return (value: A, now: number): string | undefined => {
    const time = callNow(`The 'asOf' of '${name}'`, () => asOf(value))
    if (time === undefined || time === null) return undefined
    const at = attempt(() => Option.getOrUndefined(DateTime.make(time)))
    if (at === undefined) return "The age of the data is unknown."
    const age = Duration.millis(Math.max(0, now - DateTime.toEpochMillis(at)))
    return Duration.isGreaterThan(age, limit)
      ? `The data is ${roundedAge(Duration.format(age), max)} old; it should be at most ${max} old.`
      : undefined
  }
}

// Rounds the age to the precision of the limit: "3h" for a limit of "1h". If the rounded age equals
// the limit, it gets one more unit: "1h 1m".
const roundedAge = (age: string, limit: string): string => {
  const units = age.split(" ")
  const exact = limit.split(" ").length
  const words = units.slice(0, exact).join(" ")
  return words === limit ? units.slice(0, exact + 1).join(" ") : words
}

// -----------------------------------------------------------------------------
// Pages
// -----------------------------------------------------------------------------

const isFurtherPage = <A, Params>({ pages }: Tool<A, Params>, params: Params): boolean =>
  pages !== undefined && typeof pages !== "function" && isFurther(pages.next, params)

/**
 * Makes a check that fails with `PartialData` if a result is incomplete. If the result is stale,
 * `stale` says so, and is added to the failure's text.
 */
const pageCheckOf = <A, Params>({ name, pages, parameters }: Tool<A, Params>) => {
  if (pages === undefined) return undefined
  const functionName = `The 'pages' of '${name}'`
  const next = typeof pages === "function"
    ? (value: A, params: Params) =>
      Effect.succeed(incompleteOf(functionName, callNow(functionName, () => pages(value, params))))
    : nextPageOf(parameters, pages)
  return (value: A, params: Params, stale?: string): Effect.Effect<A, PartialData<A>> =>
    Effect.flatMapEager(next(value, params), (what) => {
      if (what === undefined) return Effect.succeed(value)
      const part = partialData(value, what)
      return Effect.fail(stale === undefined ? part : withFields(part, { detail: `${part.detail} ${stale}` }))
    })
}

// -----------------------------------------------------------------------------
// Requirements of a definition
// -----------------------------------------------------------------------------

/** A requirement for a tool's definition, whether the definition meets it, the value in question, and advice. */
export type Demand = readonly [what: string, isSo: boolean, value: unknown, advice?: string | undefined]

/** Lists the requirements for a contract. They are checked at run time, for programs without types. */
export const contractDemands = (
  { asOf, empty, failed, freshness, invariants, pages, parameters, sideEffect, size, success }: Readonly<
    Record<string, unknown>
  >
): ReadonlyArray<Demand> => {
  const isParameter = isFieldOf(parameters)
  const isField = isFieldOf(success)
  const optional = (what: string, value: unknown, isSo: (value: unknown) => boolean): ReadonlyArray<Demand> =>
    value === undefined ? [] : [[what, isSo(value), value]]
  return [
    ...optional("A tool's 'empty' must be a sentence, or an object with a 'detail'", empty, isEmptiness),
    ...optional(
      "A tool's 'failed' must be true, or a function that returns the words of the failure",
      failed,
      (failed) => failed === true || Predicate.isFunction(failed)
    ),
    ...optional("A tool's 'invariants' must be functions, each named by a sentence", invariants, isRecordOfFunctions),
    ...optional("A tool's 'asOf' must be a function", asOf, Predicate.isFunction),
    ...optional("A tool's 'freshness' must be a duration above zero", freshness, isPositive),
    [
      "A tool's 'asOf' and 'freshness' must be given together",
      (asOf === undefined) === (freshness === undefined),
      asOf ?? freshness
    ],
    [
      "A tool with 'pages' must be read-only or idempotent ('sideEffect'), since the model calls it for each page",
      pages === undefined || isIdempotent(sideEffect),
      sideEffect
    ],
    [
      "A tool with 'pages' must have parameters that can be written again, for the next page",
      pages === undefined || !Schema.isSchema(parameters) || isWritable(parameters),
      "a schema that transforms values",
      "Declare what the model writes, and transform it in the handler."
    ],
    ...optional("A tool's 'size' must be one of its parameters", size, isParameter),
    ...optional(
      "A tool's 'pages' must be a function, or an object with 'next' and with 'more' or 'full'",
      pages,
      (pages) =>
        Predicate.isFunction(pages) ||
        Predicate.isObject(pages) && (pages["more"] ?? pages["full"]) !== undefined && pages["next"] !== undefined
    ),
    ...(Predicate.isObject(pages)
      ? [
        ...optional("The 'next' of a tool's pages must be one of its parameters", pages["next"], isParameter),
        ...optional("The 'more' of a tool's pages must be a field of its result", pages["more"], isField),
        ...optional("The 'items' of a tool's pages must be a field of its result", pages["items"], isField),
        ...optional(
          "The 'full' of a tool's pages must be a number above zero, or one of its parameters",
          pages["full"],
          (full) => typeof full === "number" ? full > 0 : isParameter(full)
        )
      ]
      : [])
  ]
}

const isEmptiness = (empty: unknown): boolean => {
  if (!Predicate.isObject(empty)) return isSentence(empty)
  const { alternatives = [], detail, hint = "", when } = empty
  return isSentence(detail) && Predicate.isString(hint) && (when === undefined || Predicate.isFunction(when)) &&
    Array.isArray(alternatives) && alternatives.every(Predicate.isString)
}

const isSentence = (text: unknown): boolean => Predicate.isString(text) && text.trim() !== ""

const isRecordOfFunctions = (record: unknown): boolean =>
  Predicate.isObject(record) && Object.values(record).every(Predicate.isFunction)

const isPositive = (input: unknown): boolean =>
  Option.exists(Duration.fromInput(asDurationInput(input)), Duration.isPositive)

// `Duration.fromInput` checks the value at run time.
const asDurationInput = (input: unknown) => input as Duration.Input

// If a schema does not list its fields, any name is accepted.
const isFieldOf = (schema: unknown) => (name: unknown): boolean => {
  if (!Predicate.isString(name)) return false
  const foreign = Schema.isSchema(schema) ? foreignOf(schema) : undefined
  if (foreign !== undefined) return foreign.isInField || mayHaveKey(foreign.jsonSchema ?? {}, name)
  const ast = Schema.isSchema(schema) ? SchemaAST.toType(schema.ast) : undefined
  return ast === undefined || !SchemaAST.isObjects(ast) || ast.indexSignatures.length > 0 ||
    ast.propertySignatures.some((property) => property.name === name)
}

const mayHaveKey = ({ additionalProperties, properties }: AnyJsonSchema, name: string): boolean =>
  Predicate.isObject(properties) && Object.hasOwn(properties, name) || additionalProperties !== false
