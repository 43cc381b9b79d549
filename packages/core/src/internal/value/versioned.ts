/*
 * Versions of stored formats. A format changes its version with its form. It reads the version before it, too, if an
 * upgrade is given; any other version is refused, with a message that names both.
 */
import * as Schema from "effect/Schema"
import * as SchemaTransformation from "effect/SchemaTransformation"
import { isJsonObject } from "./plainJson.ts"

/** Makes the form of the version before into the current form. The version itself is replaced by the caller. */
export type Upgrade = (stored: Schema.JsonObject) => Schema.JsonObject

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

/**
 * Returns the schema of a stored struct, which has a version only in its encoded form.
 *
 * @param upgrade reads the version before; default: that version is refused
 */
export const withVersion = <Fields extends Schema.Struct.Fields>(
  what: string,
  version: number,
  fields: Fields,
  upgrade?: Upgrade
) => asCodecOf<Fields>(upgraded(erased(what, version, fields), version, upgrade))

/** Returns a schema that also decodes the version before, whose form an upgrade changes. */
export const upgraded = (schema: Schema.Top, version: number, upgrade: Upgrade | undefined): Schema.Top =>
  upgrade === undefined ? schema : Schema.Unknown.pipe(
    Schema.decodeTo(
      schema,
      SchemaTransformation.transform<unknown, unknown>({
        decode: (stored) => isOfVersion(stored, version - 1) ? { ...upgrade(stored), version } : stored,
        encode: (stored) => stored
      })
    )
  )

/** Upgrades the objects of a stored list. */
export const eachOf = (list: Schema.Json, upgrade: Upgrade): Schema.Json =>
  Array.isArray(list) ? list.map((item: Schema.Json) => isJsonObject(item) ? upgrade(item) : item) : list

const isOfVersion = (stored: unknown, version: number): stored is Schema.JsonObject =>
  typeof stored === "object" && stored !== null && "version" in stored && stored.version === version &&
  isJsonObject(stored as Schema.Json)

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
