/*
 * Schemas that are not Effect's: those of zod, Valibot, ArkType and others (Standard Schema), and plain JSON Schemas. Each
 * becomes an Effect schema, so that tools, policies and results know only one kind.
 *
 * Its JSON Schema is its author's. Its decoder is the library's `validate`, or checks the JSON Schema. A decoded value is
 * written as it is, if the author transforms nothing.
 */
import type { JsonSchema as AnyJsonSchema } from "@fallible/arguments"
import { explain, schemaInField } from "@fallible/arguments/internal"
import * as Effect from "effect/Effect"
import { identity } from "effect/Function"
import * as Predicate from "effect/Predicate"
import * as Schema from "effect/Schema"
import * as SchemaAST from "effect/SchemaAST"
import * as SchemaGetter from "effect/SchemaGetter"
import * as SchemaIssue from "effect/SchemaIssue"
import { ownCopy } from "../value/ownCopy.ts"
import { isA } from "../value/untrusted.ts"
import { holds } from "./encodedSide.ts"

/** Decodes or encodes a value. Fails if the value is not valid. */
export type Convert = (value: unknown) => Effect.Effect<unknown, SchemaIssue.Issue>

/** What is known of a schema that is not Effect's. */
export class Foreign {
  /** The JSON Schema of values before they are decoded. Absent if a library cannot write it, which is so only for results. */
  readonly jsonSchema: AnyJsonSchema | undefined
  /** Decodes a value that fits the JSON Schema, and may change it. Absent if each such value counts as decoded. */
  readonly validate: Convert | undefined
  /** True if `validate` is a library's, which may judge more kindly than the JSON Schema. */
  readonly isJudged: boolean
  /** Writes a decoded value as JSON. Absent if the author transforms values, which cannot be undone. */
  readonly encode: Convert | undefined
  /** Puts a decoded value where it is written: in the field of an object, if the schema is in one. */
  readonly placed: (value: unknown) => unknown
  /** The same schema for results, if they may have keys that are not declared. */
  readonly forResults: Foreign | undefined

  constructor(
    parts: Pick<Foreign, "jsonSchema" | "validate" | "encode"> & Partial<Pick<Foreign, "isJudged" | "placed">>,
    forResults?: Foreign
  ) {
    this.jsonSchema = parts.jsonSchema
    this.validate = parts.validate
    this.isJudged = parts.isJudged ?? parts.validate !== undefined
    this.encode = parts.encode
    this.placed = parts.placed ?? identity
    this.forResults = forResults
  }

  get isInField(): boolean {
    return this.placed !== identity
  }

  /** Decodes any value, and does not change it. */
  get decode(): Convert {
    const { validate } = this
    return validate === undefined ? checkedBy(this.jsonSchema ?? {}) : unchanged(validate)
  }
}

/** Returns what is known of a schema on whose encoded side another library or a JSON Schema stands. */
export const foreignOf = ({ ast }: Schema.Constraint): Foreign | undefined => foreignIn(SchemaAST.toEncoded(ast))

/** Returns what is known of a part of a schema, if it is not Effect's. */
export const foreignIn = ({ annotations }: SchemaAST.AST): Foreign | undefined => {
  const foreign = annotations?.[annotation]
  return isA(Foreign)(foreign) ? foreign : undefined
}

/** True if decoded values can be written as JSON again: the author transforms nothing, or in a way that can be undone. */
export const isWritable = (schema: Schema.Constraint): boolean => {
  const foreign = foreignOf(schema)
  return foreign === undefined || foreign.encode !== undefined
}

const annotation = "~fallible/foreign"

/** True if a part of an Effect schema is not Effect's. Its JSON Schema would not be shown. */
export const holdsForeign = (schema: Schema.Constraint): boolean =>
  foreignOf(schema) === undefined && holds(schema.ast, (part) => foreignIn(part) !== undefined)

/**
 * Makes an Effect schema with the type `A`, which is what the library or the author says. Only the decoder can tell whether a
 * value is valid, so any value counts as a decoded one.
 */
export const declareForeign = <A>(foreign: Foreign): Schema.Codec<A> => {
  const { decode, encode } = foreign
  // The value may be a handler's own.
  const write = encode === undefined ? undefined : unchanged(encode)
  return Schema.declareConstructor<A>()([], () => (value) => Effect.succeed(asTyped<A>(value)), {
    [annotation]: foreign,
    toCodecJson: () =>
      Schema.link<unknown>()(Schema.Any, {
        decode: SchemaGetter.transformEffect(decode),
        encode: write === undefined ? SchemaGetter.forbiddenEncoding : SchemaGetter.transformEffect(write)
      })
  })
}

/** A library may change the value that it is given, so it gets a copy. */
export const unchanged = (convert: Convert): Convert => (value) => convert(ownCopy(value))

// The decoder has validated the value, or its program claims its type.
const asTyped = <A>(value: unknown) => value as A

/** Checks a value against a JSON Schema. */
export const checkedBy = (jsonSchema: AnyJsonSchema): Convert => (value) => {
  const misfit = explain(value, jsonSchema)
  return misfit === undefined
    ? Effect.succeed(value)
    : Effect.fail(issueFrom(misfit.issues.map(({ expected, path }) => ({ path, annotations: { expected } }))))
}

/** Makes the issue of a value from what is wrong with its parts. */
export const issueFrom = (
  parts: ReadonlyArray<{ readonly path: ReadonlyArray<PropertyKey>; readonly annotations: Schema.Annotations.Issue }>
): SchemaIssue.Issue => {
  const [first, ...others] = parts.map(({ annotations, path }) =>
    new SchemaIssue.Pointer(path, new SchemaIssue.InvalidValue(annotations))
  )
  return first === undefined
    ? new SchemaIssue.InvalidValue()
    : new SchemaIssue.Composite(SchemaAST.unknown, [first, ...others])
}

/** Returns a schema whose values stand in the only field of an object. */
export const foreignInField = (
  field: string,
  { encode, isJudged, jsonSchema = {}, placed, validate }: Foreign
): Foreign =>
  new Foreign({
    jsonSchema: schemaInField(field, jsonSchema),
    validate: (value) => {
      const inner = Predicate.isObject(value) && Object.hasOwn(value, field) ? value[field] : undefined
      return validate === undefined
        ? Effect.succeed(inner)
        : Effect.mapErrorEager(validate(inner), (issue) => new SchemaIssue.Pointer([field], issue))
    },
    isJudged,
    placed: (value) => ({ [field]: placed(value) }),
    encode: encode === undefined ? undefined : (value) => Effect.mapEager(encode(value), (json) => ({ [field]: json }))
  })
