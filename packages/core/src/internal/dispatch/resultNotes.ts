/*
 * Notes on results that may not be what they seem: a failure that looks like an answer, an empty result, a full page.
 * None of them is wrong for certain, so the result stays as it is. A rule in the tool's definition takes the place of the
 * note. Of a tool that acts, only a reported failure is noted.
 *
 * A result is looked at only at its top, since every call takes this step. Schemas are read only once there is a suspicion.
 */
import { read } from "@fallible/arguments"
import * as Effect from "effect/Effect"
import { memoize } from "effect/Function"
import * as Predicate from "effect/Predicate"
import type * as Schema from "effect/Schema"
import * as SchemaAST from "effect/SchemaAST"
import type * as Tool from "../../Tool.ts"
import type * as Toolkit from "../../Toolkit.ts"
import { decodeText } from "../arguments/decoding.ts"
import { schemaOf } from "../arguments/jsonSchema.ts"
import { hasNothing } from "../result/emptiness.ts"
import { noteOnPage, pageIn, pagingOf } from "../result/fullPage.ts"
import { isFurther } from "../result/nextPage.ts"
import { isDeclaredData, noteOnReported, reportedIn } from "../result/reportedFailure.ts"
import { hasRule } from "../result/resultContract.ts"
import { fieldNames } from "../result/resultSchema.ts"
import { tokenOf } from "../tool/toolParts.ts"
import { isJsonObject } from "../value/plainJson.ts"
import { attempt } from "../value/untrusted.ts"
import { availableOf } from "./toolHints.ts"

type Note = string | undefined

/**
 * Returns the note on a result, or an Effect that looks for it; `undefined` if there is nothing to note.
 *
 * @param answer what the handler returned: it may have an error that its schema does not declare
 * @param text the text of the call's arguments
 * @param hasFiles whether the answer has files, which may be all that it is about
 */
export const noteOnResult = (
  json: Schema.Json,
  answer: unknown,
  tool: Tool.Any,
  toolkit: Toolkit.Toolkit,
  text: string | undefined,
  hasFiles: boolean
): Effect.Effect<Note> | undefined => {
  const { policies, sideEffect, success } = tool
  const has = (rule: "failed" | "empty" | "pages") => hasRule(tokenOf(tool), rule)
  const reported = reportedIn(json) ?? (typeof answer === "object" ? attempt(() => reportedIn(answer)) : undefined)
  if (reported !== undefined) {
    const isData = has("failed") || isDeclaredData(tool, reported)
    if (!isData) return Effect.succeed(noteOnReported(reported))
  }
  if (sideEffect !== "none" || isPlainAnswer(json)) return undefined
  if (hasNothing(json)) {
    return hasFiles || has("empty") || isNothing(success.ast) ? undefined : noteOnEmpty(tool, toolkit, text)
  }
  const page = pageIn(json, tool.parameters, text)
  if (page === undefined || has("pages") || policies.some(({ kind }) => kind === "paginate")) {
    return undefined
  }
  return Effect.matchEager(decodeText(text, tool), {
    onFailure: () => undefined,
    onSuccess: ({ params }) => noteOnPage(page, params)
  })
}

const none: ReadonlyArray<never> = []

// Most results have a value, and no list. This check allocates nothing.
const isPlainAnswer = (json: Schema.Json): boolean => {
  if (typeof json !== "object") return json !== ""
  if (!isJsonObject(json)) return false
  let isEmpty = true
  for (const key in json) {
    if (Array.isArray(json[key])) return false
    isEmpty = false
  }
  return !isEmpty
}

// A tool that can only answer nothing says nothing by it.
const isNothing = (ast: SchemaAST.AST): boolean =>
  SchemaAST.isVoid(ast) || SchemaAST.isUndefined(ast) || SchemaAST.isNull(ast)

// -----------------------------------------------------------------------------
// Empty results
// -----------------------------------------------------------------------------

