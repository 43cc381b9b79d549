/*
 * Makes one tool of ours from one of the AI SDK. Tools of an MCP client have no types, so each field is read with care.
 */
import { demandKnown, type Names } from "@fallible/arguments/internal"
import { type Policy, Tool, ToolCall, type ToolFailure, Transcript } from "@fallible/core"
import type { FlexibleSchema } from "ai"
import * as Effect from "effect/Effect"
import * as Predicate from "effect/Predicate"
import * as Schema from "effect/Schema"
import { type Fields, fieldsOf, silence, textAt, written } from "../untyped.ts"
import { callOptions, executionOptions } from "./executionOptions.ts"
import { tellOutput } from "./modelOutput.ts"
import { inputOf, outputOf } from "./theirSchema.ts"

/**
 * What the AI SDK does not say of a tool: whether it acts, which of its calls mean the same, and the policies around it.
 *
 * @category models
 * @since 0.1.0
 */
export interface ToolOptions<in out Input, in out Output>
  extends
    Omit<Tool.Definition<Output, Input>, "description" | "parameters" | "success" | "uninterruptible">,
    Omit<ToolFailure.FromOptions, "reads">
{
  /** The schema of the result. Default: the `outputSchema` of the tool, or else any result. */
  readonly success?: Tool.Definition<Output>["success"]
  /** The policies around the tool, innermost first. Default: those of its agent. */
  readonly policies?: ReadonlyArray<Policy.Any>
  /** What `execute` gets as its `context`. A tool with a `contextSchema` needs it. Default: none. */
  readonly context?: unknown
}

type AnyTool = Tool.Tool<string, unknown, unknown, ToolFailure.ToolFailure, unknown>

/** Makes a tool of ours. Throws a `TypeError` that says why, if it cannot be used. */
export const toolOf = (name: string, theirs: unknown, options: Fields): Tool.Any => {
  if (!Predicate.isObject(theirs)) throw new TypeError(`'${name}' is not a tool of the AI SDK.`)
  demandKnown(`The tool '${name}'`, options, names)
  const { context, policies = [], success = resultOf(name, theirs), ...declared } = options
  const why = whyNot(theirs, context)
  if (why !== undefined) throw new TypeError(`The tool '${name}' ${why}`)
  const { execute, inputSchema, needsApproval } = theirs
  const definition = asDefinition({
    ...declared,
    success,
    description: descriptionOf(theirs, context),
    ...(inputSchema === undefined
      ? {}
      : { parameters: inputOf(`The input schema of '${name}'`, asSchema(inputSchema)) })
  })
  const tool: AnyTool = isFunction(execute)
    ? Tool.promise(name, definition, (input, call) => execution(theirs, execute, input, call, context))
    : Tool.client(name, definition)
  const approving = needsApproval === undefined || needsApproval === false
    ? tool
    : Tool.approve(tool, predicateOf(needsApproval, context))
  return asPolicies(policies).reduce<AnyTool>((tool, policy) => Tool.with(tool, policy), approving)
}

const names: Names<ToolOptions<unknown, unknown>> = {
  acts: true,
  asOf: true,
  check: true,
  concurrent: true,
  context: true,
  empty: true,
  failed: true,
  failureLimit: true,
  freshness: true,
  identity: true,
  instead: true,
  invariants: true,
  joins: true,
  onMismatch: true,
  pages: true,
  policies: true,
  poll: true,
  refuses: true,
  refusesFirst: true,
  repeats: true,
  settles: true,
  sideEffect: true,
  size: true,
  success: true,
  tell: true,
  volatile: true
}

const whyNot = (
  { contextSchema, execute, inputSchema, isProviderExecuted, parameters, type }: Fields,
  context: unknown
): string | undefined => {
  if (type === "provider") {
    return isProviderExecuted === false
      ? "is defined by a provider, whose model knows it by another name. Write a tool with the same 'execute'."
      : "is run by its provider. Pass it to the model: AiSdk.layer(model, { providerTools })."
  }
  if (inputSchema === undefined && parameters !== undefined) {
    return "has 'parameters'. Since version 5 of the AI SDK, these are its 'inputSchema'."
  }
  if (execute !== undefined && !isFunction(execute)) return "has an 'execute' that is not a function."
  return contextSchema !== undefined && context === undefined
    ? "has a 'contextSchema', so it needs a 'context' among its options."
    : undefined
}

