/*
 * What is wrong with a result, field by field. It is the service's, and may be a secret: of a value its kind is told, and no more.
 *
 * But for a choice that does not exist. Whoever reads `expected "open" | "closed"` needs to know what came. It is quoted, unless the
 * schema marks it, or what it is a part of, as a secret.
 */
import { partAt, type Path } from "@fallible/arguments"
import * as Predicate from "effect/Predicate"
import * as SchemaAST from "effect/SchemaAST"
import type * as SchemaIssue from "effect/SchemaIssue"
import * as Coercion from "../../Coercion.ts"
import type { FieldIssue } from "../../ToolFailure.ts"
import { excerpt, kind } from "../value/text.ts"

/** @param issue why the value did not decode, or encode (with `errors: "all"`) */
export const resultIssues = (issue: SchemaIssue.Issue, value: unknown): ReadonlyArray<FieldIssue> =>
  Coercion.fieldIssues(issue, value, kind).map((field) => {
    const part = isChoiceAt(issue, field.path) ? partAt(value, field.path) : undefined
    return typeof part === "string" || typeof part === "number" ? { ...field, actual: excerpt(part) } : field
  })

/** Is all that is wrong at a path a choice that does not exist, and that may be told? */
const isChoiceAt = (issue: SchemaIssue.Issue, path: Path): boolean => {
  const choices = choicesAt(issue, path, false)
  return choices.length > 0 && choices.every(Boolean)
}

// Of each thing that is wrong there, whether it is such a choice. What is wrong elsewhere says nothing.
const choicesAt = (issue: SchemaIssue.Issue, path: Path, isHidden: boolean): ReadonlyArray<boolean> => {
  const hidden = isHidden || "ast" in issue && isSecret(issue.ast)
  if (issue._tag === "Pointer") {
    const isOnPath = issue.path.every((key, index) => asKey(key) === path[index])
    return isOnPath ? choicesAt(issue.issue, path.slice(issue.path.length), hidden) : []
  }
  if (issue._tag === "Filter" || issue._tag === "Encoding") return choicesAt(issue.issue, path, hidden)
  if ("issues" in issue && issue.issues.length > 0) {
    return issue.issues.flatMap((inner) => choicesAt(inner, path, hidden))
  }
  return path.length > 0 ? [] : [!hidden && "ast" in issue && hasChoices(issue.ast)]
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
