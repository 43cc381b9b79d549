/** The conversation in a request of Google's Gemini API: its form and its rules. */
import type { Transcript } from "@fallible/core"
import * as Schema from "effect/Schema"
import { firstProblem } from "./messageHistory.ts"
import { sign } from "./scriptedReply.ts"

// -----------------------------------------------------------------------------
// Form
// -----------------------------------------------------------------------------

const JsonObject = Schema.Record(Schema.String, Schema.Unknown)

/** A name that the real server accepts. */
export const Name = Schema.String.check(Schema.isPattern(/^[a-zA-Z_][\w.:-]{0,63}$/))

const id = Schema.optionalKey(Schema.String)

const InlineData = Schema.Struct({
  mimeType: Schema.String,
  data: Schema.NonEmptyString,
  displayName: Schema.optionalKey(Schema.String)
})

const FileData = Schema.Struct({
  mimeType: Schema.optionalKey(Schema.String),
  fileUri: Schema.NonEmptyString,
  displayName: Schema.optionalKey(Schema.String)
})

const Part = Schema.Struct({
  text: Schema.optionalKey(Schema.String),
  inlineData: Schema.optionalKey(InlineData),
  fileData: Schema.optionalKey(FileData),
  functionCall: Schema.optionalKey(Schema.Struct({ id, name: Name, args: Schema.optionalKey(JsonObject) })),
  functionResponse: Schema.optionalKey(Schema.Struct({
    id,
    name: Name,
    response: JsonObject,
    parts: Schema.optionalKey(Schema.Array(Schema.Struct({
      inlineData: Schema.optionalKey(InlineData),
      fileData: Schema.optionalKey(FileData)
    })))
  })),
  thought: Schema.optionalKey(Schema.Boolean),
  thoughtSignature: Schema.optionalKey(Schema.String)
})

type Part = typeof Part.Type

export const Content = Schema.Struct({ role: Schema.optionalKey(Schema.String), parts: Schema.Array(Part) })
export type Content = typeof Content.Type

const callsOf = (content: Content | undefined) =>
  content?.parts.flatMap(({ functionCall: call, thoughtSignature: signature }) =>
    call === undefined ? [] : [{ ...call, signature }]
  ) ?? []

const responsesOf = (content: Content | undefined) =>
  content?.parts.flatMap(({ functionResponse: response }) => response === undefined ? [] : [response]) ?? []

// -----------------------------------------------------------------------------
// Rules
// -----------------------------------------------------------------------------

/**
 * Returns what is wrong with a conversation, in the words of the real server.
 *
 * @param issued the signatures of calls that the server has sent
 */
export const problemIn = (contents: ReadonlyArray<Content>, issued: ReadonlySet<string>): string | undefined => {
  // Calls of earlier turns need no signature.
  const current = contents.findLastIndex((content) => !isModel(content) && responsesOf(content).length === 0)
  return firstProblem(contents, (content, index) =>
    contentProblem(content, index) ??
      turnProblem(content, contents[index - 1], contents[index + 1]) ??
      signatureProblem(content, index, index > current ? issued : new Set()))
}

const isModel = (content: Content | undefined): boolean => content?.role === "model"

const contentProblem = ({ parts, role }: Content, index: number): string | undefined => {
  if (role !== undefined && !["user", "model", "function"].includes(role)) {
    return "Please use a valid role: user, model."
  }
  const at = `GenerateContentRequest.contents[${index}].parts`
  return parts.length === 0 ? `* ${at}: contents.parts must not be empty.` : partProblem(parts, at)
}

const kinds = ["text", "inlineData", "fileData", "functionCall", "functionResponse"] as const

const partProblem = (parts: ReadonlyArray<Part>, at: string): string | undefined =>
  firstProblem(parts, (part, index) => {
    const [first, second] = kinds.filter((kind) => part[kind] !== undefined)
    if (first === undefined) {
      return `* ${at}[${index}].data: required oneof field 'data' must have one initialized field`
    }
    return second === undefined
      ? undefined
      : `Invalid value at '${at}[${index}]' (oneof), oneof field 'data' is already set. Cannot set '${second}'`
  })

