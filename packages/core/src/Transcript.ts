/**
 * The messages of a run: the only part of the run's state that a model sees.
 *
 * A transcript is immutable and versioned. Appending a message takes constant time, even after a thousand
 * turns: earlier messages are never copied, decoded or rebuilt.
 *
 * A transcript that an `Agent` builds is valid for every provider: exactly one tool message answers each call of
 * an assistant message.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import { NodeInspectSymbol } from "effect/Inspectable"
import * as Schema from "effect/Schema"
import * as SchemaTransformation from "effect/SchemaTransformation"
import { shownCall } from "./internal/call/modelCall.ts"
import { current as currentScope } from "./internal/call/scope.ts"
import { AppendOnly } from "./internal/value/appendOnly.ts"
import { File } from "./internal/value/file.ts"
import { eachOf, type Upgrade, upgraded, versionOf } from "./internal/value/versioned.ts"
import { ToolCall } from "./ToolCall.ts"

export { File } from "./internal/value/file.ts"

const files = Schema.optionalKey(Schema.Array(File))

// True: the provider is asked to keep the request up to and with this message in a cache. Some do so by themselves.
const cache = Schema.optionalKey(Schema.Boolean)

/**
 * The schema of a {@link Message}.
 *
 * Each message may have `cache: true`: then the provider is asked to keep the request up to and with this message in its
 * cache, which makes later requests cheaper. A provider that has no such mark ignores it.
 *
 * @category schemas
 * @since 0.1.0
 */
