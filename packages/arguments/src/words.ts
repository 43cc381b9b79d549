/**
 * All sentences of this package: about repairs, text that cannot be read, and values that do not fit.
 * Sentences are made last, so that no code has to parse a sentence to learn a fact.
 */
import { isArray, isString } from "./json.ts"
import type { Issue, Misfit, Refusal, Unreadable } from "./refusal.ts"
import type { Repair, TextRepair, TextRepairKind, ValueRepairKind } from "./repair.ts"
import { list, oneLine, placeOf } from "./text/excerpt.ts"
import type { Expected, Fault, FaultKind } from "./text/fault.ts"
import { isInvisible, nameOfInvisible, withVisibleCodes } from "./text/invisible.ts"
import { nameOf } from "./value.ts"

/**
 * Puts a refusal, an issue or a repair into words that a model can act on.
 *
 * When to use: for the message that goes back to the model. Returns `undefined` for a repair without a note.
 * For a list of repairs, returns one string with all their notes.
 *
 * @example
 * ```ts
 * import { decode, message } from "@fallible/arguments"
 *
 * const schema = { type: "object", properties: { days: { type: "integer", maximum: 5 } }, additionalProperties: false }
 * const decoded = decode("{\"days\":7}", schema)
 *
 * decoded.ok || message(decoded.refusal) // => "'days': expected integer of at most 5, got 7."
 * ```
 */
export const message: {
  (what: Refusal | Issue | ReadonlyArray<Repair>): string
  (what: Repair): string | undefined
  (what: Sayable): string | undefined
} = (what: Sayable): never => toText(what) as never

type Sayable = Refusal | Issue | Repair | ReadonlyArray<Repair>

const toText = (what: Sayable): string | undefined =>
  isList(what)
    ? what.flatMap((repair) => toText(repair) ?? []).join(" ")
    : "issues" in what
    ? describeMisfit(what)
    : "line" in what
    ? describeUnreadable(what)
    : "actual" in what
    ? describeIssue(what)
    : what.note === undefined
    ? undefined
    : `${what.note}.`

const isList = (what: Sayable): what is ReadonlyArray<Repair> => isArray(what)

// -----------------------------------------------------------------------------
// Text
// -----------------------------------------------------------------------------

/** Notes for the model about repairs to the text. */
const notes: { readonly [K in TextRepairKind]?: string } = {
  duplicate_key: "A key of the arguments was sent twice, with the same value",
  escaped_quotes: "All quotes of the arguments were escaped; send plain JSON",
  missing_comma: "A comma was missing in the arguments",
  prose: "There were words around the arguments; send the object alone",
  smart_quotes: "The arguments had curly quotes; use straight ones",
  surplus_closers: "There were extra closing brackets after the arguments"
}

/** Makes a text repair, with its note if its kind has one. */
export const ofText = ([kind, offset]: readonly [TextRepairKind, number]): TextRepair => {
  const note = notes[kind]
  return note === undefined ? { kind, offset } : { kind, offset, note }
}

/** For each kind of fault: what is wrong. */
const reasons: { readonly [K in FaultKind]: string } = {
  array: "They are an array, not an object",
  bareword: "A string has no quotes",
  bracket_mismatch: "The brackets do not match",
  call: "They are written as a call",
  concatenation: "Strings are joined by an operator",
  cut_off: "They end too early",
  duplicate_key: "A key appears twice, with different values",
  ellipsis: "Something is left out",
  expression: "An expression is not a value",
  invalid_escape: "A backslash is not escaped",
  invalid_number: "JSON has no such number",
  invisible_character: "There is an invisible character",
  markup: "They are markup, or have tags around them",
  missing_colon: "They are not valid JSON",
  missing_comma: "They are not valid JSON",
  missing_value: "A value is missing",
  no_object: "They are not a JSON object",
  prose: "There are words around them",
  prototype_key: "A key is not allowed",
  several_objects: "They are more than one object",
  too_deep: "They are nested too deeply",
  too_long: "They are too long",
  too_many_repairs: "They have too many mistakes",
  unclear_comment: "A comment may be part of a value",
  unescaped_quote: "A quote is missing, or there is an extra one",
  unexpected_character: "They are not valid JSON",
  unquoted_key: "A key has no quotes"
}

const severalCalls = "For several objects, make several calls."

/** What to do about a fault, for the kinds that have one advice. */
const advices: { readonly [K in FaultKind]?: string } = {
  array: severalCalls,
  call: "Send only the arguments, as one JSON object.",
  concatenation: "Send one string.",
  ellipsis: "Leave nothing out.",
  invalid_escape: "Write a backslash as \\\\, or leave it out if it is not part of the text.",
  markup: "Send only the JSON object, without tags.",
  missing_colon: "Put a colon after each key.",
  missing_comma: "Put a comma between the values.",
  no_object: "Send one JSON object.",
  prose: "Send the object alone.",
  several_objects: severalCalls,
  too_long: "Send less.",
  unclear_comment: "Leave comments out.",
  unescaped_quote: "Put strings in double quotes, and write a double quote inside a text as \\\"."
}

