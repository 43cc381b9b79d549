/**
 * Which parts of a value are never quoted.
 */
import type { JsonSchema, Path } from "./json.ts"
import type { Options } from "./options.ts"
import { documentOf, hasSecrets } from "./schema/document.ts"

/** Is what stands at a path a secret, or part of one, or does it hold one? By the schema, or as somebody says. */
export const secretsOf = (schema: JsonSchema, { secrets = [] }: Pick<Options, "secrets">): (path: Path) => boolean => {
  if (secrets.length === 0 && !hasSecrets(schema)) return () => false
  const { isSecretAt } = documentOf(schema)
  return (path) =>
    isSecretAt(path) ||
    secrets.some((secret) =>
      secret.slice(0, path.length).every((key, index) => key === "*" || String(key) === String(path[index]))
    )
}
