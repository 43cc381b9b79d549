/**
 * One line of a trace, fitted to the terminal that shows it.
 *
 *     "  failed   " + "get_weather {"city":"Atlantis"}" + "  3 attempts  12 ms"
 *     mark           call: cut to the width            text: wrapped at the width
 *
 * Where nothing limits the width, as in a pipe or a file, a line stays whole. Colour never carries a meaning alone: the
 * mark says the same in words.
 */
import { styleText } from "node:util"

export interface Line {
  /** The word that begins the line, padded. The following lines are indented by its length. */
  readonly mark: string
  readonly tone?: Tone
  /** A call with its arguments. On a narrow terminal, its end is cut off. */
  readonly call?: string
  readonly text: string
}

export type Tone = keyof typeof styles

export interface Screen {
  /** How many characters fit in a line; `undefined` if nothing limits them. */
  readonly columns: number | undefined
  readonly hasColor: boolean
}

const styles = { ok: "green", failed: "red", retry: "yellow", note: "cyan" } as const

/** Formats a line for a screen. Characters that could control the terminal are replaced. */
export const format = (line: Line, { columns, hasColor }: Screen): string => {
  const { mark, tone } = line
  const [first = "", ...rest] = columns === undefined
    ? [whole(line)]
    : fit(line, Math.max(columns - mark.length, min))
  const paint = (text: string): string =>
    hasColor && tone !== undefined && text !== "" ? styleText(styles[tone], text, { validateStream: false }) : text
  // A line without a word of its own is a remark on the line before it, and is coloured whole.
  const isRemark = mark.trim() === ""
  const indent = " ".repeat(mark.length)
  return [
    isRemark ? `${mark}${paint(first)}` : `${mark.replace(/\S+/, paint)}${first}`,
    ...rest.map((text) => `${indent}${isRemark ? paint(text) : text}`)
  ].join("\n")
}

/** Replaces characters that could control a terminal (control and format characters) with spaces. */
export const printable = (line: string): string => line.replace(/[\p{Cc}\p{Cf}]+/gu, " ")

/** Removes control and format characters from a text, except newlines, tabs and the joiner inside an emoji. */
export const printableText = (text: string): string => text.replace(/(?![\n\t\u200d])[\p{Cc}\p{Cf}]/gu, "")

const whole = ({ call = "", text }: Line): string =>
  [call, text].filter((part) => part !== "").map(printable).join("  ")

const fit = (line: Line, room: number): ReadonlyArray<string> => {
  const all = whole(line)
  if (all.length <= room) return [all]
  const { call = "", text } = line
  return call === "" ? wrap(printable(text), room) : [cut(printable(call), room), ...wrap(printable(text), room)]
}

const cut = (text: string, room: number): string => text.length <= room ? text : `${text.slice(0, room - 1)}…`

/** A text is never wrapped into less than this, however narrow the terminal is. */
const min = 12

/** Breaks a text at spaces and after commas, or inside a word that is longer than the room. */
export const wrap = (text: string, columns: number): ReadonlyArray<string> => {
  const room = Math.max(columns, min)
  const lines = text.match(new RegExp(`\\S.{0,${room - 1}}(?:(?=\\s|$)|(?<=,))|\\S{${room}}`, "gu")) ?? [""]
  return lines.map((line) => line.trimEnd())
}
