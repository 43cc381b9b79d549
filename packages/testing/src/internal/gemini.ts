/** Google's Gemini API, from the server's side. */
import type { Model, Toolkit } from "@fallible/core"
import * as Duration from "effect/Duration"
import * as Option from "effect/Option"
import * as Predicate from "effect/Predicate"
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import { othersIn } from "./chatCompletions.ts"
import { type Format, pieces } from "./format.ts"
import * as Conversation from "./geminiConversation.ts"
import { parse } from "./json.ts"
import { countsOf, ownOf, sign } from "./scriptedReply.ts"
import { type Fault, inBrackets, strictly } from "./strictly.ts"

// -----------------------------------------------------------------------------
// Requests
// -----------------------------------------------------------------------------

const anything = Schema.optionalKey(Schema.Unknown)

const names = (...keys: ReadonlyArray<string>): Record<string, typeof anything> =>
  Object.fromEntries(keys.map((key) => [key, anything]))

/** The subset of OpenAPI in which `parameters` may be written. Any other field is unknown. */
const Parameters: Schema.Codec<object, unknown> = Schema.suspend(() =>
  Schema.Struct({
    ...names("title", "description", "format", "nullable", "default", "example", "pattern", "minimum", "maximum"),
    ...names("minItems", "maxItems", "minLength", "maxLength", "minProperties", "maxProperties"),
    type: Schema.optionalKey(Schema.String),
    enum: Schema.optionalKey(Schema.Array(Schema.String)),
    required: Schema.optionalKey(Schema.Array(Schema.String)),
    propertyOrdering: Schema.optionalKey(Schema.Array(Schema.String)),
    properties: Schema.optionalKey(Schema.Record(Schema.String, Parameters)),
    items: Schema.optionalKey(Parameters),
    anyOf: Schema.optionalKey(Schema.Array(Parameters))
  })
)

const Declaration = Schema.Struct({
  name: Conversation.Name,
  description: Schema.optionalKey(Schema.String),
  parameters: Schema.optionalKey(Parameters),
  parametersJsonSchema: anything
})

const Request = Schema.Struct({
  contents: Schema.Array(Conversation.Content),
  systemInstruction: Schema.optionalKey(Conversation.Content),
  tools: Schema.optionalKey(Schema.Array(
    Schema.Struct({ functionDeclarations: Schema.optionalKey(Schema.Array(Declaration)) })
  )),
  toolConfig: Schema.optionalKey(Schema.Struct({
    functionCallingConfig: Schema.optionalKey(Schema.Struct({
      mode: Schema.optionalKey(Schema.Literals(["AUTO", "ANY", "NONE", "VALIDATED"])),
      allowedFunctionNames: Schema.optionalKey(Schema.Array(Schema.String))
    }))
  })),
  generationConfig: Schema.optionalKey(Schema.Struct({
    temperature: Schema.optionalKey(Schema.Finite.check(Schema.isBetween({ minimum: 0, maximum: 2 }))),
    maxOutputTokens: Schema.optionalKey(Schema.Int.check(Schema.isGreaterThan(0))),
    thinkingConfig: Schema.optionalKey(Schema.Struct(names("includeThoughts", "thinkingBudget", "thinkingLevel"))),
    ...names("topP", "topK", "stopSequences", "candidateCount", "seed", "presencePenalty", "frequencyPenalty"),
    ...names("responseMimeType", "responseSchema", "responseJsonSchema", "responseModalities", "mediaResolution")
  })),
  ...names("safetySettings", "cachedContent")
})

type Request = typeof Request.Type

const decodeRequest = strictly(Request)

// The other fields are of this provider alone.
const portFields = new Set(["contents", "systemInstruction", "tools", "toolConfig", "generationConfig"])

const decode = (issued: ReadonlySet<string>): Format["decode"] => (body, { url }) =>
  Result.match(decodeRequest(body), {
    onFailure: faultText,
    onSuccess: (request) => {
      const { contents, systemInstruction: system } = request
      const isStreamed = url.includes(":streamGenerateContent")
      if (isStreamed && !url.includes("alt=sse")) return "The server streams only with alt=sse."
      return requestProblem(request) ?? Conversation.problemIn(contents, issued) ?? {
        messages: [
          ...(system === undefined ? [] : [{ role: "system" as const, text: Conversation.textOf(system) }]),
          ...Conversation.transcriptOf(contents)
        ],
        tools: declarationsIn(request).map(definitionOf),
        options: optionsOf(request, body),
        wishes: { stream: isStreamed, usage: true }
      }
    }
  })

const faultText = ({ kind, message, path }: Fault): string => {
  const at = (path: Fault["path"]) =>
    inBrackets(path.map((key) => String(key).replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)).map(indexed))
  if (kind !== "unknown") return `Invalid value at '${at(path)}': ${kind === "missing" ? "it is required" : message}`
  const place = path.length === 1 ? "" : ` at '${at(path.slice(0, -1))}'`
  return `Invalid JSON payload received. Unknown name "${path.at(-1)}"${place}: Cannot find field.`
}

