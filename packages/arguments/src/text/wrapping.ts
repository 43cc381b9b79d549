/** Meaningless wrapping around an argument text: a byte order mark, a code fence, template tokens. */
import { newMap } from "../memo.ts"
import type { TextRepairKind } from "../repair.ts"
import { isSpace } from "./lexer.ts"
import { match, repaired, sees } from "./scanner.ts"

/** The part of the text that remains (`at`, `to`), and the repairs for the wrapping that was skipped. */
export interface Around {
  readonly text: string
  at: number
  to: number
  readonly repairs: Map<TextRepairKind, number>
}

export const aroundOf = (text: string, at = 0): Around => ({ text, at, to: text.length, repairs: newMap() })

const token =
  /<\|[^<>|{}"\n]{1,64}\|>|<｜[^<>｜{}"\n]{1,64}｜>|<\/?(?:tools?|tool_calls?|functions?|function_calls?|arguments|args|parameters|params|input|json|s|bos|eos|end_of_turn)>/y
// The word after an opening fence. If a line break follows, any word is accepted; directly before the object,
// only `json`, `json5` and `jsonc`.
const fence = /`{3,}/y
const info = /[\w+.-]*[ \t]*(?=\n)|(?:json[5c]?)?[ \t]*/y

/** Removes the wrapping from both ends. */
export const peel = (text: string): Around => {
  const around = aroundOf(text)
  let isFenced = false
  for (;;) {
    if (peelStart(around) || peelEnd(around)) continue
    if (isFenced || !peelFence(around)) return around
    isFenced = true
  }
}

/** Returns the offset at which the text begins after its wrapping. */
export const openingOf = (text: string): number => {
  const around = aroundOf(text)
  while (peelStart(around) || peelOpeningFence(around)) continue
  return around.at
}

/** Skips one piece of wrapping at the start. Returns whether there was any. */
export const peelStart = (around: Around): boolean => {
  const { text, to } = around
  while (around.at < to && isSpace(text.charCodeAt(around.at))) around.at++
  const { at } = around
  const isMark = at === 0 && text[0] === "\ufeff"
  if (!isMark && (!sees(around, token) || token.lastIndex > to)) return false
  repaired(around, isMark ? "byte_order_mark" : "template_token", at)
  around.at = isMark ? 1 : token.lastIndex
  return true
}

const peelEnd = (around: Around): boolean => {
  const { at: from, text } = around
  while (around.to > from && isSpace(text.charCodeAt(around.to - 1))) around.to--
  const { to } = around
  const at = text[to - 1] === ">" ? text.lastIndexOf("<", to - 1) : -1
  // An opening token at the end means that the text was cut off.
  const isOpening = /\w/.test(text.charAt(at + 1))
  if (at < from || isOpening || !sees({ at, text }, token) || token.lastIndex !== to) return false
  repaired(around, "template_token", at)
  around.to = at
  return true
}

const peelFence = (around: Around): boolean => {
  const { at, text, to } = around
  if (!sees(around, fence)) return false
  const opened = fence.lastIndex
  const ticks = text.slice(at, opened)
  const closing = to - ticks.length
  if (closing < opened || !text.startsWith(ticks, closing) || text[closing - 1] === "`") return false
  peelOpeningFence(around)
  around.to = closing
  return true
}

const peelOpeningFence = (around: Around): boolean => {
  const { at } = around
  if (match(around, fence) === undefined) return false
  repaired(around, "code_fence", at)
  match(around, info)
  return true
}
