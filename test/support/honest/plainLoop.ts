/**
 * The loop that everybody writes first, over the protocol of Chat Completions: ask the model, run its calls, append what they
 * return or throw, ask again. It does not know this library.
 */
import type { PlainTool } from "./plainTool.ts"

interface Call {
  readonly id: string
  readonly function: { readonly name: string; readonly arguments: string }
}

interface Message {
  readonly role: string
  readonly content: string | null
  readonly tool_calls?: ReadonlyArray<Call>
  readonly tool_call_id?: string
}

const maxReplies = 50

/** Returns the model's answer and the number of its replies. */
export const plainLoop = async (
  url: string,
  tools: ReadonlyArray<PlainTool>,
  question: string
): Promise<{ readonly answer: string; readonly replies: number }> => {
  const messages: Array<Message> = [{ role: "user", content: question }]
  for (let replies = 1; replies <= maxReplies; replies++) {
    const message = await ask(url, tools, messages)
    const calls = message.tool_calls ?? []
    if (calls.length === 0) return { answer: message.content ?? "", replies }
    messages.push({ role: "assistant", content: message.content, tool_calls: calls })
    for (const call of calls) {
      messages.push({ role: "tool", tool_call_id: call.id, content: await resultOf(call, tools) })
    }
  }
  return { answer: `No answer after ${maxReplies} replies.`, replies: maxReplies }
}

const ask = async (
  url: string,
  tools: ReadonlyArray<PlainTool>,
  messages: ReadonlyArray<Message>
): Promise<Message> => {
  const response = await fetch(`${url}/v1/chat/completions`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({
      model: "any",
      messages,
      tools: tools.map(({ description, name }) => ({
        type: "function",
        function: { name, description, parameters: { type: "object" } }
      }))
    })
  })
  const completion = await response.json() as { readonly choices: ReadonlyArray<{ readonly message: Message }> }
  return completion.choices[0]!.message
}

const resultOf = async (call: Call, tools: ReadonlyArray<PlainTool>): Promise<string> => {
  try {
    const tool = tools.find(({ name }) => name === call.function.name)
    if (tool === undefined) return `There is no tool ${call.function.name}.`
    return JSON.stringify(await tool.run(JSON.parse(call.function.arguments || "{}"))) ?? "undefined"
  } catch (error) {
    return String(error)
  }
}