const indexed = (key: string): string | number => /^\d+$/.test(key) ? Number(key) : key

const declarationsIn = ({ tools = [] }: Request) =>
  tools.flatMap(({ functionDeclarations = [] }) => functionDeclarations)

const requestProblem = (request: Request): string | undefined => {
  if (request.contents.length === 0) return "* GenerateContentRequest.contents: contents is not specified"
  const declared = declarationsIn(request).map(({ name }) => name)
  const twice = declared.find((name, index) => declared.indexOf(name) < index)
  if (twice !== undefined) return `Duplicate function declaration found: ${twice}`
  const { allowedFunctionNames: allowed = [], mode } = request.toolConfig?.functionCallingConfig ?? {}
  if (mode === "ANY" && declared.length === 0) return "Function calling config is set without function_declarations."
  if (allowed.length > 0 && mode !== "ANY" && mode !== "VALIDATED") {
    return "Allowed function names should only be set when function calling mode is ANY."
  }
  const unknown = allowed.find((name) => !declared.includes(name))
  return unknown === undefined ? undefined : `Allowed function name '${unknown}' is not in function_declarations.`
}

const definitionOf = (declaration: typeof Declaration.Type): Toolkit.Definition => {
  const { description = "", name, parameters, parametersJsonSchema: schema = parameters } = declaration
  return { name, description, parameters: Predicate.isObject(schema) ? schema : {} }
}

const optionsOf = (request: Request, body: unknown): Model.Options => {
  const { maxOutputTokens: maxTokens, temperature, ...config } = request.generationConfig ?? {}
  const { allowedFunctionNames: [only] = [], mode } = request.toolConfig?.functionCallingConfig ?? {}
  const toolChoice = mode === "ANY"
    ? only === undefined ? "required" : { tool: only }
    : mode === "NONE"
    ? "none"
    : "auto"
  const generationConfig = othersIn(config, new Set()).provider
  const provider = {
    ...othersIn(body, portFields).provider,
    ...(generationConfig === undefined ? {} : { generationConfig })
  }
  return {
    ...(temperature === undefined ? {} : { temperature }),
    ...(maxTokens === undefined ? {} : { maxTokens }),
    ...(mode === undefined ? {} : { toolChoice }),
    ...(Object.keys(provider).length === 0 ? {} : { provider })
  }
}

// -----------------------------------------------------------------------------
// Replies
// -----------------------------------------------------------------------------

/** A part of a reply: whole, and as it is streamed. */
interface Part {
  readonly whole: string
  readonly deltas: ReadonlyArray<string>
}

const thoughtPart = (text: string): Part => ({
  whole: JSON.stringify({ text, thought: true }),
  deltas: pieces(text).map((text) => JSON.stringify({ text, thought: true }))
})

/** The signature comes in the last piece, which is empty. */
const textPart = (text: string, signature: object): Part => ({
  whole: JSON.stringify({ text, ...signature }),
  deltas: [
    ...pieces(text).map((text) => JSON.stringify({ text })),
    ...(Object.keys(signature).length === 0 ? [] : [JSON.stringify({ text: "", ...signature })])
  ]
})

const onePart = (whole: string): Part => ({ whole, deltas: [whole] })

// Writes the argument text unchanged.
const callPart = ({ arguments: text, id, name }: Model.Reply["calls"][number], signature: object): Part => {
  const fields = JSON.stringify({ id, name })
  const call = text === undefined ? fields : fields.replace(/\}$/, `,"args":${text}}`)
  return onePart(
    JSON.stringify(signature).replace(/^\{/, `{"functionCall":${call}${"thoughtSignature" in signature ? "," : ""}`)
  )
}

/** Returns the arguments of a call; none if they cannot be written as an object. */
const argumentsOf = ({ arguments: text }: Model.Reply["calls"][number]) =>
  Option.filter(parse(text ?? "{}"), Predicate.isObject)

const malformedCall = ({ calls }: Model.Reply) => calls.find((call) => Option.isNone(argumentsOf(call)))

const partsOf = (reply: Model.Reply, issued: Set<string>): ReadonlyArray<Part> => {
  const reasoning = reply.reasoning
  const [first, ...others] = malformedCall(reply) === undefined ? reply.calls : []
  const signature = first === undefined
    ? sign(reply.text)
    : Conversation.signatureOf(first.name, Option.getOrUndefined(argumentsOf(first)))
  if (reasoning !== undefined && first !== undefined) issued.add(signature)
  const signed = reasoning === undefined ? {} : { thoughtSignature: signature }
  return [
    ...(reasoning === undefined || reasoning === "" ? [] : [thoughtPart(reasoning)]),
    ...ownOf(reply, "gemini").before.map((part) => onePart(JSON.stringify(part))),
    ...(reply.text === "" ? [] : [textPart(reply.text, first === undefined ? signed : {})]),
    // Of several calls, only the first has the signature.
    ...(first === undefined ? [] : [callPart(first, signed)]),
    ...others.map((call) => callPart(call, {}))
  ]
}

