import * as Exit from "effect/Exit"
import { memoize } from "effect/Function"
import * as Schema from "effect/Schema"
import * as SchemaAST from "effect/SchemaAST"
import * as SchemaParser from "effect/SchemaParser"
import { holds } from "../arguments/encodedSide.ts"
import { foreignIn } from "../arguments/foreignSchema.ts"
import { type Path, plainJson } from "../value/plainJson.ts"
import { attempt } from "../value/untrusted.ts"

/**
 * Writes a result that does not fit its schema, part by part: a part that fits is encoded by its own schema, and any other
 * part is written as JavaScript writes it. Parts that are not declared are left out.
 *
 * A part that stands for its own JSON, such as a string for a date, is read by its schema, and written by it. That is safe
 * only where no transformation of the author's is declared: what it makes of a value, and what it hides, is not known here.
 */
export class ResultParts {
  readonly notes: Array<string> = []
  /** True if a transformation of the author's could not write its part. */
  isUnwritten = false
  /** The parts of a declared type that has no JSON form, such as a class, or `undefined`. */
  readonly opaque: Array<Path> = []

  /** Returns `undefined` for a part that `JSON.stringify` leaves out. */
  write(ast: SchemaAST.AST, value: unknown, path: Path = []): Schema.Json | undefined {
    if (value === undefined || typeof value === "function" || typeof value === "symbol") {
      if (isOfType(ast, value)) this.opaque.push(path)
      return undefined
    }
    const encoded = codecOf(ast).encode(value)
    if (encoded !== undefined) return this.#plain(encoded.value, path)
    if (ast.encoding === undefined) {
      if (SchemaAST.isSuspend(ast)) return this.write(ast.thunk(), value, path)
      if (SchemaAST.isObjects(ast) && isPlainObject(value)) return this.#fields(ast, value, path)
      if (SchemaAST.isArrays(ast) && Array.isArray(value)) return this.#items(ast, value, path)
    }
    return this.#other(ast, value, path)
  }

  #other(ast: SchemaAST.AST, value: unknown, path: Path): Schema.Json {
    const json = this.#plain(value, path)
    if (hasTransformation(ast)) {
      this.isUnwritten = true
      return json
    }
    const reread = codecOf(ast).reread(json)
    if (reread !== undefined) return this.#plain(reread.value, path)
    if (isOfType(ast, value)) this.opaque.push(path)
    return json
  }

  #plain(value: unknown, path: Path): Schema.Json {
    const { json, notes } = plainJson(value, path)
    this.notes.push(...notes)
    return json
  }

  #fields(
    { indexSignatures, propertySignatures }: SchemaAST.Objects,
    value: Readonly<Record<string, unknown>>,
    path: Path
  ): Schema.JsonObject {
    const declared = new Map(propertySignatures.map(({ name, type }) => [name, type]))
    return Object.fromEntries(
      Object.keys(value).flatMap((key) => {
        const type = declared.get(key) ?? indexSignatures[0]?.type
        if (type === undefined) return []
        const json = this.write(type, attempt(() => value[key]), [...path, key])
        return json === undefined ? [] : [[key, json]]
      })
    )
  }

  #items({ elements, rest }: SchemaAST.Arrays, value: ReadonlyArray<unknown>, path: Path): Schema.Json {
    return Array.from(value, (item, index) => {
      const type = elements[index] ?? rest[0]
      return type === undefined ? null : this.write(type, item, [...path, index]) ?? null
    })
  }
}

// Of another library's schema, only its validation knows the type.
const isOfType = (ast: SchemaAST.AST, value: unknown): boolean =>
  foreignIn(ast) === undefined && attempt(() => Schema.is(Schema.make(ast))(value)) === true

const isPlainObject = (value: unknown): value is Readonly<Record<string, unknown>> => {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return false
  return !(value instanceof Map) && !(value instanceof Set)
}

/** True if an author transforms some part of a schema: to its encoded form, and back. */
export const hasTransformation = memoize((ast: SchemaAST.AST): boolean =>
  holds(ast, ({ encoding }) => encoding !== undefined)
)

/** How a part is written by its schema: `undefined` if it does not fit, or if its schema is asynchronous. */
const codecOf = memoize((ast: SchemaAST.AST) => {
  const codec = Schema.toCodecJson(Schema.make<Schema.Codec<unknown>>(ast))
  const encode = SchemaParser.encodeUnknownExit(codec)
  const decode = SchemaParser.decodeUnknownExit(codec)
  const succeeded = (run: () => Exit.Exit<unknown, unknown>) => {
    const exit = attempt(run)
    return exit !== undefined && Exit.isSuccess(exit) ? { value: exit.value } : undefined
  }
  return {
    encode: (value: unknown) => succeeded(() => encode(value)),
    reread: (json: Schema.Json) =>
      succeeded(() => {
        const decoded = decode(json)
        return Exit.isSuccess(decoded) ? encode(decoded.value) : decoded
      })
  }
})
