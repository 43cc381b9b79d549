/**
 * Reads the argument text of a model's tool call. Returns a value that fits a JSON Schema, or a refusal that
 * tells the model what to write. This package has no dependencies, and imports nothing from `node:`.
 */
export { explain, type Explaining } from "./explain.ts"
export type { Finding } from "./finding.ts"
export { coerce, type Coerced, decode, type Decoded, fit, fits, type Fitted, type Origin } from "./fit.ts"
export { type Json, type JsonArray, type JsonObject, type JsonSchema, partAt, type Path } from "./json.ts"
export { declaredParts, mask, masked, maskedText } from "./mask.ts"
export { defaults, type Limits, type Options } from "./options.ts"
export { numberAt, type Preview, preview, read, type Readable, type Refused } from "./read.ts"
export type { Issue, IssueKind, Misfit, Refusal, Unreadable } from "./refusal.ts"
export {
  type Repair,
  type TextRepair,
  type TextRepairKind,
  textRepairKinds,
  type ValueRepair,
  type ValueRepairKind,
  valueRepairKinds
} from "./repair.ts"
export { numberPattern } from "./schema/check.ts"
export { inspect, type Inspection, type KeywordAt, SchemaRefused } from "./schema/inspect.ts"
export { hasSecrets } from "./secret.ts"
export { parse, type Parsed, sources, type Unparsed } from "./strictJson.ts"
export { didYouMean, nearest } from "./suggestion.ts"
export { type FaultKind, faultKinds } from "./text/fault.ts"
export type { Source } from "./text/strict.ts"
export { message } from "./words.ts"
