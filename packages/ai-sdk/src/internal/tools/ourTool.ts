/*
 * Makes one tool of the AI SDK from one of ours. Its input is decoded, its calls run in a session, and a call without a result is
 * an error whose message the model reads.
 */
import { jsonSchema } from "@ai-sdk/provider-utils"
import type { Tool, Toolkit } from "@fallible/core"
import * as Arguments from "@fallible/core/Arguments"
import type * as CallSession from "@fallible/core/CallSession"
import * as Rendering from "@fallible/core/Rendering"
import type { Tool as TheirTool, ToolExecutionOptions } from "ai"
import * as Effect from "effect/Effect"
import { memoize } from "effect/Function"
import * as Schema from "effect/Schema"
import * as SchemaAST from "effect/SchemaAST"
import { copyOf, isData, isStill } from "../untyped.ts"
import { CallFailed } from "./callFailed.ts"
import { type ModelOutput, modelOutputOf, outputAlone, Recent, textBy } from "./modelText.ts"
import { refusedAs } from "./unreadable.ts"

/** What the tools of one session share. */
export interface Sharing {
  readonly session: CallSession.CallSession<Tool.Any>
  /** Absent: results are as the AI SDK has them, and failures are written by `Rendering.json`. */
  readonly rendering?: Rendering.Rendering
  readonly runPromise: <A>(
    effect: Effect.Effect<A, never, unknown>,
    options?: { readonly signal?: AbortSignal }
  ) => Promise<A>
}

/** Makes a tool of the AI SDK. */
export const theirToolOf = (
  tool: Tool.Any,
  { description, parameters }: Toolkit.Definition,
  sharing: Sharing
): TheirTool => {
  if (tool.client === true && tool.approvals !== undefined) {
    throw new TypeError(
      `The tool '${tool.name}' needs an approval before its client runs it. In the loop of the AI SDK, a client runs a call as soon as it is written: use an agent.`
    )
  }
  const inputs = new Inputs(tool)
  const shown = {
    description,
    inputSchema: jsonSchema(parameters, { validate: (value) => inputs.read(value) })
  }
  return tool.client === true
    ? { ...shown, outputSchema: jsonSchema({}) }
    : { ...shown, ...approvalOf(tool, sharing), ...running(tool, inputs, sharing) }
}

// -----------------------------------------------------------------------------
// Input
// -----------------------------------------------------------------------------

type Read = { readonly success: true; readonly value: unknown } | { readonly success: false; readonly error: Error }

/** An input that has been decoded. */
interface Known extends Call {
  /** How it was then. */
  readonly copy: object
}

/** What a call has of its input. */
interface Call {
  readonly text: string
  /** Absent if the input has parts that cannot be copied, so that the AI SDK's user has them, too. */
  readonly decoded?: Arguments.Decoded<object>
}

/**
 * The inputs of a tool, decoded. A call needs the text that they were decoded from: only that says what was repaired, and which
 * effect is meant. That counts as long as the input is the same: functions of the AI SDK's user may change it.
 */
class Inputs {
  readonly #tool: Tool.Any
  readonly #read = new WeakMap<object, Known>()

  constructor(tool: Tool.Any) {
    this.#tool = tool
  }

  read(value: unknown): Promise<Read> {
    // A page runs no call that cannot be read.
    const refused = this.#tool.client === true ? undefined : refusedAs(value)
    if (refused !== undefined) return Promise.resolve({ success: true, value })
    const text = JSON.stringify(value)
    return Effect.runPromise(Effect.matchEager(Arguments.decode(text, this.#tool), {
      onFailure: ({ detail, hint }): Read => ({
        success: false,
        error: new Error(hint === undefined ? detail : `${detail} ${hint}`)
      }),
      onSuccess: ({ params, repairs }): Read => {
        if (typeof params === "object" && params !== null) {
          const copy = copyOf(params)
          // The handler gets the copy, so nothing is decoded twice, and it has what the AI SDK has shown.
          this.#read.set(params, { text, copy, ...(isData(copy) ? { decoded: { params: copy, repairs } } : {}) })
        }
        return { success: true, value: params }
      }
    }))
  }

