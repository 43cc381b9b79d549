/**
 * Reads the argument text of a model's tool call. Returns a value that fits a JSON Schema, or a refusal that
 * tells the model what to write. This package has no dependencies, and imports nothing from `node:`.
 */
export { Arguments } from "./Arguments.ts"
export { decode, type Decoded, fit, type Fitted, type Origin } from "./fit.ts"
export type { Json, JsonArray, JsonObject, JsonSchema, Path } from "./json.ts"
export { masked, maskedText } from "./mask.ts"
export type { Formats, Limits, Options } from "./options.ts"
export { numberAt, type Preview, preview, read, type Readable, type Refused } from "./read.ts"
export type { Issue, IssueKind, Misfit, Refusal, Unreadable } from "./refusal.ts"
export type { Repair, TextRepair, TextRepairKind, ValueRepair, ValueRepairKind } from "./repair.ts"
export { inspect, type Inspection, type KeywordAt, SchemaRefused } from "./schema/inspect.ts"
export type { StandardSchema, Validation, WriteJsonSchema } from "./schema/standard.ts"
export type { FaultKind } from "./text/fault.ts"
export { message } from "./words.ts"
