/**
 * The encoded side of a schema, as a model should see it: with dates, numeric strings and secrets marked
 * as such. Effect describes each of these as a bare string, which does not tell a model what to write.
 *
 * | in the schema                                                              | shown as                           |
 * | -------------------------------------------------------------------------- | ---------------------------------- |
 * | `Date`, `DateTimeUtc`, `DateFromString`, `DateTimeUtcFromString`           | a string with the format date-time |
 * | `FiniteFromString`, `NumberFromString`, `BigDecimal`, `BigDecimalFromString` | a string with JSON's number pattern |
 * | `Redacted`, `RedactedFromValue`                                            | the inner schema, `writeOnly`      |
 * | any schema with `writeOnly: true` or the format `password`                 | as itself, marked as a secret      |
 * | more than a thousand literals                                              | the same, with the first one twice |
 *
 * Only the shown schema changes, never the decoder. Effect's own schemas are recognized by their
 * annotations object, which is the same wherever such a schema is used. If an author transforms a
 * `Schema.String`, the schema is shown as the author wrote it.
 */
import { numberPattern } from "@fallible/arguments/internal"
import { memoize } from "effect/Function"
import * as Predicate from "effect/Predicate"
import * as Schema from "effect/Schema"
import * as SchemaAST from "effect/SchemaAST"

/**
 * Returns the encoded side of a schema, with the descriptions above. If none applies, returns the schema itself.
 */
export const encodedSide = (schema: Schema.Constraint): Schema.Constraint => {
  const encoded = SchemaAST.toEncoded(holds(schema.ast, isSecret) ? withSecrets(schema.ast) : schema.ast)
  return holds(encoded, needsDescription) ? Schema.make(described(encoded)) : schema
}

// -----------------------------------------------------------------------------
// Schemas that are described
// -----------------------------------------------------------------------------

type Rewrite = (ast: SchemaAST.AST) => SchemaAST.AST

const dateTime: Rewrite = (ast) =>
  new SchemaAST.String({ ...documentationOf(ast), format: "date-time" }, undefined, undefined, ast.context)

const number: Rewrite = (ast) => new SchemaAST.String(documentationOf(ast), [isNumber], undefined, ast.context)

const isNumber = SchemaAST.isPattern(new RegExp(numberPattern), { toJsonSchema: () => ({ pattern: numberPattern }) })

const declared: ReadonlyMap<unknown, Rewrite> = new Map([
  ["effect/schema/Date", dateTime],
  ["effect/schema/DateTimeUtc", dateTime],
  ["effect/schema/BigDecimal", number]
])

const annotationsOf = (schema: Schema.Constraint): unknown => SchemaAST.toEncoded(schema.ast).annotations

const fromString: ReadonlyMap<unknown, Rewrite> = new Map([
  [annotationsOf(Schema.DateFromString), dateTime],
  [annotationsOf(Schema.DateTimeUtcFromString), dateTime],
  [annotationsOf(Schema.FiniteFromString), number],
  [annotationsOf(Schema.NumberFromString), number],
  [annotationsOf(Schema.BigDecimalFromString), number]
])

const shownAs = (ast: SchemaAST.AST): Rewrite | undefined =>
  SchemaAST.isDeclaration(ast)
    ? declared.get(idOf(ast))
    : SchemaAST.isString(ast) && ast.checks === undefined && ast.annotations !== undefined
    ? fromString.get(ast.annotations)
    : undefined

const isRedacted = (ast: SchemaAST.AST): ast is SchemaAST.Declaration =>
  SchemaAST.isDeclaration(ast) && idOf(ast) === "effect/schema/Redacted"

/** Whether a schema itself is a secret: a `Schema.Redacted`, or a schema that its author marks as secret. */
export const isSecret = (ast: SchemaAST.AST): boolean => isRedacted(ast) || isMarked(ast)