/** Expectations, in words. Some mention a key, a bracket, a quote or a limit (`of`). */
const expectations: { readonly [E in Expected]: string | ((of: string) => string) } = {
  another_key: (of) => `a key other than ${of}`,
  bytes: (of) => `at most ${of} bytes`,
  closer: (of) => `'${of}'`,
  closing_quote: (of) => `the closing '${of}' of a string`,
  colon: "':'",
  comma_or_closer: (of) => `',' or '${of}'`,
  computed: "the computed value",
  constant: "true, false or null",
  control_escape: "an escape such as \\n in place of a raw control character",
  double_quotes: "double quotes",
  end: "the end of the text",
  end_of_comment: "the end of a comment",
  escape: "an escape of JSON, such as \\n or \\\\",
  finite: "a number below 1.8e308",
  key: "a key in double quotes",
  key_once: (of) => `${of} once`,
  levels: (of) => `at most ${of} levels of nesting`,
  member: "a key and its value",
  no_comment: "no comment",
  no_hash: "a value without a '#'",
  no_trailing_comma: "no comma after the last value",
  nothing_left_out: "all values",
  number: "a JSON number, such as 1000, -0.5 or 1e3",
  object: "one JSON object",
  object_alone: "the object alone",
  plain_json: "plain JSON",
  plain_quotes: "quotes that are not escaped",
  quote: (of) => `'${of}'`,
  rest_of_escape: "the rest of an escape",
  rest_of_number: "the rest after a number",
  rest_of_word: "the rest after a word",
  text_in_quotes: "a value; a string must be in double quotes",
  value: "a value",
  value_or_no_key: "a value; else leave out the key"
}

/** Returns what was expected, in words. */
const expectedIn = ({ expected, of = "" }: Pick<Fault, "expected" | "of">): string => {
  const words = expectations[expected]
  return isString(words) ? words : words(of)
}

/** @param isSecret whether the text must not be quoted */
export const unreadable = (text: string, fault: Fault, isSecret: boolean): Unreadable => {
  const { offset } = fault
  // An invisible character is reported instead of any other fault at its place, unless the text was cut off.
  const kind = fault.kind !== "cut_off" && isInvisible(text, offset) ? "invisible_character" : fault.kind
  const advice = adviceAt(text, offset, kind) ?? advices[kind]
  return {
    kind,
    offset,
    ...placeOf(text, offset),
    ...(isSecret ? {} : { excerpt: excerptAround(text, offset) }),
    expected: expectedIn(kind === "expression" && advice !== compute ? { expected: "value" } : fault),
    ...(advice === undefined ? {} : { advice })
  }
}

// Advice that depends on what is written at the place of the fault.
const adviceAt = (text: string, offset: number, kind: FaultKind): string | undefined => {
  const written = text.slice(offset, offset + 200)
  if (kind === "invisible_character") {
    return `Remove ${nameOfInvisible(text, offset)}, or write it as an escape inside a string.`
  }
  if (fullWidth.test(written)) {
    return `Write '${String.fromCharCode(written.charCodeAt(0) - 0xfee0)}' in its ASCII form.`
  }
  if (kind === "expression") {
    const [number = ""] = /[\d.]*\s*$/.exec(text.slice(Math.max(0, offset - 20), offset)) ?? []
    const [rest = ""] = /^[^,}\]\n]*/.exec(written) ?? []
    const value = number + rest
    if (/^\d{1,4}([-/.])\d{1,2}\1\d{1,4}\b/.test(value)) return "Put a date in double quotes."
    if (/^\([^()]*,/.test(written)) return "Write a list in square brackets."
    // `555-1234` and `1/2/2024` are no calculations.
    return /^[-+*/.()\d\s]+$/.test(value) && /\d\s*\*\s*\d|\d\s+[-+/]\s+\d/.test(value) ? compute : undefined
  }
  if (kind !== "unquoted_key" || !/\d,\s*$/.test(text.slice(Math.max(0, offset - 20), offset))) return undefined
  return /^\d{3}\b/.test(written)
    ? "Write a number without commas."
    : /^\d{1,2}\b/.test(written)
    ? "Write a decimal comma as a point."
    : undefined
}

const compute = "Compute it, and send the result."

// The full-width forms of ASCII's punctuation and digits look nearly the same.
const fullWidth = /^[\uff01-\uff20\uff3b-\uff40\uff5b-\uff5e]/

