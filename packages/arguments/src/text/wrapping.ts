/**
 * What is wrapped around an argument text and says nothing: a byte order mark, a code fence, template tokens.
 */
import type { TextRepairKind } from "../repair.ts"

/** The part of a text that is left, and what was passed over. */
export interface Around {
  from: number
  to: number
  readonly repairs: Array<readonly [TextRepairKind, number]>
}

const token =
  /<\|[^<>|{}"\n]{1,64}\|>|<｜[^<>｜{}"\n]{1,64}｜>|<\/?(?:tools?|tool_calls?|functions?|function_calls?|arguments|args|parameters|params|input|json|s|bos|eos|end_of_turn)>/y
const opening = /^<\w/
const longestToken = 72
const fence = /`{3,}/y
// A word on the line of the fence; before the object itself, only what is no name.
const info = /[\w+.-]*[ \t]*(?=\n)|(?:json[5c]?)?[ \t]*/y

/** Takes the wrapping off both ends. */
export const peel = (text: string): Around => {
  const around: Around = { from: 0, to: text.length, repairs: [] }
  let isFenced = false
  for (;;) {
    if (peelStart(text, around) || peelEnd(text, around)) continue
    if (isFenced || !peelFence(text, around)) return around
    isFenced = true
  }
}

/** Where the object of a text begins, as far as nothing but silent wrapping stands before it. */
export const openingOf = (text: string): number => {
  const around = { from: 0, to: text.length, repairs: [] }
  while (peelStart(text, around) || peelOpeningFence(text, around)) continue
  return around.from
}

/** Passes over one thing at the start; says whether there was one. */
export const peelStart = (text: string, around: Around): boolean => {
  skipSpace(text, around)
  if (around.from === 0 && text.startsWith("\ufeff")) {
    around.repairs.push(["byte_order_mark", 0])
    around.from = 1
    return true
  }
  const end = endOf(token, text, around.from)
  if (end === undefined || end > around.to) return false
  passed(around, "template_token", around.from)
  around.from = end
  return true
}

const peelEnd = (text: string, around: Around): boolean => {
  while (around.to > around.from && isSpace(text.charCodeAt(around.to - 1))) around.to--
  if (text[around.to - 1] !== ">") return false
  const start = text.lastIndexOf("<", around.to - 1)
  if (start < around.from || around.to - start > longestToken || endOf(token, text, start) !== around.to) return false
  // What opens at the end was cut off.
  if (opening.test(text.slice(start, around.to))) return false
  passed(around, "template_token", start)
  around.to = start
  return true
}

const peelFence = (text: string, around: Around): boolean => {
  const opened = endOf(fence, text, around.from)
  if (opened === undefined) return false
  const ticks = text.slice(around.from, opened)
  const closing = around.to - ticks.length
  if (closing < opened || !text.startsWith(ticks, closing) || text[closing - 1] === "`") return false
  peelOpeningFence(text, around)
  around.to = closing
  return true
}

const peelOpeningFence = (text: string, around: Around): boolean => {
  const opened = endOf(fence, text, around.from)
  if (opened === undefined) return false
  passed(around, "code_fence", around.from)
  around.from = endOf(info, text, opened) ?? opened
  return true
}

/** Notes the first of each kind that was passed over. */
export const passed = ({ repairs }: Around, kind: TextRepairKind, offset: number): void => {
  if (!repairs.some(([known]) => known === kind)) repairs.push([kind, offset])
}

const skipSpace = (text: string, around: Around): void => {
  while (around.from < around.to && isSpace(text.charCodeAt(around.from))) around.from++
}

const isSpace = (unit: number): boolean => unit === 0x20 || unit === 0x0a || unit === 0x0d || unit === 0x09

/** Where a sticky pattern ends that matches here. */
export const endOf = (pattern: RegExp, text: string, at: number): number | undefined => {
  pattern.lastIndex = at
  return pattern.test(text) ? pattern.lastIndex : undefined
}
