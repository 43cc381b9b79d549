import * as Schema from "effect/Schema"
import * as SchemaParser from "effect/SchemaParser"
import { runContained } from "../fiber/runContained.ts"

// Returns the encoder of a tool's parameters. They are declared as a decoder, but most of them can be
// encoded, too. If encoding fails, the `next` of a partial result must contain all arguments.
export const encoderOf = (parameters: Schema.ConstraintDecoder<unknown>) => {
  const encode = SchemaParser.encodeUnknownEffect(
    Schema.toCodecJson(parameters as Schema.ConstraintCodec<unknown, Schema.JsonObject>)
  )
  return (params: unknown) => runContained(encode(params))
}