// White space at the end of the text says nothing. Half of a surrogate pair at either end is left out.
const excerptAround = (text: string, offset: number): string => {
  const last = text.trimEnd().length
  const start = Math.max(0, Math.min(offset, last) - (offset >= last ? 30 : 20))
  const end = offset + 20
  const quoted = text.slice(start, end).replace(/^[\udc00-\udfff]|[\ud800-\udbff]$/g, "")
  return `${start > 0 ? "…" : ""}${oneLine(withVisibleCodes(quoted))}${end < text.length ? "…" : ""}`
}

/** Faults of the whole text, without a place in it. */
const wholeTextFaults: ReadonlySet<FaultKind> = new Set(["array", "call", "markup", "no_object", "prose"])

const describeUnreadable = ({ advice, column, excerpt: near, expected, kind, line, offset }: Unreadable): string => {
  const reason = reasons[kind]
  const place = `at offset ${offset} (line ${line}, column ${column})${near === undefined ? "" : `, near \`${near}\``}`
  const what = kind === "cut_off"
    ? `${reason}, ${place}: ${expected} is missing`
    : kind === "too_deep" || kind === "too_long"
    ? `${reason}: expected ${expected}`
    : wholeTextFaults.has(kind)
    ? `${reason}${near === undefined || near === "" ? "" : `, near \`${near}\``}`
    : `${reason}, ${place}: expected ${expected}`
  return `The arguments cannot be read. ${what}.${advice === undefined ? "" : ` ${advice}`}`
}

// -----------------------------------------------------------------------------
// Values
// -----------------------------------------------------------------------------

/** Returns a note about a change of the value that has this name. `from` and `to` are already formatted. */
type Note = (name: string, from: string, to: string) => string

const noteReadAs = (type: string): Note => (name, from, to) => `${name} is ${type}: ${from} was read as ${to}`

const changes: { readonly [K in ValueRepairKind]?: Note } = {
  array_for_single: noteReadAs("a single value"),
  blank_for_null: (name, from) => `${name} is null: write null, without quotes, instead of ${from}`,
  blank_for_optional: (name, from) => `${name} is optional: leave it out instead of ${from}`,
  boolean_for_text: noteReadAs("a string"),
  choice_spelling: (name, from, to) => `${name} is ${to}: it was written as ${from}`,
  date_form: noteReadAs("a date"),
  decimal_for_integer: noteReadAs("an integer"),
  number_for_text: noteReadAs("a string"),
  python_list: (name) => `${name} is an array: send it as JSON, not as a Python list in a string`,
  renamed_key: (_, from, to) => `${to} was written as ${from}`,
  single_for_array: noteReadAs("an array"),
  text_for_choice: noteReadAs("a number"),
  text_with_drift: (name, _, to) =>
    `${name} is ${to}: send it as JSON, not as a string, with values of their own types`,
  wrapper: (name, from) => `${name} go without ${from} around them`
}

/** True if repairs of a kind are reported to the model. Text that needs more than two of these kinds is refused. */
export const isTold = (kind: TextRepairKind | ValueRepairKind): boolean => kind in notes || kind in changes

/** Returns the note for the model about a repair to a value; `""` if its kind needs no note. */
export const noteOf = (kind: ValueRepairKind, ...change: Parameters<Note>): string => changes[kind]?.(...change) ?? ""

const describeMisfit = ({ issues, keys }: Misfit): string =>
  [...issues.map(describeIssue), ...describeKeys(keys)].join(" ")

// If a key is unknown or missing, all expected keys are listed.
const describeKeys = (keys: Misfit["keys"]): ReadonlyArray<string> => {
  if (!keys) return []
  const { names, path, patterns = [] } = keys
  const of = path.length === 0 ? "" : ` of ${nameOf(path)}`
  const matching = patterns.length === 0 ? [] : [`keys that match ${list(patterns, 5)}`]
  if (names.length > 0) return [`Expected keys${of}: ${[list(names, 20), ...matching].join(", or ")}.`]
  if (patterns.length > 0) return [`Expected keys${of} that match ${list(patterns, 5)}.`]
  return path.length === 0 ? ["No arguments are expected."] : []
}

const describeIssue = ({ actual, advice, expected, kind, more, path }: Issue): string => {
  const name = path.length === 0 ? "the arguments" : nameOf(path)
  const expectation = kind === "unknown_key"
    ? expected
    : kind === "validator"
    ? expected.replace(/\.$/, "")
    : `expected ${expected}`
  const what = more !== undefined
    ? `${actual}: ${expectation}`
    : kind === "unknown_key"
    ? expectation
    : `${expectation}, got ${actual}`
  return `${name}: ${what}.${advice === undefined ? "" : ` ${advice}`}`
}

/** What is said of a value that a library refuses, if its own words may not be shown. */
export const notValid = "the value is not valid"
