import type * as Schema from "effect/Schema"
import { Reader } from "./jsonReader.ts"
import type { RepairKind } from "./jsonScanner.ts"

/** What Python writes in another way than JSON. */
const isPython = (kind: RepairKind): boolean =>
  kind === "single_quotes" || kind === "python_constant" || kind === "trailing_comma"

/** The value of a list of literals in Python's notation; flat. `undefined` for any other text. */
export const pythonList = (text: string): ReadonlyArray<Schema.Json> | undefined => {
  const list = text.trim()
  if (!list.startsWith("[")) return undefined
  const reader = new Reader(list, 0)
  const value = reader.value()
  const isRead = reader.fault === undefined && reader.at === list.length && !reader.hasUnsafeInteger &&
    Array.from(reader.repairs.keys()).every(isPython)
  return isRead && Array.isArray(value) && value.length > 0 && value.every(isLiteral) ? value : undefined
}

const isLiteral = (value: Schema.Json): boolean => typeof value !== "object" || value === null