  /** Returns the call with an input. Who changes one, or makes another, has it written by its schema. */
  callWith(input: unknown): Effect.Effect<Call> {
    const known = typeof input === "object" && input !== null ? this.#read.get(input) : undefined
    return known === undefined || !isStill(input, known.copy)
      ? Effect.map(Effect.orDie(encoderOf(this.#tool.parameters)(input)), (json) => ({ text: JSON.stringify(json) }))
      : Effect.succeed(known)
  }
}

type Convert = (value: unknown) => Effect.Effect<unknown, unknown>

// Tools are made for each request, of the same schemas.
const encoderOf: (parameters: Schema.Constraint) => Convert = memoize((parameters) =>
  Schema.encodeUnknownEffect(asCodec(Schema.toCodecJson(parameters)))
)

/** Returns the decoder of results; `undefined` if a result as JSON is one already. */
const decoderOf: (success: Schema.Constraint) => { readonly decode: Convert | undefined } = memoize((success) => {
  const codec = Schema.toCodecJson(success)
  return SchemaAST.toEncoded(codec.ast) === SchemaAST.toType(codec.ast)
    ? { decode: undefined }
    : { decode: Schema.decodeUnknownEffect(asCodec(codec)) }
})

// What the schemas of a tool need is provided where its handler runs, not here.
const asCodec = (schema: Schema.Constraint) => schema as Schema.Codec<unknown>

// -----------------------------------------------------------------------------
// Calls
// -----------------------------------------------------------------------------

const running = (tool: Tool.Any, inputs: Inputs, { rendering, runPromise, session }: Sharing) => {
  const { name } = tool
  const written = rendering ?? Rendering.json
  const { decode } = decoderOf(tool.success)
  const said = new Recent()
  const outputOf = (value: unknown) =>
    // A result that does not fit is shown as it is.
    decode === undefined ? value : Effect.runPromise(Effect.catchCause(decode(value), () => Effect.succeed(value)))
  const execute = async (
    input: unknown,
    { abortSignal, messages, toolCallId }: ToolExecutionOptions<unknown>
  ): Promise<unknown> => {
    const refused = refusedAs(input)
    if (refused !== undefined) throw new CallFailed(written(refused, { id: toolCallId, name }), refused)
    // A fiber that is started with such a signal runs until it waits for something.
    abortSignal?.throwIfAborted()
    const call = { id: toolCallId, name }
    const called = Effect.flatMapEager(inputs.callWith(input), ({ decoded, text }) =>
      Effect.flatMap(
        // All calls of a reply have the same list of messages.
        session.call({ ...call, arguments: text }, { turn: messages, decoded }),
        (outcome) => Effect.map(textBy(written, outcome, call), (text) => ({ outcome, text }))
      ))
    const { outcome, text } = await runPromise(called, abortSignal === undefined ? {} : { signal: abortSignal })
    if (outcome._tag !== "Completed") throw new CallFailed(text, outcome)
    const output = await outputOf(outcome.value)
    said.add(toolCallId, { output, words: modelOutputOf(outcome, text, rendering !== undefined) })
    return output
  }
  return {
    execute,
    // A conversation that was stored may be written by another process. Then the result says itself.
    toModelOutput: ({ output, toolCallId }: { readonly output: unknown; readonly toolCallId: string }): ModelOutput =>
      said.get(toolCallId, output) ?? outputAlone(output)
  }
}

// The AI SDK asks. It is told whether to ask, given the input that the tool's own schema has decoded.
const approvalOf = (
  { approvals = [], name }: Tool.Any,
  { runPromise, session }: Sharing
): Pick<TheirTool, "needsApproval"> =>
  approvals.length === 0 ? {} : {
    needsApproval: (input: unknown) =>
      refusedAs(input) === undefined ? runPromise(session.needsApproval(name, input)) : false
  }
