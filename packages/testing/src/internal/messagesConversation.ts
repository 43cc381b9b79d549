/** The conversation in a request of Anthropic's Messages API: its form and its rules. */
import type { Transcript } from "@fallible/core"
import * as Schema from "effect/Schema"
import { firstProblem } from "./messageHistory.ts"
import { sign } from "./scriptedReply.ts"

// -----------------------------------------------------------------------------
// Form
// -----------------------------------------------------------------------------

const CacheControl = Schema.Struct({
  type: Schema.Literal("ephemeral"),
  ttl: Schema.optionalKey(Schema.Literals(["5m", "1h"]))
})

/** The field of everything that can end a cached prefix. */
export const cacheable = { cache_control: Schema.optionalKey(Schema.NullOr(CacheControl)) }

/** A name that the real server accepts. */
export const ToolName = Schema.String.check(Schema.isPattern(/^[a-zA-Z0-9_-]{1,128}$/))

export const Text = Schema.Struct({
  type: Schema.Literal("text"),
  text: Schema.String,
  citations: Schema.optionalKey(Schema.NullOr(Schema.Array(Schema.Unknown))),
  ...cacheable
})

const Url = Schema.Struct({ type: Schema.Literal("url"), url: Schema.NonEmptyString })

const Picture = Schema.Struct({
  type: Schema.Literal("image"),
  source: Schema.Union([
    Schema.Struct({
      type: Schema.Literal("base64"),
      media_type: Schema.Literals(["image/jpeg", "image/png", "image/gif", "image/webp"]),
      data: Schema.NonEmptyString
    }),
    Url
  ]),
  ...cacheable
})

const Document = Schema.Struct({
  type: Schema.Literal("document"),
  source: Schema.Union([
    Schema.Struct({
      type: Schema.Literal("base64"),
      media_type: Schema.Literal("application/pdf"),
      data: Schema.NonEmptyString
    }),
    Schema.Struct({ type: Schema.Literal("text"), media_type: Schema.Literal("text/plain"), data: Schema.String }),
    Url
  ]),
  title: Schema.optionalKey(Schema.NullOr(Schema.String)),
  context: Schema.optionalKey(Schema.NullOr(Schema.String)),
  citations: Schema.optionalKey(Schema.NullOr(Schema.Struct({ enabled: Schema.optionalKey(Schema.Boolean) }))),
  ...cacheable
})

const Id = Schema.String.check(Schema.isPattern(/^[a-zA-Z0-9_-]+$/))

const Block = Schema.Union([
  Text,
  Picture,
  Document,
  Schema.Struct({ type: Schema.Literal("thinking"), thinking: Schema.String, signature: Schema.String }),
  Schema.Struct({ type: Schema.Literal("redacted_thinking"), data: Schema.String }),
  Schema.Struct({
    type: Schema.Literal("tool_use"),
    id: Id,
    name: ToolName,
    input: Schema.Record(Schema.String, Schema.Unknown),
    caller: Schema.optionalKey(Schema.Unknown),
    ...cacheable
  }),
  Schema.Struct({
    type: Schema.Literal("tool_result"),
    tool_use_id: Id,
    content: Schema.optionalKey(
      Schema.Union([Schema.String, Schema.Array(Schema.Union([Text, Picture, Document]))])
    ),
    is_error: Schema.optionalKey(Schema.Boolean),
    ...cacheable
  })
])

type Block = typeof Block.Type
type ToolUse = Extract<Block, { readonly type: "tool_use" }>
type ToolResult = Extract<Block, { readonly type: "tool_result" }>

export const Message = Schema.Struct({
  role: Schema.Literals(["user", "assistant"]),
  content: Schema.Union([Schema.String, Schema.Array(Block)])
})

/** The messages of one role that follow each other, as one. */
export interface Turn {
  readonly role: "user" | "assistant"
  readonly content: ReadonlyArray<Block>
  /** The index of the first of its messages. */
  readonly at: number
}

/** Joins messages of one role that follow each other, as the real server does. */
export const turnsOf = (messages: ReadonlyArray<typeof Message.Type>): ReadonlyArray<Turn> => {
  const turns: Array<Turn> = []
  for (const [at, { content, role }] of messages.entries()) {
    const blocks = typeof content !== "string" ? content : content === "" ? [] : [textOf(content)]
    const last = turns.at(-1)
    if (last?.role === role) turns.splice(-1, 1, { ...last, content: [...last.content, ...blocks] })
    else turns.push({ role, content: blocks, at })
  }
  return turns
}

const textOf = (text: string): Block => ({ type: "text", text })

const usesOf = (turn: Turn | undefined): ReadonlyArray<ToolUse> =>
  turn?.content.filter((block) => block.type === "tool_use") ?? []

const resultsOf = (turn: Turn | undefined): ReadonlyArray<ToolResult> =>
  turn?.content.filter((block) => block.type === "tool_result") ?? []

/** How many blocks of a conversation end a cached prefix. */
export const breakpointsIn = (turns: ReadonlyArray<Turn>): number =>
  turns.flatMap(({ content }) => content)
    .flatMap((block) =>
      block.type === "tool_result" && typeof block.content === "object" ? [block, ...block.content] : [block]
    )
    .filter((block) => "cache_control" in block && block.cache_control !== null).length

// -----------------------------------------------------------------------------
// Rules
// -----------------------------------------------------------------------------

/**
 * Returns what is wrong with a conversation, in the words of the real server.
 *
 * @param mustThink whether the last turn with calls must begin with its thinking
 */
export const problemIn = (turns: ReadonlyArray<Turn>, mustThink: boolean): string | undefined => {
  if (turns[0]?.role !== "user") return "messages: first message must use the \"user\" role"
  const problem = firstProblem(turns, (turn, index) =>
    contentProblem(turn, index === turns.length - 1) ??
      resultProblem(turn, turns[index - 1]) ??
      useProblem(turn, turns[index + 1]))
  return problem ?? (mustThink ? thinkingProblem(turns) : undefined)
}

