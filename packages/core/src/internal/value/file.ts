import * as Schema from "effect/Schema"

const name = Schema.optionalKey(Schema.String)

/**
 * The schema of a {@link File}.
 *
 * @category schemas
 * @since 0.1.0
 */
export const File = Schema.Union([
  Schema.Struct({ mediaType: Schema.String, base64: Schema.String, name }),
  Schema.Struct({ url: Schema.String, mediaType: Schema.optionalKey(Schema.String), name })
])

/**
 * A picture or another file: its bytes in base64 with their media type, or its URL.
 *
 * @category models
 * @since 0.1.0
 */
export type File = typeof File.Type