const isMarked = ({ annotations, checks, context }: SchemaAST.AST): boolean =>
  [annotations, context?.annotations, ...(checks ?? []).map(({ annotations }) => annotations)].some(
    ({ format, writeOnly } = {}) => writeOnly === true || format === "password"
  )

// Effect merges literals into one enum in quadratic time, but stops merging at the first duplicate.
// So the first literal is shown twice, and `jsonSchema` merges the literals in one pass.
const isLongEnum = (ast: SchemaAST.AST): ast is SchemaAST.Union => {
  if (!SchemaAST.isUnion(ast) || ast.types.length <= 1_000 || ast.options?.mode === "oneOf") return false
  const [first] = ast.types
  return first !== undefined && SchemaAST.isLiteral(first) && first.annotations === undefined
}

const needsDescription = (ast: SchemaAST.AST): boolean => isSecret(ast) || isLongEnum(ast) || shownAs(ast) !== undefined

/** Returns the id of one of Effect's own declarations; `undefined` for any other declaration. */
const idOf = ({ annotations }: SchemaAST.Declaration): unknown => {
  const representation: unknown = annotations?.["representation"]
  return Predicate.hasProperty(representation, "id") ? representation.id : undefined
}

// Returns the annotations in which an author has documented a schema.
const documentationOf = ({ annotations = {} }: SchemaAST.AST): Schema.Annotations.Annotations =>
  Object.fromEntries(
    ["title", "description", "examples"].flatMap((key) =>
      annotations[key] === undefined ? [] : [[key, annotations[key]]]
    )
  )

// -----------------------------------------------------------------------------
// Rewriting schemas
// -----------------------------------------------------------------------------

// Adds the descriptions to an encoded side.
const described = (root: SchemaAST.AST): SchemaAST.AST => {
  const rewrite: Rewrite = memoize((ast) => {
    if (isRedacted(ast)) {
      const values = ast.typeParameters.map((value) =>
        annotated(rewrite(value), { ...documentationOf(ast), writeOnly: true })
      )
      return new SchemaAST.Declaration(values, ast.run, ast.annotations, undefined, undefined, ast.context)
    }
    const isMarkLost = isMarked(ast) && (shownAs(ast) !== undefined || !keepsAnnotations(ast))
    return isMarkLost ? annotated(describedPart(ast), { writeOnly: true }) : describedPart(ast)
  })
  const describedPart: Rewrite = (ast) => {
    const shown = shownAs(ast)
    if (shown !== undefined) return shown(ast)
    return isLongEnum(ast) ? withTypes(ast, [ast.types[0]!, ...ast.types]) : rebuilt(ast, rewrite)
  }
  return rewrite(root)
}

// Effect puts annotations on the last check, and hides them if that check has no JSON Schema. So this
// function adds one more check, which has a JSON Schema.
const annotated = (ast: SchemaAST.AST, annotations: Schema.Annotations.Annotations): SchemaAST.AST => {
  if (!keepsAnnotations(ast)) {
    return new SchemaAST.Union([ast], undefined, annotations, undefined, undefined, ast.context)
  }
  const schema = Schema.make<Schema.Top>(ast)
  return (ast.checks === undefined ? schema : schema.check(isAnything)).annotate(annotations).ast
}

// Effect shows any other schema in another form, which has none of its annotations. So that form becomes the only member
// of a union that has them.
const keepsAnnotations = ({ _tag }: SchemaAST.AST): boolean => annotatable.has(_tag)

const annotatable: ReadonlySet<SchemaAST.AST["_tag"]> = new Set([
  "Arrays",
  "Boolean",
  "Enum",
  "Literal",
  "Null",
  "Objects",
  "String",
  "Suspend",
  "TemplateLiteral",
  "Union"
])

const isAnything = Schema.makeFilter(() => undefined, { toJsonSchema: () => ({}) })

