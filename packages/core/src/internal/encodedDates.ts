/**
 * Dates as a model should be shown them: Effect describes the JSON form of `Schema.Date` and
 * `Schema.DateTimeUtc` as a bare string, and a model then writes what it likes.
 *
 * Only what is shown is changed here, and nothing that decodes: in the encoded side of a schema, each of the two becomes a
 * string with the format `date-time`. What an author encoded as a string (`DateFromString`) stays one.
 */
import * as Schema from "effect/Schema"
import * as SchemaAST from "effect/SchemaAST"

/** The encoded side of a schema with its dates said to be dates; the schema itself where it has none. */
export const withDates = (schema: Schema.Constraint): Schema.Constraint => {
  const encoded = SchemaAST.toEncoded(schema.ast)
  return hasDate(encoded, new Set()) ? Schema.make(shownDates(encoded)) : schema
}

const shownDates = (root: SchemaAST.AST): SchemaAST.AST => {
  const memory = new Map<SchemaAST.AST, SchemaAST.AST>()
  const within = (ast: SchemaAST.AST): SchemaAST.AST => {
    const known = memory.get(ast)
    if (known !== undefined) return known
    const shown = rebuilt(ast)
    memory.set(ast, shown)
    return shown
  }
  const rebuilt = (ast: SchemaAST.AST): SchemaAST.AST => {
    const { annotations, checks, context } = ast
    if (isDate(ast)) {
      const { description, examples, title } = annotations ?? {}
      return new SchemaAST.String(
        { ...defined({ description, examples, title }), format: "date-time" },
        undefined,
        undefined,
        context
      )
    }
    if (SchemaAST.isDeclaration(ast) && ast.typeParameters.length > 0) {
      return new SchemaAST.Declaration(ast.typeParameters.map(within), ast.run, annotations, checks, undefined, context)
    }
    if (SchemaAST.isObjects(ast)) {
      return new SchemaAST.Objects(
        ast.propertySignatures.map(({ name, type }) => new SchemaAST.PropertySignature(name, within(type))),
        ast.indexSignatures.map(({ parameter, type }) => new SchemaAST.IndexSignature(parameter, within(type))),
        annotations,
        checks,
        undefined,
        context
      )
    }
    if (SchemaAST.isArrays(ast)) {
      const [elements, rest] = [ast.elements.map(within), ast.rest.map(within)]
      return new SchemaAST.Arrays(ast.isMutable, elements, rest, annotations, checks, undefined, context)
    }
    if (SchemaAST.isUnion(ast)) {
      return new SchemaAST.Union(ast.types.map(within), ast.options, annotations, checks, undefined, context)
    }
    return SchemaAST.isSuspend(ast)
      ? new SchemaAST.Suspend(() => within(ast.thunk()), annotations, checks, undefined, context)
      : ast
  }
  return within(root)
}

const hasDate = (ast: SchemaAST.AST, seen: Set<SchemaAST.AST>): boolean => {
  if (isDate(ast)) return true
  if (seen.has(ast)) return false
  seen.add(ast)
  return partsOf(ast).some((part) => hasDate(part, seen))
}

const partsOf = (ast: SchemaAST.AST): ReadonlyArray<SchemaAST.AST> => {
  if (SchemaAST.isDeclaration(ast)) return ast.typeParameters
  if (SchemaAST.isObjects(ast)) return [...ast.propertySignatures, ...ast.indexSignatures].map(({ type }) => type)
  if (SchemaAST.isArrays(ast)) return [...ast.elements, ...ast.rest]
  if (SchemaAST.isUnion(ast)) return ast.types
  return SchemaAST.isSuspend(ast) ? [ast.thunk()] : []
}

const isDate = (ast: SchemaAST.AST): boolean => {
  if (!SchemaAST.isDeclaration(ast)) return false
  const representation: unknown = ast.annotations?.["representation"]
  return typeof representation === "object" && representation !== null && "id" in representation &&
    dates.has(representation.id)
}

const dates: ReadonlySet<unknown> = new Set(["effect/schema/Date", "effect/schema/DateTimeUtc"])

const defined = (annotations: { readonly [key: string]: unknown }) =>
  Object.fromEntries(Object.entries(annotations).filter(([, value]) => value !== undefined))
