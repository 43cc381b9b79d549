/*
 * What the author of a tool knows of its results, and no schema can say. It is checked after each success of the handler:
 *
 *     handler ─ execution ─ invariants ─ freshness ─ pages ─ empty ─ policies
 *
 * Why this order? A result that breaks an invariant is not trusted further. The age is noted before pages are followed, so that a merged
 * result has it, too. An empty page may have a next one, so emptiness is checked last.
 *
 * Why outside of the execution? By then the call knows that a tool that acts has taken effect. So no check here counts as a refusal, and
 * nothing runs the tool again.
 */
import * as Cause from "effect/Cause"
import * as Clock from "effect/Clock"
import * as DateTime from "effect/DateTime"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Predicate from "effect/Predicate"
import * as Schema from "effect/Schema"
import * as SchemaAST from "effect/SchemaAST"
import * as Defect from "../../Defect.ts"
import type * as Guard from "../../Guard.ts"
import type { SideEffect } from "../../SideEffect.ts"
import { type PartialData, SchemaMismatch, SemanticGarbage, type ToolFailure } from "../../ToolFailure.ts"
import { current } from "../call/frame.ts"
import { isIdempotent } from "../call/idempotent.ts"
import { PageFrame } from "../call/innerFrame.ts"
import { IllTyped, outright } from "../call/userCode.ts"
import { withFields } from "../failure/failureClass.ts"
import { kind } from "../value/text.ts"
import { attempted, isA } from "../value/untrusted.ts"
import { type Field, isFurther, nextPageOf, type Pages } from "./nextPage.ts"
import { incompleteOf, partialData } from "./partial.ts"

export type { Pages } from "./nextPage.ts"

/**
 * What an empty result means.
 *
 * @category models
 * @since 0.1.0
 */
export interface Empty<in A, in Params> {
  /**
   * Is a result empty? Default: `undefined`, `null`, `""`, `Option.none`, an empty list, map or set, an object without fields. An object
   * with lists is empty if its lists are, and its other fields are flags, numbers up to 1, times, or absent.
   */
  readonly when?: (value: A, params: Params) => boolean
  /** What it means: "No orders match this name." */
  readonly detail: string
  /** What to do next. */
  readonly hint?: string
  /** The valid choices, nearest first. */
  readonly alternatives?: ReadonlyArray<string>
}

/**
 * What the author of a tool knows of its results.
 *
 * A function here that throws is a fault of the tool: a defect. The answer of a tool that acts is kept all the same, with a note, and the
 * defect goes to `Defect.reporter`.
 *
 * @category models
 * @since 0.1.0
 */
export interface Contract<A, Params> {
  /**
   * What an empty result means: a sentence, or more. Such a result fails with `SemanticGarbage`, code `empty_result`. A page that has a
   * next one, or is not the first, is not empty in this sense.
   */
  readonly empty?: string | Empty<A, Params>
  /**
   * How a result says that there is more: by its fields, or by a function. Such a result fails with `PartialData`, code `more_pages`, with
   * the arguments that continue, which `Tool.paginate` follows.
   */
  readonly pages?: Pages<A, Params> | ((value: A, params: Params) => Guard.Incomplete | undefined)
  /**
   * From when a result is; a number is in milliseconds since 1970, a text in ISO 8601. `undefined`: it is not said. With a `freshness`, the
   * answer says how old it is when it is older than that. A time that cannot be read is told; one in the future counts as fresh.
   */
  readonly asOf?: (value: A) => DateTime.DateTime.Input | null | undefined
  /** How old a result may be. */
  readonly freshness?: Duration.Input
  /**
   * Rules that hold for every result: each predicate under its rule. The first that returns `false` fails with a `SchemaMismatch` of the
   * result, code `invariant_broken`. The model is told that the tool is at fault.
   */
  readonly invariants?: { readonly [sentence: string]: (value: A, params: Params) => boolean }
  /** The parameter that asks for less. The model is told of it when a tool that only reads was cut off, or did not answer in time. */
  readonly size?: Field<Params>
}

/**
 * What a tool can fail with because of a field of its definition.
 *
 * @category utility types
 * @since 0.1.0
 */
export interface ContractFailures<A> {
  readonly invariants: SchemaMismatch
  readonly empty: SemanticGarbage
  readonly pages: PartialData<A>
}

interface Tool<A, Params> extends Contract<A, Params> {
  readonly name: string
  readonly parameters: Schema.ConstraintDecoder<unknown>
  readonly sideEffect: SideEffect
}

type Run<A, Params, E, R> = (params: Params) => Effect.Effect<A, E, R>

type Verdict<A> = SchemaMismatch | SemanticGarbage | PartialData<A>