const noteOnEmpty = (tool: Tool.Any, toolkit: Toolkit.Toolkit, text: string | undefined): Effect.Effect<Note> => {
  const args = read(text)
  const given = args.ok ? args.value : {}
  const { next, size } = pagingOf(tool.parameters)
  // The page after the last one is empty.
  if (next !== undefined && isFurther(next.name, given)) return Effect.undefined
  const { properties } = schemaOf(tool.parameters)
  const declared = Predicate.isObject(properties) ? properties : {}
  const names = Object.keys(given).filter((name) =>
    name !== size?.name && name !== next?.name && mayBeWrong(given[name], declared[name])
  )
  if (names.length === 0) return Effect.undefined
  const sources = names.filter((name) => Object.hasOwn(declared, name) && !isId(given[name])).map((name) =>
    [name, findersOf(name, tool, toolkit)] as const
  )
  return Effect.map(availableOf(sources.flatMap(([, finders]) => finders), toolkit), (available) => {
    const found = sources.flatMap(([name, finders]) => {
      const shown = finders.filter((finder) => available.includes(finder)).slice(0, 2)
      return shown.length === 0 ? [] : [`${name}: ${shown.join(" or ")} returns it`]
    })
    const [only = ""] = names
    const what = found[0] ?? (names.length === 1 && Object.hasOwn(declared, only) ? only : "the arguments")
    return `The result is empty. If that is unexpected, check ${what}.`
  })
}

// "c-17" came from somewhere. "Ada" was put in its place.
const isId = (value: unknown): boolean =>
  typeof value === "number" || typeof value === "string" && /\d/.test(value) && !/\s/.test(value)

// A model cannot mistake a flag. One of a few choices exists.
const mayBeWrong = (value: unknown, declared: unknown): boolean =>
  typeof value !== "boolean" && !hasNothing(value) && !(Predicate.isObject(declared) && "enum" in declared)

/**
 * Returns the names of the other read-only tools that return an argument, and do not take it themselves. Only identifiers
 * mean the same everywhere: the `name` of a city is not the `name` of a customer.
 */
const findersOf = (argument: string, tool: Tool.Any, { tools }: Toolkit.Toolkit): ReadonlyArray<string> => {
  const words = wordsOf(argument)
  if (!identifiers.has(words.at(-1) ?? "")) return none
  // The `id` of `get_customer` is a `customer_id`.
  const full = words.length > 1 || argument !== "id" ? words : [...wordsOf(tool.name).slice(1), ...words]
  const owner = full.slice(0, -1).join(" ")
  return Array.from(tools.values()).filter((other) => {
    if (other.name === tool.name || other.sideEffect !== "none") return false
    const returned = fieldsOf(other.success)
    // The `id` that `find_customers_by_name` returns is a customer's, and that of `find_customer_orders` is not.
    const [subject = ""] = wordsOf(other.name).join(" ").split(/ (?:by|for|from|in|of|with) /)
    const isReturned = returned.has(full.join(" ")) ||
      full.at(-1) === "id" && owner !== "" && returned.has("id") && subject.endsWith(` ${owner}`)
    return isReturned && !requires(other, words) && !requires(other, full)
  }).map(({ name }) => name)
}

const identifiers: ReadonlySet<string> = new Set([
  "code",
  "email",
  "guid",
  "handle",
  "iban",
  "id",
  "isbn",
  "key",
  "number",
  "ref",
  "reference",
  "sku",
  "slug",
  "symbol",
  "ticker",
  "username",
  "uuid"
])

const requires = ({ parameters }: Tool.Any, words: ReadonlyArray<string>): boolean => {
  const { required } = schemaOf(parameters)
  return Array.isArray(required) && required.some((name) => wordsOf(String(name)).join(" ") === words.join(" "))
}

/** The names of all fields that a result may have, at any depth, in words. */
const fieldsOf = memoize((success: Tool.Any["success"]): ReadonlySet<string> =>
  new Set(Array.from(fieldNames(success), (name) => wordsOf(name).join(" ")))
)

// "customerIds" and "customer_id" are the same words.
const wordsOf = (name: string): ReadonlyArray<string> =>
  name.replaceAll(/([a-z\d])([A-Z])/g, "$1 $2").toLowerCase().split(/[^a-z\d]+/).filter((word) => word !== "").map(
    (word) => word.replace(/ies$/, "y").replace(/([^s])s$/, "$1")
  )
