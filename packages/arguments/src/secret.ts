/** Decides which parts of a value are never quoted. */
import type { JsonSchema, Path } from "./json.ts"
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
