/**
 * What the sister packages need beside the public functions. It may change in any release, so nothing else should import
 * it.
 */
export { explain, type Explaining } from "./explain.ts"
export { explainWith, type Finding } from "./findings.ts"
export { coerce, type Coerced, fits, quickTest } from "./fit.ts"
export { partAt } from "./json.ts"
export { demandKnown, type Names, unknownOption } from "./knownOptions.ts"
export { declaredParts, mask } from "./mask.ts"
export { defaults } from "./options.ts"
export { readerWith } from "./read.ts"
export { textRepairKinds, valueRepairKinds } from "./repair.ts"
export { numberPattern } from "./schema/check.ts"
export { closedSchema } from "./schema/closed.ts"
export { choicesFor, keysDeclaredIn, referred } from "./schema/described.ts"
export { isStandardSchema } from "./schema/standard.ts"
export { describesSame, schemaInField, toolSchema, withoutBounds } from "./schema/toolSchema.ts"
export { hasSecrets, quotesSecret, secretKeysIn, withSecretsOf } from "./secret.ts"
export { parse, type Parsed, sources, type Unparsed } from "./strictJson.ts"
export { didYouMean, nearest } from "./suggestion.ts"
export { cut, excerpt, kind, list, oneLine, utf8Length } from "./text/excerpt.ts"
export { faultKinds } from "./text/fault.ts"
export type { Source } from "./text/strict.ts"
