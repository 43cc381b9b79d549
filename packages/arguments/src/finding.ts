/**
 * What another validator says of a value, field by field.
 */
import type { JsonSchema, Path } from "./json.ts"
import { ByPath } from "./schema/byPath.ts"

/** What another validator says of a field: a decoder, a filter, a brand. */
export interface Finding {
  readonly path: Path
  /** `key`: too many or missing. `type`: another kind of value. `check`: anything else. */
  readonly kind: "key" | "type" | "check"
  /** What it expects, in a few words; `""` where `keywords` say all of it. */
  readonly expected: string
  /** Did the author of the schema write these words? They replace what the JSON Schema says of a bound. */
  readonly isAuthors?: boolean
  /** The check as keywords of JSON Schema, where it knows them more exactly than the schema says: `{ maxLength: 5 }`. */
  readonly keywords?: JsonSchema
}

/** All that was found of one field. */
export class Field {
  readonly path: Path
  readonly #findings: Array<Finding> = []

  constructor(path: Path) {
    this.path = path
  }

  add(finding: Finding): void {
    this.#findings.push(finding)
  }

  get kind(): Finding["kind"] {
    return (this.#said.find(({ kind }) => kind === "key") ?? this.#said[0])?.kind ?? "check"
  }

  get isAuthors(): boolean {
    return this.#said.some(isOfAuthor)
  }

  get expected(): string {
    const said = this.isAuthors ? this.#said.filter(isOfAuthor) : this.#said
    return Array.from(new Set(said.map(({ expected }) => expected))).filter((words) => words !== "").join(" or ")
  }

  get keywords(): JsonSchema {
    return Object.assign({}, ...this.#said.map(({ keywords }) => keywords))
  }

  // Where a member of a union got as far as a check, the others have nothing to say.
  get #said(): ReadonlyArray<Finding> {
    const checks = this.#findings.filter(({ kind }) => kind === "check")
    return checks.length > 0 ? checks : this.#findings
  }
}

const isOfAuthor = ({ isAuthors }: Finding): boolean => isAuthors === true

/** Findings by field, in the order in which the fields were first found. */
export const fieldsOf = (
  findings: ReadonlyArray<Finding>
): { readonly all: ReadonlyArray<Field>; readonly at: (path: Path) => Field | undefined } => {
  const all: Array<Field> = []
  const byPath = new ByPath<Field>()
  for (const finding of findings) {
    const known = byPath.get(finding.path)
    const field = known ?? new Field(finding.path)
    if (known === undefined) {
      byPath.set(finding.path, field)
      all.push(field)
    }
    field.add(finding)
  }
  return { all, at: (path) => byPath.get(path) }
}