export const Message = Schema.Union([
  Schema.Struct({ role: Schema.tag("system"), text: Schema.String, cache }),
  Schema.Struct({ role: Schema.tag("user"), text: Schema.String, files, cache }),
  Schema.Struct({
    role: Schema.tag("assistant"),
    text: Schema.String,
    calls: Schema.Array(ToolCall),
    /** The message in the provider's own format. It is sent back to the provider unchanged. */
    native: Schema.optionalKey(Schema.Json),
    cache
  }),
  Schema.Struct({
    role: Schema.tag("tool"),
    callId: Schema.String,
    name: Schema.String,
    /** The outcome of the call, turned into text by a `Rendering`. */
    text: Schema.String,
    /** Whether the user approved the provider's call. Present if the call asked for that (`ToolCall.approval`). */
    approved: Schema.optionalKey(Schema.Boolean),
    /** The files that the tool returned beside its value (`ToolCall.attach`). */
    files,
    cache
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
 * The type of the messages with one role.
 *
 * @category models
 * @since 0.1.0
 */
export type MessageOf<Role extends Message["role"]> = Extract<Message, { readonly role: Role }>

/**
 * The messages of a run, oldest first. Iterate over it, or use {@link toArray}.
 *
 * @category models
 * @since 0.1.0
 */
export class Transcript implements Iterable<Message> {
  readonly #messages: AppendOnly<Message>

  constructor(messages: Iterable<Message>) {
    this.#messages = messages instanceof AppendOnly ? messages : AppendOnly.from(messages)
  }

  /** The number of messages. */
  get length(): number {
    return this.#messages.length
  }

  /**
   * The same object for transcripts that were made from each other by appending, which is how a run makes them: of two such
   * transcripts, the shorter one is the beginning of the longer one. An author of models can keep what was made of the
   * messages so far, under this object in a `WeakMap`.
   */
  get lineage(): object {
    return this.#messages.lineage
  }

  /** Returns the message at a 0-based index; `undefined` if there is none. */
  at(index: number): Message | undefined {
    return this.#messages.at(index)
  }

  /** Returns a new transcript with messages added at the end, in constant time per message. */
  append(...messages: ReadonlyArray<Message>): Transcript {
    return new Transcript(this.#messages.append(messages))
  }

  [Symbol.iterator](): Iterator<Message> {
    return this.#messages[Symbol.iterator]()
  }

  /** Returns the messages as they may be shown: see {@link shown}. To store a transcript, encode it by its {@link schema}. */
  toJSON(): unknown {
    return { version, messages: Array.from(this.#messages, shownMessage) }
  }

  [NodeInspectSymbol](): unknown {
    return this.toJSON()
  }
}

const version = 2

/**
 * Creates a transcript from messages.
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
 * Creates a picture or another file from its bytes.
 *
 * @param mediaType for example `"image/png"`
 * @param name the name of the file; default: none
 *
 * @example
 * ```ts
 * import { Transcript } from "@fallible/core"
 *
 * const bytes = new Uint8Array([71, 73, 70])
 * Transcript.file(bytes, "image/gif") // => { mediaType: "image/gif", base64: "R0lG" }
 * ```
 *
 * @category constructors
 * @since 0.1.0
 */
export const file = (bytes: Uint8Array, mediaType: string, name?: string): File => ({
  mediaType,
  base64: toBase64(bytes),
  ...(name === undefined ? {} : { name })
})

const toBase64 = Schema.encodeSync(Schema.Uint8ArrayFromBase64)

/**
 * Returns the messages as a new array.
 *
 * @category conversions
 * @since 0.1.0
 */
export const toArray = (transcript: Transcript): Array<Message> => Array.from(transcript)

/**
 * Returns a transcript as it may be shown: with `"<redacted>"` in place of the secrets in the arguments of its calls. The
 * messages with these calls have no native form.
 *
 * When to use: before you log a transcript, or show it to people. `console.log`, `JSON.stringify` and Effect's loggers do
 * this themselves. A run that continues from a transcript needs the transcript itself, and so does a store: {@link schema}
 * encodes all of it, with its secrets.
 *
 * An agent notes in each call what may be shown of it (`ToolCall.shown`). Only these calls are masked.
 *
 * @example
 * ```ts
 * import { Transcript } from "@fallible/core"
 *
 * const call = { id: "1", name: "log_in", arguments: '{"pin":"1234"}', shown: '{"pin":"<redacted>"}' }
 * const transcript = Transcript.make([{ role: "assistant", text: "", calls: [call] }])
 *
 * const [message] = Transcript.shown(transcript)
 * message?.role === "assistant" && message.calls // => [{ id: "1", name: "log_in", arguments: '{"pin":"<redacted>"}' }]
 * ```
 *
 * @category conversions
 * @since 0.1.0
 */
export const shown = (transcript: Transcript): Transcript => make(Array.from(transcript, shownMessage))

/**
 * What the model was sent when it wrote the running call, with `"<redacted>"` in place of secrets; `undefined` if no agent runs
 * the call.
 *
 * When to use: in a tool that needs the conversation, such as one that hands it to a person. An async handler has it as the
 * `transcript` of its second parameter.
 *
 * @example
 * ```ts
 * import { Agent, Tool, Toolkit, Transcript } from "@fallible/core"
 * import { ScriptedModel } from "@fallible/testing"
 * import { Effect, Schema } from "effect"
 *
 * const handOver = Tool.make("hand_over", { description: "Hands over to a person", success: Schema.String }, () =>
 *   Effect.map(Transcript.current, (said) => `A person will read ${said?.length} message.`))
 *
 * const model = ScriptedModel.layer([ScriptedModel.call("hand_over", {}), ScriptedModel.text("They will call you.")])
 * const run = Agent.make({ toolkit: Toolkit.make(handOver) }).run("I want a person.")
 * const { transcript } = await Effect.runPromise(Effect.provide(run, model))
 * transcript.at(2)?.text // => "\"A person will read 1 message.\""
 * ```
 *
 * @category context
 * @since 0.1.0
 */
export const current: Effect.Effect<Transcript | undefined> = Effect.map(currentScope, ({ placeInRun }) => {
  const sent = placeInRun?.transcript
  return sent instanceof Transcript ? shown(sent) : undefined
})

const shownMessage = (message: Message): Message => {
  if (message.role !== "assistant" || message.calls.every(({ shown }) => shown === undefined)) return message
  const { calls, role, text } = message
  return { role, text, calls: calls.map(shownCall) }
}

// A schema that reads two versions has no types of its own.
const asCodec = (schema: Schema.Constraint) => schema as Schema.Codec<Transcript, Schema.JsonObject>

/**
 * The schema of a {@link Transcript}. It encodes to `{ version: 2, messages: […] }`. It decodes version 1, too. Decoding any
 * other version fails with a message that names that version.
 *
 * @example
 * ```ts
 * import { Transcript } from "@fallible/core"
 * import { Schema } from "effect"
 *
 * const transcript = Transcript.make([{ role: "user", text: "Hello" }])
 * Schema.encodeSync(Transcript.schema)(transcript)
 * // => { version: 2, messages: [{ role: "user", text: "Hello" }] }
 * ```
 *
 * @category schemas
 * @since 0.1.0
 */
export const schema: Schema.Codec<Transcript, Schema.JsonObject> = asCodec(upgraded(
  Schema.Struct({ version: versionOf("a transcript", version), messages: Schema.Array(Message) }).pipe(
    Schema.decodeTo(
      Schema.instanceOf(Transcript, { expected: "a Transcript" }),
      SchemaTransformation.transform({
        decode: ({ messages }) => make(messages),
        encode: (transcript) => ({ version, messages: toArray(transcript) })
      })
    )
  ),
  version,
  ({ messages = null, ...stored }) => ({ ...stored, messages: eachOf(messages, messageBefore) })
))

// In version 1, messages of users had `images`.
const messageBefore: Upgrade = ({ images, ...message }) =>
  images === undefined ? message : { ...message, files: images }