// If a secret is decoded from another value, the encoded side no longer shows that it is a secret. So
// that whole value is marked as a secret.
const withSecrets = (root: SchemaAST.AST): SchemaAST.AST => {
  const rewrite: Rewrite = memoize((ast) => {
    if (ast.encoding === undefined) return rebuilt(ast, rewrite)
    const encoded = rewrite(ast.encoding.at(-1)!.to)
    const isLost = holdsDecoded(ast) && !holds(encoded, isSecret)
    return isLost ? asSecret(encoded) : encoded
  })
  return rewrite(root)
}

const holdsDecoded = (ast: SchemaAST.AST): boolean =>
  isSecret(ast) || decodedPartsOf(ast).some((part) => holds(part, isSecret)) ||
  ast.encoding !== undefined && ast.encoding.slice(0, -1).some(({ to }) => holds(to, isSecret))

const asSecret = (ast: SchemaAST.AST): SchemaAST.AST => {
  const { annotations, run } = Schema.Redacted(Schema.make(ast)).ast
  return new SchemaAST.Declaration([ast], run, annotations, undefined, undefined, ast.context)
}

// Rebuilds a schema that has no encoding: each of its parts is rewritten.
const rebuilt = (ast: SchemaAST.AST, rewrite: Rewrite): SchemaAST.AST => {
  const { annotations, checks, context } = ast
  if (SchemaAST.isDeclaration(ast) && ast.typeParameters.length > 0) {
    const parameters = ast.typeParameters.map(rewrite)
    return new SchemaAST.Declaration(parameters, ast.run, annotations, checks, undefined, context, ast.encodingChecks)
  }
  if (SchemaAST.isObjects(ast)) {
    return new SchemaAST.Objects(
      ast.propertySignatures.map(({ name, type }) => new SchemaAST.PropertySignature(name, rewrite(type))),
      ast.indexSignatures.map(({ parameter, type }) => new SchemaAST.IndexSignature(parameter, rewrite(type))),
      annotations,
      checks,
      undefined,
      context,
      ast.encodingChecks
    )
  }
  if (SchemaAST.isArrays(ast)) {
    const [elements, rest] = [ast.elements.map(rewrite), ast.rest.map(rewrite)]
    return new SchemaAST.Arrays(
      ast.isMutable,
      elements,
      rest,
      annotations,
      checks,
      undefined,
      context,
      ast.encodingChecks
    )
  }
  if (SchemaAST.isUnion(ast)) return withTypes(ast, ast.types.map(rewrite))
  return SchemaAST.isSuspend(ast)
    ? new SchemaAST.Suspend(() => rewrite(ast.thunk()), annotations, checks, undefined, context)
    : ast
}

const withTypes = (
  { annotations, checks, context, encodingChecks, options }: SchemaAST.Union,
  types: ReadonlyArray<SchemaAST.AST>
): SchemaAST.AST => new SchemaAST.Union(types, options, annotations, checks, undefined, context, encodingChecks)

/** Whether the schema, or any of its decoded or encoded parts, satisfies the predicate. */
export const holds = (
  ast: SchemaAST.AST,
  predicate: (ast: SchemaAST.AST) => boolean,
  seen = new Set<SchemaAST.AST>()
): boolean => {
  if (predicate(ast)) return true
  if (seen.has(ast)) return false
  seen.add(ast)
  return [...decodedPartsOf(ast), ...(ast.encoding ?? []).map(({ to }) => to)].some((part) =>
    holds(part, predicate, seen)
  )
}

const decodedPartsOf = (ast: SchemaAST.AST): ReadonlyArray<SchemaAST.AST> => {
  if (SchemaAST.isDeclaration(ast)) return ast.typeParameters
  if (SchemaAST.isObjects(ast)) return [...ast.propertySignatures, ...ast.indexSignatures].map(({ type }) => type)
  if (SchemaAST.isArrays(ast)) return [...ast.elements, ...ast.rest]
  if (SchemaAST.isUnion(ast)) return ast.types
  return SchemaAST.isSuspend(ast) ? [ast.thunk()] : []
}
