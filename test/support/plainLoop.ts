/**
 * The agent loop that everybody writes first, without this library: it sends the history, runs each call by its handler,
 * and appends what the handler returned, or its error's message. A reply without calls is the answer.
 */

/** A tool of the loop: what the model is told of it, and its function. */
export interface PlainHandler {
  readonly name: string
  readonly description: string
  /** The JSON Schema of the arguments. */
  readonly parameters: object
  readonly run: (args: unknown) => Promise<unknown>
}

/** How a run of the loop ended. */
export interface PlainAnswer {
  /** Absent if the loop ended at its limit of turns, or if the model's server refused a request. */
  readonly text: string | undefined
  /** All messages, as they were sent. */
  readonly messages: ReadonlyArray<object>
}

interface Call {
  readonly id: string
  readonly function: { readonly name: string; readonly arguments: string }
}

interface Completion {
  readonly choices: ReadonlyArray<{
    readonly message: { readonly content: string | null; readonly tool_calls?: ReadonlyArray<Call> }
  }>
}

/** Runs the loop on a question, over Chat Completions. */
export const plainLoop = async (
  url: string,
  tools: ReadonlyArray<PlainHandler>,
  question: string,
  turns = 50
): Promise<PlainAnswer> => {
  const messages: Array<object> = [{ role: "user", content: question }]
  for (let turn = 0; turn < turns; turn++) {
    const response = await fetch(`${url}/v1/chat/completions`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ model: "any", messages, ...offered(tools) })
    })
    if (!response.ok) return { text: undefined, messages }
    const message = (await response.json() as Completion).choices[0]!.message
    // The call ids of a model may repeat in every turn, and its server wants to know which result is whose.
    messages.push({ role: "assistant", content: message.content, ...callsOf(message.tool_calls) })
    if (message.tool_calls === undefined) return { text: message.content ?? "", messages }
    const results = message.tool_calls.map(async (call) => ({
      role: "tool",
      tool_call_id: call.id,
      content: await resultOf(tools, call)
    }))
    messages.push(...await Promise.all(results))
  }
  return { text: undefined, messages }
}

const offered = (tools: ReadonlyArray<PlainHandler>) =>
  tools.length === 0 ? {} : {
    tools: tools.map(({ description, name, parameters }) => ({
      type: "function",
      function: { name, description, parameters }
    }))
  }

const callsOf = (calls: ReadonlyArray<Call> | undefined) => calls === undefined ? {} : { tool_calls: calls }

const resultOf = async (tools: ReadonlyArray<PlainHandler>, call: Call): Promise<string> => {
  try {
    const tool = tools.find(({ name }) => name === call.function.name)
    if (tool === undefined) return `Error: there is no tool '${call.function.name}'`
    const result: unknown = await tool.run(JSON.parse(call.function.arguments || "{}"))
    // A message needs a content, and `undefined` has no JSON.
    return JSON.stringify(result) ?? ""
  } catch (error) {
    return `Error: ${error instanceof Error ? error.message : String(error)}`
  }
}
