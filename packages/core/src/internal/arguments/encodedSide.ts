/**
 * The encoded side of a schema, as a model should be shown it: dates as dates, numbers in texts as numbers in
 * texts, and secrets as secrets. Effect describes each of them as a bare string, and a model then writes what it likes.
 *
 * | in the schema                                                              | shown as                           |
 * | -------------------------------------------------------------------------- | ---------------------------------- |
 * | `Date`, `DateTimeUtc`, `DateFromString`, `DateTimeUtcFromString`           | a string with the format date-time |
 * | `FiniteFromString`, `NumberFromString`, `BigDecimal`, `BigDecimalFromString` | a string with JSON's number pattern |
 * | `Redacted`, `RedactedFromValue`                                            | what is inside, `writeOnly`        |
 * | more than a thousand literals                                              | the same, the first of them twice  |
 *
 * Only what is shown is changed here, and nothing that decodes. Effect's own exports are told by their annotations, which stay the same object wherever
 * they are used; what an author makes of `Schema.String` by a transformation of his own stays as he made it.
 */
import { numberPattern } from "@fallible/arguments"
import * as Predicate from "effect/Predicate"
import * as Schema from "effect/Schema"
import * as SchemaAST from "effect/SchemaAST"

/** The encoded side of a schema with what it is said of it; the schema itself where nothing is to be said. */
export const encodedSide = (schema: Schema.Constraint): Schema.Constraint => {
  const encoded = SchemaAST.toEncoded(holds(schema.ast, isSecret) ? withSecrets(schema.ast) : schema.ast)
  return holds(encoded, isTold) ? Schema.make(told(encoded)) : schema
}

// -----------------------------------------------------------------------------
// What is told of
// -----------------------------------------------------------------------------

type Shown = (ast: SchemaAST.AST) => SchemaAST.AST

const dateTime: Shown = (ast) =>
  new SchemaAST.String({ ...wordsOf(ast), format: "date-time" }, undefined, undefined, ast.context)

const number: Shown = (ast) => new SchemaAST.String(wordsOf(ast), [isNumber], undefined, ast.context)

const isNumber = SchemaAST.isPattern(new RegExp(numberPattern), { toJsonSchema: () => ({ pattern: numberPattern }) })

const declared: ReadonlyMap<unknown, Shown> = new Map([
  ["effect/schema/Date", dateTime],
  ["effect/schema/DateTimeUtc", dateTime],
  ["effect/schema/BigDecimal", number]
])

const annotationsOf = (schema: Schema.Constraint): unknown => SchemaAST.toEncoded(schema.ast).annotations

const fromString: ReadonlyMap<unknown, Shown> = new Map([
  [annotationsOf(Schema.DateFromString), dateTime],
  [annotationsOf(Schema.DateTimeUtcFromString), dateTime],
  [annotationsOf(Schema.FiniteFromString), number],
  [annotationsOf(Schema.NumberFromString), number],
  [annotationsOf(Schema.BigDecimalFromString), number]
])

const shownAs = (ast: SchemaAST.AST): Shown | undefined =>
  SchemaAST.isDeclaration(ast)
    ? declared.get(idOf(ast))
    : SchemaAST.isString(ast) && ast.checks === undefined && ast.annotations !== undefined
    ? fromString.get(ast.annotations)
    : undefined

const isSecret = (ast: SchemaAST.AST): boolean => SchemaAST.isDeclaration(ast) && idOf(ast) === "effect/schema/Redacted"

// To make one enum of literals, Effect compares each with all before it, until two are equal. `jsonSchema` makes it in one pass.
const isLongEnum = (ast: SchemaAST.AST): ast is SchemaAST.Union => {
  if (!SchemaAST.isUnion(ast) || ast.types.length <= 1_000 || ast.options?.mode === "oneOf") return false
  const [first] = ast.types
  return first !== undefined && SchemaAST.isLiteral(first) && first.annotations === undefined
}

const isTold = (ast: SchemaAST.AST): boolean => isSecret(ast) || isLongEnum(ast) || shownAs(ast) !== undefined

/** What effect calls a declaration of its own. */
export const idOf = ({ annotations }: SchemaAST.Declaration): unknown => {
  const representation: unknown = annotations?.["representation"]
  return Predicate.hasProperty(representation, "id") ? representation.id : undefined
}

