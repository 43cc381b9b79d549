import * as Schema from "effect/Schema"
import * as SchemaTransformation from "effect/SchemaTransformation"

/** The version of what is stored whole. Decoding any other fails, and says which it found. */
export const versionOf = (what: string, version: number) =>
  Schema.Int.check(
    Schema.makeFilter((found: number) =>
      found === version ? undefined : `${what} of version ${version}, and not of version ${found}`
    )
  )

/** A struct that is stored whole: it has a version where it is encoded, and none where it is decoded. */
export const versioned = <Fields extends Schema.Struct.Fields>(what: string, version: number, fields: Fields) =>
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

// The compiler does not look into a struct whose fields it does not know.
const asCodecOf = <Fields extends Schema.Struct.Fields>(schema: Schema.Constraint) =>
  schema as Schema.Codec<
    Schema.Struct.Type<Fields>,
    Schema.Struct.Encoded<Fields> & { readonly version: number },
    Schema.Struct.DecodingServices<Fields>,
    Schema.Struct.EncodingServices<Fields>
  >
