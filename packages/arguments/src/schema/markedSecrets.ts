/** The marks of secrets, taken over from one JSON Schema to another one of the same value. */
import type { JsonSchema } from "../json.ts"
import { newMap } from "../memo.ts"
import { hasSecrets, isMarked, propertiesIn, secretKeysIn } from "../secret.ts"
import { asSchema, type Changes, copied } from "./copied.ts"

/**
 * Returns a copy of a JSON Schema in which a key is secret if it is so in another one. If that one marks what has no key, all
 * keys around it are secret.
 */
export const withSecretsOf = (schema: JsonSchema, other: JsonSchema): JsonSchema => {
  if (!hasSecrets(other)) return schema
  const marked = new Set(propertiesIn(other).flatMap(([key, property]) => isMarked(property) ? [key] : []))
  const keys = marked.size > 0 ? marked : secretKeysIn(other)
  const changes: Changes = newMap()
  for (const [key, property] of propertiesIn(schema)) if (keys.has(key)) changes.set(property, { writeOnly: true })
  return asSchema(copied(schema, changes))
}
