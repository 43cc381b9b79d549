import * as Schema from "effect/Schema"
import * as SchemaTransformation from "effect/SchemaTransformation"

/**
 * Returns the schema of a stored value's version. Decoding a different version fails with a message that
 * names that version.
 */
export const versionOf = (what: string, version: number) =>
  Schema.Int.check(
    Schema.makeFilter((actual: number) =>
      actual === version ? undefined : `${what} of version ${version}, not version ${actual}`
    )
  )

/** Returns the schema of a stored struct, which has a version only in its encoded form. */
export const withVersion = <Fields extends Schema.Struct.Fields>(what: string, version: number, fields: Fields) =>
  asCodecOf<Fields>(erased(what, version, fields))

const erased = (what: string, version: number, fields: Schema.Struct.Fields) =>
  Schema.Struct({ version: versionOf(what, version), ...fields }).pipe(
    Schema.decodeTo(
      Schema.toType(Schema.Struct(fields)),
      SchemaTransformation.transform({
        decode: (stored) => {
          const { version: _, ...rest } = stored
          return rest
        },
        encode: (value) => ({ version, ...value })
      })
    )
  )

// TypeScript cannot work out the types of a struct whose fields are a type parameter.
const asCodecOf = <Fields extends Schema.Struct.Fields>(schema: Schema.Constraint) =>
  schema as Schema.Codec<
    Schema.Struct.Type<Fields>,
    Schema.Struct.Encoded<Fields> & { readonly version: number },
    Schema.Struct.DecodingServices<Fields>,
    Schema.Struct.EncodingServices<Fields>
  >
