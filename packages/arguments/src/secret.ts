/**
 * Which parts of a value are never quoted.
 */
import type { JsonSchema, Path } from "./json.ts"
import type { Options } from "./options.ts"
import { documentOf, hasSecrets } from "./schema/document.ts"
import { folded } from "./value.ts"

/** Is what stands at a path a secret, or part of one, or does it hold one? By the schema, or as somebody says. */
export const secretsOf = (schema: JsonSchema, { secrets = [] }: Pick<Options, "secrets">): (path: Path) => boolean => {
  if (secrets.length === 0 && !hasSecrets(schema)) return () => false
  const { at, isSecretAt } = documentOf(schema)
  return (path) =>
    isSecretAt(path) ||
    secrets.some((secret) =>
      secret.slice(0, path.length).every((key, index) => key === "*" || isSpelledAs(String(key), String(path[index])))
    ) ||
    // What stands where nothing is declared may be a secret under another name.
    secrets.length > 0 && path.length > 0 && Object.keys(schema).length > 0 && at(path) === undefined
}

// A key that was written in another spelling is renamed, and its value is as secret.
const isSpelledAs = (key: string, written: string): boolean => key === written || folded(key) === folded(written)
