import * as Schema from "effect/Schema"
import * as SchemaParser from "effect/SchemaParser"
import { contained } from "../effect/contained.ts"

// Parameters are declared as something to decode. Most can be encoded, too; the others have to continue with all arguments.
export const encoderOf = (parameters: Schema.ConstraintDecoder<unknown>) => {
  const encode = SchemaParser.encodeUnknownEffect(
    Schema.toCodecJson(parameters as Schema.ConstraintCodec<unknown, Schema.JsonObject>)
  )
  return (params: unknown) => contained(encode(params))
}
