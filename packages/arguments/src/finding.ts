/** Findings of another validator, grouped by field. */
import type { JsonSchema, Path } from "./json.ts"
import { ByPath } from "./schema/byPath.ts"

/** A report about one field from another validator: a decoder, a filter or a brand. */
export interface Finding {
  readonly path: Path
  /** `key`: a key is missing or unexpected. `type`: the value has the wrong type. `check`: anything else. */
  readonly kind: "key" | "type" | "check"
  /** The expectation, in a few words; `""` if `keywords` express all of it. */
  readonly expected: string
  /**
   * Whether the schema's author wrote the words in `expected`. If so, they replace the words that are derived
   * from the JSON Schema for a bound.
   */
  readonly isAuthors?: boolean
  /** The check as JSON Schema keywords, if they are more exact than the schema's own: `{ maxLength: 5 }`. */
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

  // A validator checks a value only if its keys and types are right. So if there is a check, the other
  // findings come from other members of a union, and do not matter.
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