const endingOf = (reply: Model.Reply): object => {
  const malformed = malformedCall(reply)
  return {
    ...(malformed === undefined ? { finishReason: reply.truncated === true ? "MAX_TOKENS" : "STOP" } : {
      finishReason: "MALFORMED_FUNCTION_CALL",
      finishMessage: `Malformed function call: ${malformed.name}(${malformed.arguments})`
    }),
    ...ownOf(reply, "gemini").fields
  }
}

const usageOf = (reply: Model.Reply) => {
  const counts = countsOf(reply)
  return counts === undefined ? undefined : {
    promptTokenCount: counts.input,
    candidatesTokenCount: counts.output - counts.reasoning,
    totalTokenCount: counts.input + counts.output,
    ...(counts.cached === 0 ? {} : { cachedContentTokenCount: counts.cached }),
    ...(counts.reasoning === 0 ? {} : { thoughtsTokenCount: counts.reasoning })
  }
}

const response = (parts: ReadonlyArray<string>, ending: object, usageMetadata: object | undefined): string => {
  const text = JSON.stringify({
    candidates: [{ index: 0, ...ending }],
    usageMetadata,
    modelVersion: "fake",
    responseId: "response_1"
  })
  // The arguments in a part may have a form that no value keeps.
  const content = parts.length === 0 ? "{\"role\":\"model\"}" : `{"role":"model","parts":[${parts.join()}]}`
  return `{"candidates":[{"content":${content},${text.slice("{\"candidates\":[{".length)}`
}

const whole = (issued: Set<string>): Format["whole"] => (reply) =>
  response(partsOf(reply, issued).map(({ whole }) => whole), endingOf(reply), usageOf(reply))

const streamed = (issued: Set<string>): Format["streamed"] => (reply) => {
  const usage = usageOf(reply)
  // Every piece has a usage, which grows.
  const early = usage === undefined
    ? undefined
    : { promptTokenCount: usage.promptTokenCount, totalTokenCount: usage.promptTokenCount }
  return [
    ...partsOf(reply, issued).flatMap(({ deltas }) => deltas).map((part) => response([part], {}, early)),
    response([], endingOf(reply), usage)
  ].map(frame)
}

const frame: Format["frame"] = (data) => `data: ${data}\r\n\r\n`

const problem: Format["problem"] = ({ code, detail, retryAfter }, status) =>
  JSON.stringify({
    error: {
      code: status,
      message: sayings.get(code)?.(detail) ?? detail,
      status: statuses.get(status) ?? (status < 500 ? "INVALID_ARGUMENT" : "INTERNAL"),
      details: [
        ...(code === "permission_denied" && status === 400
          ? [{ "@type": `${rpc}.ErrorInfo`, reason: "API_KEY_INVALID", domain: "googleapis.com" }]
          : []),
        ...(retryAfter === undefined
          ? []
          : [{ "@type": `${rpc}.RetryInfo`, retryDelay: `${Duration.toSeconds(retryAfter)}s` }])
      ]
    }
  })

const rpc = "type.googleapis.com/google.rpc"

const statuses: ReadonlyMap<number, string> = new Map([
  [401, "UNAUTHENTICATED"],
  [403, "PERMISSION_DENIED"],
  [404, "NOT_FOUND"],
  [429, "RESOURCE_EXHAUSTED"],
  [501, "UNIMPLEMENTED"],
  [503, "UNAVAILABLE"],
  [504, "DEADLINE_EXCEEDED"]
])

const sayings: ReadonlyMap<string, (detail: string) => string> = new Map([
  [
    "context_overflow",
    (detail: string) => `The input token count exceeds the maximum number of tokens allowed: ${detail}`
  ],
  ["permission_denied", (detail: string) => `API key not valid. Please pass a valid API key. ${detail}`],
  [
    "quota_exhausted",
    (detail: string) => `You exceeded your current quota, please check your plan and billing details. ${detail}`
  ],
  [
    "unknown_model",
    (detail: string) =>
      `models/any is not found for API version v1beta, or is not supported for generateContent. ${detail}`
  ]
])

const refusal = (text: string): Model.Reply => ({
  text: "",
  calls: [],
  native: { gemini: { finishReason: "SAFETY", finishMessage: text } }
})

/** A server of this format remembers the signatures of its calls, so that it misses them. */
export const gemini = (): Format => {
  const issued = new Set<string>()
  return {
    name: "gemini",
    path: /^\/v1(beta)?\/models\/[^/:]+:(generateContent|streamGenerateContent)$/,
    keyHeader: "x-goog-api-key",
    decode: decode(issued),
    whole: whole(issued),
    streamed: streamed(issued),
    frame,
    streamType: "text/event-stream",
    refusal,
    statuses: new Map([["permission_denied", 400]]),
    problem
  }
}