const turnProblem = (
  content: Content,
  previous: Content | undefined,
  next: Content | undefined
): string | undefined => {
  const calls = callsOf(content)
  if (calls.length > 0 && (!isModel(content) || previous === undefined || isModel(previous))) {
    return "Please ensure that function call turn comes immediately after a user turn or after a function response turn."
  }
  if (responsesOf(content).length > 0 && callsOf(previous).length === 0) {
    return "Please ensure that function response turn comes immediately after a function call turn."
  }
  const responses = responsesOf(next)
  if (responses.length !== calls.length && calls.length > 0) {
    return "Please ensure that the number of function response parts is equal to the number of function call parts " +
      "of the function call turn."
  }
  return calls.length === paired(calls, responses).length
    ? undefined
    : "Please ensure that each function response part has the name of its function call part."
}

/** Finds the call of each response: by its id, or else by its name. */
const paired = <C extends Named>(calls: ReadonlyArray<C>, responses: ReadonlyArray<Named>): ReadonlyArray<C> => {
  const open = [...calls]
  return responses.flatMap((response) => {
    const index = open.findIndex(({ id, name }) =>
      name === response.name && (id === undefined || response.id === undefined || id === response.id)
    )
    return index < 0 ? [] : open.splice(index, 1)
  })
}

interface Named {
  readonly id?: string
  readonly name: string
}

/** Returns the signature of a call. It does not depend on the call's id. */
export const signatureOf = (name: string, args: unknown): string => sign(JSON.stringify([name, args ?? {}]))

// The real server accepts these in place of a signature, for calls of other models.
const anySignature = new Set(["skip_thought_signature_validator", "context_engineering_is_the_way_to_go"])

const signatureProblem = (content: Content, index: number, issued: ReadonlySet<string>): string | undefined =>
  firstProblem(callsOf(content), ({ args, name, signature }, position) => {
    const right = signatureOf(name, args)
    if (signature === undefined && position === 0 && issued.has(right)) {
      return "Function call is missing a thought_signature in functionCall parts. This is required for tools to work " +
        "correctly, and missing thought_signature may lead to degraded model performance. Additional data, " +
        `function call \`default_api:${name}\` , position ${index + 1}. ` +
        "Please refer to https://ai.google.dev/gemini-api/docs/thought-signatures for more details."
    }
    return signature === undefined || signature === right || anySignature.has(signature)
      ? undefined
      : "Corrupted thought signature."
  })

// -----------------------------------------------------------------------------
// Transcript
// -----------------------------------------------------------------------------

export const transcriptOf = (contents: ReadonlyArray<Content>): ReadonlyArray<Transcript.Message> => {
  let calls: ReadonlyArray<{ readonly id: string; readonly name: string }> = []
  return contents.flatMap((content, at): ReadonlyArray<Transcript.Message> => {
    const text = textOf(content)
    if (isModel(content)) {
      const made = callsOf(content).map(({ args = {}, id, name }, index) => ({
        id: id ?? `call_${at}_${index}`,
        name,
        arguments: JSON.stringify(args)
      }))
      calls = made
      return [{ role: "assistant", text, calls: made }]
    }
    const responses = responsesOf(content)
    const answered = paired(calls, responses)
    const results = responses.map(({ name, response }, index) => ({
      role: "tool" as const,
      callId: answered[index]?.id ?? "",
      name,
      text: outputIn(response)
    }))
    const images = content.parts.flatMap(imagesIn)
    if (results.length === content.parts.length) return results
    return [...results, { role: "user", text, ...(images.length === 0 ? {} : { files: images }) }]
  })
}

export const textOf = ({ parts }: Content): string =>
  parts.flatMap(({ text = "", thought }) => thought === true ? [] : [text]).join("")

/**
 * Returns the text of a response. By convention, a text is the field `output` or `error`; some clients have it as `content`,
 * beside the name of the tool.
 */
const outputIn = (response: typeof JsonObject.Type): string => {
  const { content, error, name, output = error ?? content, ...others } = response
  const isKnown = Object.keys(others).length === 0 && (name === undefined || content !== undefined)
  return isKnown && typeof output === "string" ? output : JSON.stringify(response)
}

const imagesIn = ({ fileData, inlineData }: Part): ReadonlyArray<Transcript.File> =>
  inlineData !== undefined
    ? [{ mediaType: inlineData.mimeType, base64: inlineData.data }]
    : fileData !== undefined
    ? [{ url: fileData.fileUri }]
    : []
