import * as Schema from "effect/Schema"
import type * as SchemaAST from "effect/SchemaAST"
import { type Upgrade, upgraded } from "./versioned.ts"

/**
 * A struct whose decoded type is a class, so that editors and compilers show the name of the class, and not all its
 * fields. The values are plain objects: the class has no instances.
 */
export interface NamedStruct<Self, Fields extends Schema.Struct.Fields>
  extends Schema.Opaque<Self, Schema.Struct<Fields>, {}>
{
  readonly fields: Fields
}

/**
 * Returns a base class for a struct with a name. It is like `Schema.Opaque`, whose declared types have all fields twice.
 *
 *     class Point extends namedStruct<Point>()({ x: Schema.Int, y: Schema.Int }) {}
 *
 * @param checks conditions that the whole struct must meet
 */
export const namedStruct = <Self>() =>
<const Fields extends Schema.Struct.Fields>(
  fields: Fields,
  ...checks: ReadonlyArray<SchemaAST.Check<Schema.Struct.Type<Fields>>>
) => {
  const [first, ...others] = checks
  const struct = Schema.Struct(fields)
  return asNamed<Self, Fields>(first === undefined ? struct : struct.check(first, ...others))
}

/** Like {@link namedStruct}, for a struct with a version: it also decodes the version before. */
export const storedStruct =
  <Self>() =>
  <const Fields extends Schema.Struct.Fields & { readonly version: Schema.Literal<number> }>(
    fields: Fields,
    upgrade: Upgrade,
    ...checks: ReadonlyArray<SchemaAST.Check<Schema.Struct.Type<Fields>>>
  ) =>
    asNamed<Self, Fields>(
      Object.assign(upgraded(asTop(namedStruct<Self>()(fields, ...checks)), fields.version.literal, upgrade), {
        fields
      })
    )

// A schema with type parameters has all that a schema has.
const asTop = (schema: Schema.Constraint) => schema as Schema.Top

// A schema is a class at run time, whose type `Schema.Opaque` declares in the same way.
const asNamed = <Self, Fields extends Schema.Struct.Fields>(schema: unknown) => schema as NamedStruct<Self, Fields>
