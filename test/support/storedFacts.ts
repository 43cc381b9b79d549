import * as CallFacts from "@fallible/core/CallFacts"
import { Schema } from "effect"

const codec = Schema.toCodecJson(CallFacts.schema)

/** Encodes facts, and decodes them again, as a program that keeps them in a database does. */
export const stored = (facts: CallFacts.CallFacts) => Schema.decodeUnknownSync(codec)(Schema.encodeSync(codec)(facts))
