/** Decides which parts of a value are never quoted. */
import { isJsonObject, type Json, type JsonSchema, type Path } from "./json.ts"
import type { Options } from "./options.ts"
import { documentOf, hasSecrets } from "./schema/document.ts"
import { foldName } from "./value.ts"

/**
 * Returns a test for paths whose value is secret, contains a secret, or is part of one. The schema and the
 * option `secrets` declare which values are secret.
 */
export const secretsOf = (schema: JsonSchema, { secrets = [] }: Pick<Options, "secrets">): (path: Path) => boolean => {
  if (secrets.length === 0 && !hasSecrets(schema)) return () => false
  const { at, isSecretAt } = documentOf(schema)
  return (path) =>
    isSecretAt(path) ||
    secrets.some((secret) =>
      secret.slice(0, path.length).every((key, index) => key === "*" || isSpelledAs(String(key), String(path[index])))
    ) ||
    // The value at an undeclared path may be a secret under another name.
    secrets.length > 0 && path.length > 0 && Object.keys(schema).length > 0 && at(path) === undefined
}

// A key in a different spelling may be renamed to the declared key, so its value is just as secret.
const isSpelledAs = (key: string, written: string): boolean => key === written || foldName(key) === foldName(written)

/** Stands in place of a secret. */
export const redacted = "<redacted>"

/**
 * Returns the parts of a value that its schema declares, with `"<redacted>"` in place of secrets.
 *
 * When to use: to show a value that does not fit its schema. It may have any shape, and may hold what nobody was meant to
 * see.
 *
 * @example
 * ```ts
 * import { declaredParts } from "@fallible/arguments"
 *
 * const schema = { type: "object", properties: { id: { type: "string" }, pin: { type: "string", writeOnly: true } } }
 * declaredParts({ id: 7, pin: "1234", hash: "x" }, schema) // => { id: 7, pin: "<redacted>" }
 * ```
 */
export const declaredParts = (value: Json, schema: JsonSchema): Json => {
  const { declares, isSecretAt } = documentOf(schema)
  const shown = (value: Json, path: Path): Json => {
    if (typeof value !== "object" || value === null) return isSecretAt(path) ? redacted : value
    if (!isJsonObject(value)) {
      return value.map((item, index) => declares([...path, index]) ? shown(item, [...path, index]) : null)
    }
    const fields = Object.entries(value).filter(([key]) => declares([...path, key]))
    return Object.fromEntries(fields.map(([key, field]) => [key, shown(field, [...path, key])]))
  }
  return shown(value, [])
}