// What its author says of it.
const wordsOf = ({ annotations = {} }: SchemaAST.AST): Schema.Annotations.Annotations =>
  Object.fromEntries(
    ["title", "description", "examples"].flatMap((key) =>
      annotations[key] === undefined ? [] : [[key, annotations[key]]]
    )
  )

// -----------------------------------------------------------------------------
// Walks
// -----------------------------------------------------------------------------

// Of an encoded side.
const told = (root: SchemaAST.AST): SchemaAST.AST => {
  const within: Shown = remembering((ast) => {
    const shown = shownAs(ast)
    if (shown !== undefined) return shown(ast)
    if (isLongEnum(ast)) return withTypes(ast, [ast.types[0]!, ...ast.types])
    if (!isSecret(ast) || !SchemaAST.isDeclaration(ast)) return rebuilt(ast, within)
    const values = ast.typeParameters.map((value) => marked(within(value), { ...wordsOf(ast), writeOnly: true }))
    return new SchemaAST.Declaration(values, ast.run, ast.annotations, undefined, undefined, ast.context)
  })
  return within(root)
}

// Annotations go to the last check, and are not shown of one that has no JSON Schema.
const marked = (ast: SchemaAST.AST, annotations: Schema.Annotations.Annotations): SchemaAST.AST => {
  const schema = Schema.make<Schema.Top>(ast)
  return (ast.checks === undefined ? schema : schema.check(isAnything)).annotate(annotations).ast
}

const isAnything = Schema.makeFilter(() => undefined, { toJsonSchema: () => ({}) })

// A secret that is decoded from something else is lost on the encoded side: there, the whole of it is made a secret.
const withSecrets = (root: SchemaAST.AST): SchemaAST.AST => {
  const within: Shown = remembering((ast) => {
    if (ast.encoding === undefined) return rebuilt(ast, within)
    const end = within(ast.encoding.at(-1)!.to)
    const isLost = holdsDecoded(ast) && !holds(end, isSecret)
    return isLost ? secret(end) : end
  })
  return within(root)
}

const holdsDecoded = (ast: SchemaAST.AST): boolean =>
  isSecret(ast) || decodedPartsOf(ast).some((part) => holds(part, isSecret)) ||
  ast.encoding !== undefined && ast.encoding.slice(0, -1).some(({ to }) => holds(to, isSecret))

const secret = (ast: SchemaAST.AST): SchemaAST.AST => {
  const { annotations, run } = Schema.Redacted(Schema.make(ast)).ast
  return new SchemaAST.Declaration([ast], run, annotations, undefined, undefined, ast.context)
}

const remembering = (rebuild: Shown): Shown => {
  const memory = new Map<SchemaAST.AST, SchemaAST.AST>()
  return (ast) => {
    const known = memory.get(ast) ?? rebuild(ast)
    memory.set(ast, known)
    return known
  }
}

// The same with its parts mapped; it has no encoding.
const rebuilt = (ast: SchemaAST.AST, within: Shown): SchemaAST.AST => {
  const { annotations, checks, context } = ast
  if (SchemaAST.isDeclaration(ast) && ast.typeParameters.length > 0) {
    const parameters = ast.typeParameters.map(within)
    return new SchemaAST.Declaration(parameters, ast.run, annotations, checks, undefined, context, ast.encodingChecks)
  }
  if (SchemaAST.isObjects(ast)) {
    return new SchemaAST.Objects(
      ast.propertySignatures.map(({ name, type }) => new SchemaAST.PropertySignature(name, within(type))),
      ast.indexSignatures.map(({ parameter, type }) => new SchemaAST.IndexSignature(parameter, within(type))),
      annotations,
      checks,
      undefined,
      context,
      ast.encodingChecks
    )
  }
  if (SchemaAST.isArrays(ast)) {
    const [elements, rest] = [ast.elements.map(within), ast.rest.map(within)]
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
  if (SchemaAST.isUnion(ast)) return withTypes(ast, ast.types.map(within))
  return SchemaAST.isSuspend(ast)
    ? new SchemaAST.Suspend(() => within(ast.thunk()), annotations, checks, undefined, context)
    : ast
}

const withTypes = (
  { annotations, checks, context, encodingChecks, options }: SchemaAST.Union,
  types: ReadonlyArray<SchemaAST.AST>
): SchemaAST.AST => new SchemaAST.Union(types, options, annotations, checks, undefined, context, encodingChecks)

/** Is there such a part, on any side? */
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