const resultOf = (name: string, { outputSchema }: Fields): unknown =>
  outputSchema === undefined ? Schema.Unknown : outputOf(`The output schema of '${name}'`, asSchema(outputSchema))

const descriptionOf = ({ description, inputExamples }: Fields, context: unknown): string => {
  const text = isFunction(description) ? description({ context }) : description
  silence(text)
  const examples = (Array.isArray(inputExamples) ? inputExamples : []).map((example) =>
    JSON.stringify(fieldsOf(example)["input"])
  )
  return [
    ...(typeof text === "string" ? [text] : []),
    ...(examples.length === 0 ? [] : [`Examples: ${examples.join(" ")}`])
  ]
    .join("\n")
}

const predicateOf = (needsApproval: unknown, context: unknown) =>
  !isFunction(needsApproval) ? undefined : (input: unknown) =>
    Effect.gen(function*() {
      const { id } = yield* ToolCall.current
      const transcript = yield* Transcript.current
      const options = callOptions({ id, transcript: () => transcript, context })
      // What is not a plain `false` needs an approval.
      return (yield* Effect.tryPromise(async () => needsApproval(input, options))) !== false
    })

const execution = async (
  theirs: Fields,
  execute: AnyFunction,
  input: unknown,
  call: Tool.PromiseCall,
  context: unknown
): Promise<unknown> => {
  const options = executionOptions(call, context)
  for (const hook of [theirs["onInputStart"], theirs["onInputAvailable"]]) {
    if (isFunction(hook)) await hook({ ...options, input })
  }
  const output = await lastOf(execute(input, options), call)
  const failure = failureIn(output)
  if (failure !== undefined) throw new Error(failure)
  await told(theirs, input, output, call)
  return output
}

// A tool that yields shows what it has so far. Its last value is its result.
const lastOf = async (started: unknown, call: Tool.PromiseCall): Promise<unknown> => {
  // An async function may return a generator, which does nothing by itself.
  const result = await started
  if (!isIterable(result)) return result
  let last: unknown
  for await (const output of result) {
    last = output
    call.progress(output)
    // Nobody waits for the rest.
    call.signal.throwIfAborted()
  }
  return last
}

// An MCP server reports a failure as a result. Its words are no proof that nothing was done.
const failureIn = (output: unknown): string | undefined => {
  const { content, isError, structuredContent } = fieldsOf(output)
  if (isError !== true || !Array.isArray(content) && structuredContent === undefined) return undefined
  const text = Array.isArray(content) ? content.flatMap((part) => textAt(part, "text") ?? []).join("\n") : ""
  if (text !== "") return text
  return structuredContent === undefined
    ? "The tool reported a failure, without words."
    : `The tool reported a failure: ${written(structuredContent)}`
}

// The tool has its result by then, so what fails here must not make a failure of it.
const told = async (
  { toModelOutput }: Fields,
  input: unknown,
  output: unknown,
  call: Tool.PromiseCall
): Promise<void> => {
  if (!isFunction(toModelOutput)) return
  try {
    tellOutput(call, await toModelOutput({ toolCallId: call.id, input, output }), output)
  } catch {
    // What the function would have left out, the model must not read.
    call.tell("The call has its result, but no words for it: its toModelOutput failed.")
  }
}

type AnyFunction = (...args: ReadonlyArray<unknown>) => unknown

const isFunction = (value: unknown): value is AnyFunction => typeof value === "function"

const isIterable = (value: unknown): value is AsyncIterable<unknown> =>
  Predicate.isObject(value) && typeof Reflect.get(value, Symbol.asyncIterator) === "function"

// What is wrong in a definition, the constructor says.
const asDefinition = (definition: Fields) => definition as Fields & Tool.Definition<unknown, unknown>

const asSchema = (schema: unknown) => schema as FlexibleSchema<unknown>

const asPolicies = (policies: unknown) => policies as ReadonlyArray<Policy.Any>
