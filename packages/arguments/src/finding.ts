/** Findings of another validator, by field. */
import type { JsonSchema, Path } from "./json.ts"
import { ByPath } from "./schema/byPath.ts"

/** A report of another validator about one field. The validator is a decoder, a filter or a brand. */
export interface Finding {
  readonly path: Path
  /** `key`: a key is missing or unexpected. `type`: another kind of value. `check`: anything else. */
  readonly kind: "key" | "type" | "check"
  /** The expectation, in a few words; `""` if `keywords` say all of it. */
  readonly expected: string
  /**
   * Whether the author of the schema wrote these words. They then replace what the JSON Schema says about a
   * bound.
   */
  readonly isAuthors?: boolean
  /** The check as JSON Schema keywords, if it knows them more exactly than the schema: `{ maxLength: 5 }`. */
  readonly keywords?: JsonSchema
}

/** All findings about one field. */
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
    return (this.#relevant.find(({ kind }) => kind === "key") ?? this.#relevant[0])?.kind ?? "check"
  }

  get isAuthors(): boolean {
    return this.#relevant.some(isOfAuthor)
  }

  get expected(): string {
    const relevant = this.isAuthors ? this.#relevant.filter(isOfAuthor) : this.#relevant
    return Array.from(new Set(relevant.map(({ expected }) => expected))).filter((words) => words !== "").join(" or ")
  }

  get keywords(): JsonSchema {
    return Object.assign({}, ...this.#relevant.map(({ keywords }) => keywords))
  }

  // If one member of a union got as far as a check, the findings of the other members do not matter.
  get #relevant(): ReadonlyArray<Finding> {
    const checks = this.#findings.filter(({ kind }) => kind === "check")
    return checks.length > 0 ? checks : this.#findings
  }
}

const isOfAuthor = ({ isAuthors }: Finding): boolean => isAuthors === true

/** Groups findings by field, in the order in which the fields first appear. */
export const fieldsOf = (
  findings: ReadonlyArray<Finding>
): { readonly all: ReadonlyArray<Field>; readonly at: (path: Path) => Field | undefined } => {
  const all: Array<Field> = []
  const byPath = new ByPath<Field>()
  for (const finding of findings) {
    const existing = byPath.get(finding.path)
    const field = existing ?? new Field(finding.path)
    if (existing === undefined) {
      byPath.set(finding.path, field)
      all.push(field)
    }
    field.add(finding)
  }
  return { all, at: (path) => byPath.get(path) }
}