/** A handler whose results keep its tool's contract; the handler itself, where there is none. */
export const keeping = <A, Params, E extends ToolFailure, R>(
  tool: Tool<A, Params>,
  run: Run<A, Params, E, R>
): Run<A, Params, E | Verdict<A>, R> => {
  const { asOf, empty, freshness, invariants, pages } = tool
  if ([asOf, empty, invariants, pages].every((word) => word === undefined)) return run
  const broken = brokenIn(tool)
  const emptied = emptinessOf(tool)
  const age = asOf === undefined || freshness === undefined ? undefined : ageOf(tool.name, asOf, freshness)
  const part = partOf(tool)
  const kept = (value: A, params: Params): Effect.Effect<A, Verdict<A>> => {
    const impossible = broken?.(value, params)
    if (impossible !== undefined) return Effect.andThen(warned(impossible), Effect.fail(impossible))
    if (age === undefined) return whole(value, params)
    return Effect.withFiber((fiber) => {
      const stale = age(value, fiber.getRef(Clock.Clock).currentTimeMillisUnsafe())
      if (stale !== undefined) fiber.getRef(current).note({ _tag: "CaveatAdded", text: stale })
      return whole(value, params, stale)
    })
  }
  const whole = (value: A, params: Params, stale?: string): Effect.Effect<A, Verdict<A>> =>
    Effect.flatMapEager(part?.(value, params, stale) ?? Effect.succeed(value), (value) => {
      const nothing = isFurtherPage(tool, params) ? undefined : emptied?.(value, params)
      if (nothing === undefined) return Effect.succeed(value)
      const failure = stale === undefined
        ? nothing
        : withFields(nothing, { detail: `${ended(nothing.detail)} ${stale}` })
      // An empty page after others is the end of them.
      return Effect.flatMap(
        current,
        (frame) => frame instanceof PageFrame ? Effect.succeed(value) : Effect.fail(failure)
      )
    })
  const checked = tool.sideEffect === "none" ?
    kept :
    (value: A, params: Params) => atLeast(value, tool.name, Effect.suspend(() => kept(value, params)))
  return (params) => Effect.flatMap(run(params), (value) => checked(value, params))
}

const ended = (sentence: string): string => /[.!?…]$/.test(sentence) ? sentence : `${sentence}.`

/** What a tool that acts has answered is not lost because a function of its definition threw. */
const atLeast = <A, E>(value: A, name: string, checked: Effect.Effect<A, E>): Effect.Effect<A, E> =>
  Effect.catchCause(checked, (cause) =>
    Cause.hasDies(cause)
      // Nobody waits for a report: the answer may be lost meanwhile.
      ? Effect.andThen(
        Effect.forkDetach(Defect.report(`The definition of ${name} could not check a result`, cause), {
          startImmediately: true
        }),
        Effect.map(current, (frame) => {
          frame.note({ _tag: "CaveatAdded", text: "This result could not be checked." })
          return value
        })
      )
      : Effect.failCause(cause))

/** Calls a user's function that must answer at once. What it throws is a defect that says whose it is. */
const asked = <B>(who: string, call: () => B): B => {
  try {
    return outright(who, call())
  } catch (defect) {
    throw isA(IllTyped)(defect) ? defect : new Error(`${who} threw.`, { cause: defect })
  }
}

const isSo = (who: string, call: () => boolean): boolean => {
  const answer = asked(who, call)
  if (Predicate.isBoolean(answer)) return answer
  throw new IllTyped(`${who} returned ${kind(answer)}: return true or false.`)
}

// -----------------------------------------------------------------------------
// Invariants
// -----------------------------------------------------------------------------

const brokenIn = <A, Params>({ invariants, name }: Tool<A, Params>) => {
  if (invariants === undefined) return undefined
  const all = Object.entries(invariants)
  return (value: A, params: Params): SchemaMismatch | undefined => {
    const broken = all.find(([sentence, holds]) =>
      !isSo(`The invariant '${sentence}' of '${name}'`, () => holds(value, params))
    )
    return broken === undefined ? undefined : new SchemaMismatch({
      side: "result",
      code: "invariant_broken",
      detail: `The result of ${name} is wrong: it breaks the rule '${broken[0].replace(/\.$/, "")}'.`
    })
  }
}

// The model cannot do anything about it. Whoever wrote the tool can. What a logger dies of is not the tool's.
const warned = ({ detail }: SchemaMismatch) => Effect.ignoreCause(Effect.logWarning(detail))

// -----------------------------------------------------------------------------
// Emptiness
// -----------------------------------------------------------------------------

const emptinessOf = <A, Params>({ empty, name }: Tool<A, Params>) => {
  if (empty === undefined) return undefined
  const { when, ...said }: Empty<A, Params> = typeof empty === "string" ? { detail: empty } : empty
  return (value: A, params: Params): SemanticGarbage | undefined => {
    const isEmpty = when === undefined ? hasNothing(value) : isSo(`The 'empty' of '${name}'`, () => when(value, params))
    return isEmpty ? new SemanticGarbage({ ...said, code: "empty_result" }) : undefined
  }
}

const hasNothing = (value: unknown): boolean => {
  if (value === undefined || value === null || value === "") return true
  if (Array.isArray(value)) return value.length === 0
  if (isA(Map)(value) || isA(Set)(value)) return value.size === 0
  if (Option.isOption(value)) return Option.isNone(value)
  if (!Predicate.isObject(value)) return false
  const fields = Object.values(value)
  return fields.some(Array.isArray) ? fields.every(saysNothing) : fields.length === 0 && isPlain(value)
}

