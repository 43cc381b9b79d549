/** Meaningless wrapping around an argument text: a byte order mark, a code fence, template tokens. */
import type { TextRepairKind } from "../repair.ts"

/** The part of the text that remains (`from`, `to`), and the repairs for the wrapping that was skipped. */
export interface Around {
  from: number
  to: number
  readonly repairs: Array<readonly [TextRepairKind, number]>
}

const token =
  /<\|[^<>|{}"\n]{1,64}\|>|<｜[^<>｜{}"\n]{1,64}｜>|<\/?(?:tools?|tool_calls?|functions?|function_calls?|arguments|args|parameters|params|input|json|s|bos|eos|end_of_turn)>/y
const openingToken = /^<\w/
const longestToken = 72
const fence = /`{3,}/y
// The word after an opening fence. If a line break follows, any word is accepted; directly before the object,
// only `json`, `json5` and `jsonc`.
const info = /[\w+.-]*[ \t]*(?=\n)|(?:json[5c]?)?[ \t]*/y

/** Removes the wrapping from both ends. */
export const peel = (text: string): Around => {
  const peeled: Around = { from: 0, to: text.length, repairs: [] }
  let isFenced = false
  for (;;) {
    if (peelStart(text, peeled) || peelEnd(text, peeled)) continue
    if (isFenced || !peelFence(text, peeled)) return peeled
    isFenced = true
  }
}

/** Returns the offset at which the text begins after its wrapping. */
export const openingOf = (text: string): number => {
  const peeled = { from: 0, to: text.length, repairs: [] }
  while (peelStart(text, peeled) || peelOpeningFence(text, peeled)) continue
  return peeled.from
}

/** Skips one piece of wrapping at the start. Returns whether there was any. */
export const peelStart = (text: string, peeled: Around): boolean => {
  skipSpace(text, peeled)
  if (peeled.from === 0 && text.startsWith("\ufeff")) {
    peeled.repairs.push(["byte_order_mark", 0])
    peeled.from = 1
    return true
  }
  const end = endOf(token, text, peeled.from)
  if (end === undefined || end > peeled.to) return false
  noteRepair(peeled, "template_token", peeled.from)
  peeled.from = end
  return true
}

const peelEnd = (text: string, peeled: Around): boolean => {
  while (peeled.to > peeled.from && isSpace(text.charCodeAt(peeled.to - 1))) peeled.to--
  if (text[peeled.to - 1] !== ">") return false
  const start = text.lastIndexOf("<", peeled.to - 1)
  if (start < peeled.from || peeled.to - start > longestToken || endOf(token, text, start) !== peeled.to) return false
  // An opening token at the end means that the text was cut off.
  if (openingToken.test(text.slice(start, peeled.to))) return false
  noteRepair(peeled, "template_token", start)
  peeled.to = start
  return true
}

const peelFence = (text: string, peeled: Around): boolean => {
  const opened = endOf(fence, text, peeled.from)
  if (opened === undefined) return false
  const ticks = text.slice(peeled.from, opened)
  const closing = peeled.to - ticks.length
  if (closing < opened || !text.startsWith(ticks, closing) || text[closing - 1] === "`") return false
  peelOpeningFence(text, peeled)
  peeled.to = closing
  return true
}

const peelOpeningFence = (text: string, peeled: Around): boolean => {
  const opened = endOf(fence, text, peeled.from)
  if (opened === undefined) return false
  noteRepair(peeled, "code_fence", peeled.from)
  peeled.from = endOf(info, text, opened) ?? opened
  return true
}

/** Records a repair, unless one of the same kind is already recorded. */
export const noteRepair = ({ repairs }: Around, kind: TextRepairKind, offset: number): void => {
  if (!repairs.some(([existing]) => existing === kind)) repairs.push([kind, offset])
}

const skipSpace = (text: string, peeled: Around): void => {
  while (peeled.from < peeled.to && isSpace(text.charCodeAt(peeled.from))) peeled.from++
}

const isSpace = (unit: number): boolean => unit === 0x20 || unit === 0x0a || unit === 0x0d || unit === 0x09

/** Returns the end of a sticky pattern's match at an offset; `undefined` if the pattern does not match there. */
export const endOf = (pattern: RegExp, text: string, at: number): number | undefined => {
  pattern.lastIndex = at
  return pattern.test(text) ? pattern.lastIndex : undefined
}
