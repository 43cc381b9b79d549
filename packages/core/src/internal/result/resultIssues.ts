/*
 * The issues of a result (what is wrong with it), field by field. The result comes from a service and
 * may be secret. So an issue names only the kind of a value.
 *
 * There is one exception: a value that is not among the allowed choices. A reader of
 * `expected "open" | "closed"` needs to see the value that came instead. That value is quoted, unless
 * the schema marks it, or a value that contains it, as secret.
 */
import type { Path } from "@fallible/arguments"
import { partAt } from "@fallible/arguments/internal"
import * as SchemaAST from "effect/SchemaAST"
import type * as SchemaIssue from "effect/SchemaIssue"
import type { FieldIssue } from "../../ToolFailure.ts"
import * as Coercion from "../arguments/coercion.ts"
import { isSecret } from "../arguments/encodedSide.ts"
import { excerpt, kind } from "../value/text.ts"

/**
 * Lists the issues of a result.
 *
 * @param issue why the value could not be decoded or encoded (with `errors: "all"`)
 */
export const resultIssues = (issue: SchemaIssue.Issue, value: unknown): ReadonlyArray<FieldIssue> =>
  Coercion.fieldIssues(issue, value, kind).map((field) => {
    const part = isChoiceAt(issue, field.path) ? partAt(value, field.path) : undefined
    return typeof part === "string" || typeof part === "number" ? { ...field, actual: excerpt(part) } : field
  })

/** Whether every issue at a path is a value that is not among the allowed choices, and that may be quoted. */
const isChoiceAt = (issue: SchemaIssue.Issue, path: Path): boolean => {
  const choices = choicesAt(issue, path, false)
  return choices.length > 0 && choices.every(Boolean)
}

// Returns, for each issue at the path, whether it is such a value. Issues elsewhere are ignored.
const choicesAt = (issue: SchemaIssue.Issue, path: Path, isHidden: boolean): ReadonlyArray<boolean> => {
  const hidden = isHidden || "ast" in issue && isHiddenBy(issue.ast)
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

// A union with a secret member is secret.
const isHiddenBy = (ast: SchemaAST.AST): boolean =>
  isSecret(ast) || SchemaAST.isUnion(ast) && ast.types.some(isHiddenBy)
