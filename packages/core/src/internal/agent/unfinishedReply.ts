/*
 * What a reply without calls looks like if it does not look like an answer: a call that the model wrote as text, or a plan.
 *
 * A model's server turns what the model writes into calls. If it does not know the model's format, or if the model writes
 * another one, the call arrives as text. Weak models also say what they are about to do, and stop.
 *
 * An answer that is taken for something else costs a reply, and has a mark that is not true. So what is doubtful is an
 * answer: an explanation beside a call, or a sentence more than the plan. Only the beginning and the end of a text are read.
 */
import type { LooksLike } from "../../Answer.ts"
import { withoutThought } from "./thought.ts"

/** Returns what a text looks like if it does not look like an answer; `undefined` if it does. `tools` are on offer. */
export const looksLike = (text: string, tools: ReadonlySet<string>): LooksLike | undefined => {
  if (tools.size === 0) return undefined
  const said = withoutThought(text.trim())
  return isCall(said, tools) ? "call_as_text" : isPlan(said, tools) ? "plan" : undefined
}

// -----------------------------------------------------------------------------
// Calls written as text
// -----------------------------------------------------------------------------

interface Format {
  /** The models that write it, or the prompts that ask for it. */
  readonly of: string
  /** How a call begins. The group is the name of its tool. */
  readonly opening: RegExp
}

