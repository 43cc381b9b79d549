/*
 * What is wrong with a result, field by field. It is the service's, and may be a secret: of a value its kind is told, and no more.
 *
 * But for a choice that does not exist. Whoever reads `expected "open" | "closed"` needs to know what came. It is quoted, unless the
 * schema marks it, or what it is a part of, as a secret.
 */
import * as Predicate from "effect/Predicate"
import * as SchemaAST from "effect/SchemaAST"
import type * as SchemaIssue from "effect/SchemaIssue"
import * as Coercion from "../Coercion.ts"
import type { FieldIssue } from "../ToolFailure.ts"
import { ByPath } from "./byPath.ts"
import { excerpt, kind } from "./text.ts"
import { partAt, type Path } from "./written.ts"

/** @param issue why the value did not decode, or encode (with `errors: "all"`) */
export const resultIssues = (issue: SchemaIssue.Issue, value: unknown): ReadonlyArray<FieldIssue> => {
  const choices = new ByPath<boolean>()
  noteChoices(issue, [], false, choices)
  return Coercion.fieldIssues(issue, value, { show: kind }).map((field) => {
    const part = choices.get(field.path) === true ? partAt(value, field.path) : undefined
    return typeof part === "string" || typeof part === "number" ? { ...field, actual: excerpt(part) } : field
  })
}

/** Notes for each path whether all that is wrong there is a choice that does not exist, and that may be told. */
const noteChoices = (
  issue: SchemaIssue.Issue,
  path: ReadonlyArray<PropertyKey>,
  isHidden: boolean,
  found: ByPath<boolean>
): void => {
  const hidden = isHidden || "ast" in issue && isSecret(issue.ast)
  if (issue._tag === "Pointer") return noteChoices(issue.issue, [...path, ...issue.path], hidden, found)
  if (issue._tag === "Filter" || issue._tag === "Encoding") return noteChoices(issue.issue, path, hidden, found)
  if ("issues" in issue && issue.issues.length > 0) {
    for (const inner of issue.issues) noteChoices(inner, path, hidden, found)
    return
  }
  const isChoice = !hidden && "ast" in issue && hasChoices(issue.ast)
  const keys = path.map(asKey)
  found.set(keys, isChoice && found.get(keys) !== false)
}

const asKey = (key: PropertyKey): Path[number] => typeof key === "number" ? key : String(key)

const hasChoices = (ast: SchemaAST.AST): boolean =>
  SchemaAST.isLiteral(ast) || SchemaAST.isEnum(ast) || SchemaAST.isUnion(ast) && ast.types.some(hasChoices)

// As `internal/form` and `internal/encodedSide` know one: `Schema.Redacted`, or what its author calls one. Of a union, any member.
const isSecret = (ast: SchemaAST.AST): boolean =>
  [ast.annotations, ast.context?.annotations, ...(ast.checks ?? []).map(({ annotations }) => annotations)]
    .some(marksSecret) || SchemaAST.isUnion(ast) && ast.types.some(isSecret)

const marksSecret = (annotations: Readonly<Record<string, unknown>> = {}): boolean => {
  const { format, representation, writeOnly } = annotations
  return writeOnly === true || format === "password" ||
    Predicate.hasProperty(representation, "id") && representation.id === "effect/schema/Redacted"
}