// Beside an empty list: a count of zero, the first page, the time of the answer, but no name of what has the list.
const saysNothing = (field: unknown): boolean => {
  if (Array.isArray(field)) return field.length === 0
  if (typeof field === "number") return field <= 1
  return !field || field === true || isTime(field)
}

const isTime = (field: unknown): boolean =>
  typeof field === "string"
    ? /^\d{4}-\d\d-\d\d(?:T\d\d:\d\d[\d:.]{0,16}(?:Z|[+-]\d\d:?\d\d)?)?$/.test(field)
    : DateTime.isDateTime(field) || Predicate.isDate(field)

const isPlain = (value: object): boolean => {
  const prototype: unknown = Object.getPrototypeOf(value)
  return prototype === Object.prototype || prototype === null
}

// -----------------------------------------------------------------------------
// Freshness
// -----------------------------------------------------------------------------

const ageOf = <A>(name: string, asOf: Contract<A, never>["asOf"] & {}, freshness: Duration.Input) => {
  const limit = Duration.fromInputUnsafe(freshness)
  const most = Duration.format(limit)
  return (value: A, now: number): string | undefined => {
    const time = asked(`The 'asOf' of '${name}'`, () => asOf(value))
    if (time === undefined || time === null) return undefined
    const at = attempted(() => Option.getOrUndefined(DateTime.make(time)))
    if (at === undefined) return "The age of the data is unknown."
    const age = Duration.millis(Math.max(0, now - DateTime.toEpochMillis(at)))
    return Duration.isGreaterThan(age, limit)
      ? `The data is ${longer(Duration.format(age), most)} old; it should be at most ${most} old.`
      : undefined
  }
}

// As exact as the limit, and longer than that: "3h" for a limit of "1h", and "1h 1m" if need be.
const longer = (age: string, limit: string): string => {
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

/** What is wrong with a result that is not the whole. `stale`: what is said of its age. */
const partOf = <A, Params>({ name, pages, parameters }: Tool<A, Params>) => {
  if (pages === undefined) return undefined
  const who = `The 'pages' of '${name}'`
  const next = typeof pages === "function"
    ? (value: A, params: Params) => Effect.succeed(incompleteOf(who, asked(who, () => pages(value, params))))
    : nextPageOf(parameters, pages)
  return (value: A, params: Params, stale?: string): Effect.Effect<A, PartialData<A>> =>
    Effect.flatMapEager(next(value, params), (what) => {
      if (what === undefined) return Effect.succeed(value)
      const part = partialData(value, what)
      return Effect.fail(stale === undefined ? part : withFields(part, { detail: `${part.detail} ${stale}` }))
    })
}

// -----------------------------------------------------------------------------
// What a definition may say
// -----------------------------------------------------------------------------

/** What is asked of a definition. */
export type Demand = readonly [what: string, isSo: boolean, value: unknown]

/** What the compiler asks of a contract; a program without types does not. */
export const contractDemands = (
  { asOf, empty, freshness, invariants, pages, parameters, sideEffect, size, success }: Readonly<
    Record<string, unknown>
  >
): ReadonlyArray<Demand> => {
  const isParameter = isFieldOf(parameters)
  const isField = isFieldOf(success)
  const declared = (what: string, value: unknown, isSo: (value: unknown) => boolean): ReadonlyArray<Demand> =>
    value === undefined ? [] : [[what, isSo(value), value]]
  return [
    ...declared("A tool's 'empty' is a sentence, or an object with a 'detail'", empty, isEmptiness),
    ...declared("A tool's 'invariants' are functions, each by its sentence", invariants, isRecordOfFunctions),
    ...declared("A tool's 'asOf' is a function", asOf, Predicate.isFunction),
    ...declared("A tool's 'freshness' is a duration above zero", freshness, isPositive),
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
    ...declared("A tool's 'size' is one of its parameters", size, isParameter),
    ...declared(
      "A tool's 'pages' are a function, or an object with 'next', and with 'more' or 'full'",
      pages,
      (pages) =>
        Predicate.isFunction(pages) ||
        Predicate.isObject(pages) && (pages["more"] ?? pages["full"]) !== undefined && pages["next"] !== undefined
    ),
    ...(Predicate.isObject(pages)
      ? [
        ...declared("The 'next' of a tool's pages is one of its parameters", pages["next"], isParameter),
        ...declared("The 'more' of a tool's pages is a field of its result", pages["more"], isField),
        ...declared("The 'items' of a tool's pages are a field of its result", pages["items"], isField),
        ...declared(
          "The 'full' of a tool's pages is a number above zero, or one of its parameters",
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

// It is looked at there.
const asDurationInput = (input: unknown) => input as Duration.Input

// Of a schema that does not say its fields, any name may be one.
const isFieldOf = (schema: unknown) => (name: unknown): boolean => {
  if (!Predicate.isString(name)) return false
  const ast = Schema.isSchema(schema) ? SchemaAST.toType(schema.ast) : undefined
  return ast === undefined || !SchemaAST.isObjects(ast) || ast.indexSignatures.length > 0 ||
    ast.propertySignatures.some((property) => property.name === name)
}