/** Formats that nothing else looks like. The name of the tool stands somewhere after the opening. */
const marked: ReadonlyArray<Format> = [
  { of: "Hermes, Qwen, GLM, Granite, Jamba, MiniMax, Nemotron", opening: /<(?:\w+[:_])?tool_?calls?>/ },
  { of: "Granite, OLMo, and Anthropic's prompts", opening: /<(?:start_)?function_?calls?>/ },
  { of: "Llama, Qwen3-Coder", opening: /<function=[\w.-]+>/ },
  { of: "Anthropic's prompts, MiniMax", opening: /<(?:\w+:)?invoke name=/ },
  { of: "Llama 3", opening: /<\|python_tag\|>/ },
  {
    of: "Kimi, Phi, LFM, MiniCPM, Cohere, InternLM, Apertus",
    opening: /<\|(?:tool_?calls?|tools_prefix|start_action|action_start)\w*\|?>/
  },
  { of: "DeepSeek, Step", opening: /<｜(?:tool[▁_]|DSML)/ },
  { of: "Mistral, LM Studio", opening: /\[TOOL_(?:CALLS?|REQUEST)\]/ },
  { of: "Phi", opening: /^functools\[/ },
  { of: "Gemma", opening: /```tool_(?:code|calls?)\b/ },
  { of: "gpt-oss", opening: /\bto=functions\.\w/ },
  { of: "ReAct", opening: /^[* \t]*Action[ \t]*:[* \t]*`?\w[^\n]*\n+[* \t]*Action Input[ \t]*:[^\n]*/ }
]

// One pattern is faster than twelve. Models do not write all letters in the case that they were taught.
const mark = new RegExp(marked.map(({ opening }) => opening.source).join("|"), "im")

const argumentKey = /["'](?:arguments|parameters|args|params|input|tool_input|action_input|kwargs)["']\s*:/.source
const nameKey = /["'](?:name|tool|tool_name|function|function_name|action|recipient_name)["']\s*:/.source
const nameText = /\s*["'](?:functions\.)?([\w.-]{1,64})["']/.source
const wrapper =
  /(?:["'](?:tool_calls?|tool_uses|calls|function|function_call|action)["']\s*:\s*[[{]\s*(?:\{\s*)?)?/.source
const firstKeys = /(?:["'](?:type|id|index|tool_call_id)["']\s*:\s*["']?[\w-]{1,60}["']?\s*,\s*)*/.source
const isNoSchema = /(?!\s*\{\s*["'](?:type["']\s*:\s*["']object|properties|\$schema))/.source

/** Formats that data and code can have, too. So the tool must be on offer, and hardly anything may stand beside the call. */
const plain: ReadonlyArray<Format> = [
  {
    of: "JSON: most models",
    opening: new RegExp(
      `^[ \\t]*(?:\\[\\s*)?\\{\\s*${wrapper}${firstKeys}${wrapper}${nameKey}${nameText}\\s*,\\s*${argumentKey}${isNoSchema}`,
      "m"
    )
  },
  {
    of: "JSON, in another order",
    opening: new RegExp(
      `^[ \\t]*(?:\\[\\s*)?\\{\\s*${argumentKey}${isNoSchema}\\s*\\{[^]{0,600}?\\}\\s*,\\s*${nameKey}${nameText}\\s*\\}`,
      "m"
    )
  },
  {
    of: "Python: Llama 4, Gemma, OLMo",
    opening:
      /^[ \t]*\[?(?:print\()?(?:functions\.|default_api\.|tools?\.)?([A-Za-z_][\w-]{0,63})\((?=\s*(?:\)|["'{[\d]|\w+\s*[=:]))/m
  },
  {
    of: "a name and JSON: Mistral, Kimi",
    opening: /^[ \t]*(?:functions\.)?([A-Za-z_][\w-]{0,63})(?:(?::\d{1,3}|\[ARGS\])\s*)?\{(?=\s*["'}])/m
  },
  {
    of: "a label and a name",
    opening:
      /^[ \t]*[[*(]{0,2}(?:(?:tool|function)[ _]?(?:call|use)|call(?:ing)?(?: the)?(?: tool| function)?)[*\s:]{1,4}[`"'*]{0,2}([A-Za-z_][\w-]{0,63})[`"'*]{0,2}(?=\s*(?:[({\]]|with \{|$))/im
  }
]

/** The most characters before a call. */
const maxLead = 300

/** How many characters of the beginning and of the end are read. */
const read = { head: 1200, tail: 600 }

const isCall = (text: string, tools: ReadonlySet<string>): boolean => {
  const head = text.slice(0, read.head)
  return isMarkedCall(text, mark.exec(head), tools) ||
    plain.some(({ opening }) => isPlainCall(text, opening.exec(head), tools))
}

const isMarkedCall = (text: string, match: RegExpExecArray | null, tools: ReadonlySet<string>): boolean => {
  if (match === null) return false
  const { isFenced, isQuoted, lead, trail } = around(text, match)
  // A sentence that goes on after the call is about it.
  if (isQuoted || explains(lead) || explains(trail) || /^[,;]?\s+[a-z]/.test(trail)) return false
  if (lead === "" && trail.trim() === "") return true
  const call = text.slice(match.index, match.index + 400)
  return (isFenced ? announces(lead, tools) : lead.length <= maxLead) &&
    Array.from(tools).some((tool) => call.includes(tool))
}

const isPlainCall = (text: string, match: RegExpExecArray | null, tools: ReadonlySet<string>): boolean => {
  if (match?.[1] === undefined || !tools.has(match[1])) return false
  const { isQuoted, lead, trail } = around(text, match)
  return !isQuoted && announces(lead, tools) && announces(trail.trim(), tools)
}

/** Returns what stands before and after a call, without fences, and without the tokens that end a reply. */
const around = (text: string, { 0: opening, index }: RegExpExecArray) => {
  const before = text.slice(0, index).trimEnd()
  const fence = /`{3,}[\w-]*$/.exec(before)
  const lead = (fence === null ? before : before.slice(0, fence.index)).trim()
  const from = Math.max(index + opening.length, text.length - read.tail)
  const rest = text.slice(from)
  return {
    isFenced: fence !== null,
    isQuoted: fence === null && /[`"'“]$/.test(before),
    // A ReAct prompt asks for the thought before the action.
    lead: lead.replace(/^(?:Question|Thought|Action)\s*:[^]*/, ""),
    trail: rest.slice(rest.search(/[^>\])}`"']*$/)).replace(/^[.…\s]+$/, "")
  }
}

const explaining =
  /\b(?:examples?|for instance|formats?|syntax|would|could|should|how|schema|documentation|looks? like|instead|i (?:sent|made|used|ran|called)|you (?:can|may|might|need|must|asked|want)|your (?:code|client|script|app))\b|e\.g\.|(?:^|[.!:\n])\s*(?:to (?:call|use|invoke|run)|use|send|write|type|paste|call|try)\b/i

const explains = (text: string): boolean => explaining.test(text)

/** True if nothing stands beside a call but the announcement of it. */
const announces = (text: string, tools: ReadonlySet<string>): boolean =>
  text === "" || !explains(text) && (opener.test(text) || isPlan(text, tools))

const opener =
  /^(?:sure|of course|certainly|okay|ok|alright|here(?:'s| is| are) (?:the|my|a) (?:(?:tool|function|json|correct|appropriate) ){1,3}calls?[^.\n]{0,80})[.:!…]*$/i

// -----------------------------------------------------------------------------
// Plans, in English
// -----------------------------------------------------------------------------

/** The longest plan, in characters. A longer text says something. */
const maxPlan = 300

/** True if each sentence says what comes next, or says nothing, and at least one says what comes next. */
const isPlan = (text: string, tools: ReadonlySet<string>): boolean => {
  if (text.length > maxPlan || text.includes("?")) return false
  const plainText = text.replaceAll("’", "'").replaceAll(/[*`"]|\p{Extended_Pictographic}\ufe0f?/gu, "").trim()
  const sentences = plainText.split(/(?<=[.!…:])\s+|\n\s*/).filter((sentence) => sentence !== "")
  const isStep = (sentence: string) => isAnnouncement(sentence, tools)
  const last = sentences.at(-1) ?? ""
  return isNext.test(last) && step.test(last) && !hasMore(last) ||
    sentences.some(isStep) && sentences.every((sentence) => filler.test(sentence) || isStep(sentence))
}

// "The order is shipped. Now I will send the message."
const isNext = /^(?:now|next),? I(?:'ll| will| am going to|'m going to) /i

const filler =
  /^(?:(?:sure|sure thing|of course|certainly|absolutely|okay|ok|alright|all right|got it|understood|no problem|great|great question)(?:,? \w+)?|(?:thanks|thank you)(?: for [\w ]{1,60})?)[.!…:]*$/i

const isAnnouncement = (sentence: string, tools: ReadonlySet<string>): boolean => {
  if (waiting.test(sentence)) return true
  const [all, verb = ""] = step.exec(sentence) ?? []
  if (hasMore(sentence)) return false
  if (all === undefined) return doing.test(sentence)
  const rest = sentence.slice(all.length)
  // "I'll send the invoice" may also be said of what a tool will do, or has just done.
  if (isActing.test(verb)) return /\b(?:now|right away|immediately)[.!…:]*$/i.test(rest)
  return !isRunning.test(verb) || /\b(?:tool|function|api)\b/i.test(rest) ||
    wordsOf(rest).some((word) => tools.has(word))
}

const wordsOf = (text: string): ReadonlyArray<string> => text.split(/[^\w-]+/)

const looking =
  "(?:double-)?check(?! (?:with|in|back|out)\\b)|look(?= (?:up|into|for|at|through|that|this|it)\\b)|take a (?:quick |closer )?look|search|fetch|find(?! my)|retrieve|query|pull|gather|consult|inspect|examine|investigate|verify|load|access|calculate|compute|see(?= (?:what|if|whether|which)\\b)(?! what I can do)|(?:get|read)(?= (?:the|that|this|these|those|your|some|more|all|current|an?)\\b)|run(?= an? (?:quick )?(?:search|query|check|lookup)\\b)"
const acting =
  "send|create|cancel|process|book|update|delete|submit|schedule|place|add|remove|issue|transfer|restart|deploy"
const running = "call|use|invoke|execute|run"
const isActing = new RegExp(`^(?:${acting})$`, "i")
const isRunning = new RegExp(`^(?:${running})$`, "i")

/** "First, I'll quickly look …": up to the verb. */
const step = new RegExp(
  "^(?:(?:sure|of course|certainly|absolutely|okay|ok|alright|great|got it|first|next|now|then|so|(?:in order )?to [^,.:]{1,80}(?=,)|for (?:this|that))[,!]? ){0,3}" +
    "(?:I'll|I will|I'm going to|I am going to|let me|allow me to|I need to|I'll need to)" +
    "(?: (?:now|first|just|quickly|then|also|next|go ahead and|try to|need to|proceed to)){0,3} " +
    `(${looking}|${acting}|${running})\\b`,
  "i"
)

const waiting =
  /^(?:please )?(?:(?:just )?(?:give me )?(?:one|an?) (?:moment|second|sec|minute)|hold on|hang on|wait|bear with me)(?: (?:an?|one) (?:moment|second|sec|minute))?(?:,? please)?(?:,? (?:while|as) I [^.!:;,—]{1,160})?[.!…]*$/i

const doing =
  /^(?:now )?(?:checking|looking (?:up|for|into)|searching|fetching|retrieving|querying|pulling up|gathering|getting|loading) (?:(?:for|in|on|up|through) )?(?:the|that|this|these|those|your|it)\b.*(?:\.\.\.|…|\bnow[.!]?)$/i

/** True if a sentence has a condition, a later time, a reason or a fact. */
const hasMore = (sentence: string): boolean =>
  more.test(sentence.replace(/\b(check|see|verify|out) (?:if|whether)\b/i, "$1"))

const more =
  /[;—–]| - |\b(?:if|when|whenever|once|unless|until|after|later|tomorrow|tonight|soon|every|always|from now on|next (?:time|week|month|year)|in the future|back to you|but|because|however|since|though|not|never|cannot|can't|won't|don't|found|you (?:can|could|should|need|want|would|send|give|share|provide|attach|upload))\b|,.*\b(?:is|are|was|were|has|have|had|costs?)\b/i