const contentProblem = ({ at, content, role }: Turn, isLast: boolean): string | undefined => {
  const isPrefill = isLast && role === "assistant"
  if (content.length === 0 && !isPrefill) {
    return `messages.${at}: all messages must have non-empty content except for the optional final assistant message`
  }
  const problem = firstProblem(content, (block, index) => {
    const problem = blockProblem(block, role)
    return problem?.startsWith(":") ? `messages.${at}.content.${index}${problem}` : problem
  })
  if (problem !== undefined) return problem
  const last = content.at(-1)
  return isPrefill && last?.type === "text" && last.text !== last.text.trimEnd()
    ? "messages: final assistant content cannot end with trailing whitespace"
    : undefined
}

// A problem that begins with a colon is about one block, and the others are about all messages.
const blockProblem = (block: Block, role: Turn["role"]): string | undefined => {
  switch (block.type) {
    case "text":
      if (block.text === "") return "messages: text content blocks must be non-empty"
      return block.text.trim() === "" ? "messages: text content blocks must contain non-whitespace text" : undefined
    case "tool_use":
    case "redacted_thinking":
      return misplaced(block, role, "assistant")
    case "thinking":
      return misplaced(block, role, "assistant") ??
        (block.signature === sign(block.thinking) ? undefined : ": Invalid `signature` in `thinking` block")
    case "tool_result":
      return misplaced(block, role, "user") ?? (isPlainError(block)
        ? undefined
        : ": When `is_error` is true, all content must be type `text`")
    case "image":
    case "document":
      return undefined
  }
}

const misplaced = ({ type }: Block, role: Turn["role"], wanted: Turn["role"]): string | undefined =>
  role === wanted ? undefined : `: \`${type}\` blocks can only be in \`${wanted}\` messages`

const isPlainError = ({ content, is_error }: ToolResult): boolean =>
  is_error !== true || typeof content !== "object" || content.every(({ type }) => type === "text")

const resultProblem = (turn: Turn, previous: Turn | undefined): string | undefined => {
  const known = new Set(usesOf(previous).map(({ id }) => id))
  const answered = new Set<string>()
  const at = `messages.${turn.at}.content`
  return firstProblem(resultsOf(turn), ({ tool_use_id: id }) => {
    if (!known.has(id)) {
      return `${at}: unexpected \`tool_use_id\` found in \`tool_result\` blocks: ${id}. ` +
        "Each `tool_result` block must have a corresponding `tool_use` block in the previous message."
    }
    if (answered.has(id)) {
      return `${at}: each tool_use must have a single result. Found multiple \`tool_result\` blocks with id: ${id}`
    }
    answered.add(id)
    return undefined
  })
}

const useProblem = (turn: Turn, next: Turn | undefined): string | undefined => {
  const ids = usesOf(turn).map(({ id }) => id)
  if (new Set(ids).size < ids.length) return "messages: `tool_use` ids must be unique"
  // Results after other content do not count.
  const first = next?.content.findIndex(({ type }) => type !== "tool_result") ?? 0
  const results = resultsOf(next).slice(0, first < 0 ? undefined : first)
  const open = ids.filter((id) => results.every(({ tool_use_id }) => tool_use_id !== id))
  return open.length === 0
    ? undefined
    : `messages.${turn.at}: \`tool_use\` ids were found without \`tool_result\` blocks immediately after: ` +
      `${open.join(", ")}. Each \`tool_use\` block must have a corresponding \`tool_result\` block in the next message.`
}

const thinkingProblem = (turns: ReadonlyArray<Turn>): string | undefined => {
  const last = turns.findLast(({ role }) => role === "assistant")
  const type = last?.content[0]?.type
  if (last === undefined || usesOf(last).length === 0 || type === "thinking" || type === "redacted_thinking") {
    return undefined
  }
  return `messages.${last.at}.content.0.type: Expected \`thinking\` or \`redacted_thinking\`, but found \`${type}\`. ` +
    "When `thinking` is enabled, a final `assistant` message must start with a thinking block " +
    "(preceeding the lastmost set of `tool_use` and `tool_result` blocks)."
}

// -----------------------------------------------------------------------------
// Transcript
// -----------------------------------------------------------------------------

export const transcriptOf = (turns: ReadonlyArray<Turn>): ReadonlyArray<Transcript.Message> => {
  const names = new Map(turns.flatMap(usesOf).map(({ id, name }) => [id, name]))
  return turns.flatMap((turn): ReadonlyArray<Transcript.Message> => {
    const text = joined(turn.content)
    if (turn.role === "assistant") {
      const calls = usesOf(turn).map(({ id, input, name }) => ({ id, name, arguments: JSON.stringify(input) }))
      return [{ role: "assistant", text, calls }]
    }
    const images = turn.content.flatMap((block) => block.type === "image" ? [fileOf(block)] : [])
    const results = resultsOf(turn).map(({ content = "", tool_use_id: id }) => ({
      role: "tool" as const,
      callId: id,
      name: names.get(id) ?? "",
      text: typeof content === "string" ? content : joined(content)
    }))
    if (results.length === turn.content.length) return results
    return [...results, { role: "user", text, ...(images.length === 0 ? {} : { files: images }) }]
  })
}

const joined = (blocks: ReadonlyArray<Block>): string =>
  blocks.flatMap((block) => block.type === "text" ? [block.text] : []).join("")

const fileOf = ({ source }: typeof Picture.Type): Transcript.File =>
  source.type === "url" ? { url: source.url } : { mediaType: source.media_type, base64: source.data }
