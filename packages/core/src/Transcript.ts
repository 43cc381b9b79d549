/**
 * The messages of a run: the whole of its state that a model ever sees.
 *
 * A transcript is immutable, versioned, and grows at its end in constant time: a run of a
 * thousand turns appends, and never copies, decodes or rebuilds what was there.
 *
 * A transcript that `Agent` hands out is valid for every provider: each call of an assistant
 * message is answered by exactly one tool message.
 *
 * @since 0.1.0
 */
import { NodeInspectSymbol } from "effect/Inspectable"
import * as Schema from "effect/Schema"
import * as SchemaTransformation from "effect/SchemaTransformation"
import { AppendOnly } from "./internal/value/appendOnly.ts"
import { versionOf } from "./internal/value/versioned.ts"
import { ToolCall } from "./ToolCall.ts"

/**
 * A picture: its bytes in base64 with their media type, or where it is to be found.
 *
 * @category models
 * @since 0.1.0
 */
export type Image = typeof Image.Type

/**
 * The schema of an {@link Image}.
 *
 * @category schemas
 * @since 0.1.0
 */
export const Image = Schema.Union([
  Schema.Struct({ mediaType: Schema.String, base64: Schema.String }),
  Schema.Struct({ url: Schema.String })
])

/**
 * The schema of a {@link Message}.
 *
 * @category schemas
 * @since 0.1.0
 */
export const Message = Schema.Union([
  Schema.Struct({ role: Schema.tag("system"), text: Schema.String }),
  Schema.Struct({
    role: Schema.tag("user"),
    text: Schema.String,
    images: Schema.optionalKey(Schema.Array(Image))
  }),
  Schema.Struct({
    role: Schema.tag("assistant"),
    text: Schema.String,
    calls: Schema.Array(ToolCall),
    /** The provider's own form of this message, which goes back to it unchanged. */
    native: Schema.optionalKey(Schema.Json)
  }),
  Schema.Struct({
    role: Schema.tag("tool"),
    callId: Schema.String,
    name: Schema.String,
    /** The outcome as a `Rendering` put it. */
    text: Schema.String
  })
])

/**
 * One message of a transcript.
 *
 * @category models
 * @since 0.1.0
 */
export type Message = typeof Message.Type

/**
 * The message of one role.
 *
 * @category models
 * @since 0.1.0
 */
export type MessageOf<Role extends Message["role"]> = Extract<Message, { readonly role: Role }>

/**
 * The messages of a run, oldest first. Iterate it, or take {@link toArray}.
 *
 * @category models
 * @since 0.1.0
 */
export class Transcript implements Iterable<Message> {
  readonly #messages: AppendOnly<Message>

  constructor(messages: Iterable<Message>) {
    this.#messages = messages instanceof AppendOnly ? messages : AppendOnly.from(messages)
  }

  /** How many messages there are. */
  get length(): number {
    return this.#messages.length
  }

  /** The message at an index from 0. */
  at(index: number): Message | undefined {
    return this.#messages.at(index)
  }

  /** This transcript with messages added at its end; this one stays as it is. Constant time per message. */
  append(...messages: ReadonlyArray<Message>): Transcript {
    return new Transcript(this.#messages.append(messages))
  }

  [Symbol.iterator](): Iterator<Message> {
    return this.#messages[Symbol.iterator]()
  }

  toJSON(): unknown {
    return { version, messages: this.#messages.toArray() }
  }

  [NodeInspectSymbol](): unknown {
    return this.toJSON()
  }
}

const version = 1

/**
 * A transcript of the given messages.
 *
 * @example
 * ```ts
 * import { Transcript } from "@fallible/core"
 *
 * const transcript = Transcript.make([{ role: "user", text: "Hello" }])
 * transcript.length // => 1
 * transcript.append({ role: "assistant", text: "Hi.", calls: [] }).length // => 2
 * transcript.length // => 1
 * ```
 *
 * @category constructors
 * @since 0.1.0
 */
export const make = (messages: Iterable<Message>): Transcript => new Transcript(messages)

/**
 * A picture from its bytes.
 *
 * @param mediaType such as `"image/png"`
 *
 * @example
 * ```ts
 * import { Transcript } from "@fallible/core"
 *
 * const bytes = new Uint8Array([71, 73, 70])
 * Transcript.image(bytes, "image/gif") // => { mediaType: "image/gif", base64: "R0lG" }
 * ```
 *
 * @category constructors
 * @since 0.1.0
 */
export const image = (bytes: Uint8Array, mediaType: string): Image => ({ mediaType, base64: toBase64(bytes) })

const toBase64 = Schema.encodeSync(Schema.Uint8ArrayFromBase64)

/**
 * The messages as an array of one's own.
 *
 * @category conversions
 * @since 0.1.0
 */
export const toArray = (transcript: Transcript): Array<Message> => Array.from(transcript)

/**
 * The schema of a {@link Transcript}: encodes to `{ version: 1, messages: […] }`. Decoding any other
 * version fails, and says which it found.
 *
 * @example
 * ```ts
 * import { Transcript } from "@fallible/core"
 * import { Schema } from "effect"
 *
 * const transcript = Transcript.make([{ role: "user", text: "Hello" }])
 * Schema.encodeSync(Transcript.schema)(transcript)
 * // => { version: 1, messages: [{ role: "user", text: "Hello" }] }
 * ```
 *
 * @category schemas
 * @since 0.1.0
 */
export const schema = Schema.Struct({
  version: versionOf("a transcript", version),
  messages: Schema.Array(Message)
}).pipe(
  Schema.decodeTo(
    Schema.instanceOf(Transcript, { expected: "a Transcript" }),
    SchemaTransformation.transform({
      decode: ({ messages }) => make(messages),
      encode: (transcript) => ({ version, messages: toArray(transcript) })
    })
  )
)
