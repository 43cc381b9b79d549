/**
 * Sets the tour in lines: labels in one column, texts wrapped beside them.
 */
import { styleText } from "node:util"
import { type Fault, turns } from "./Fault.ts"
import type { Played, Step } from "./Played.ts"

export interface Page {
  /** The number of columns. */
  readonly width: number
  readonly hasColour: boolean
}

type Style = Parameters<typeof styleText>[0]

const styled = ({ hasColour }: Page, style: Style, text: string): string =>
  hasColour ? styleText(style, text, { validateStream: false }) : text

/** Sets what is said before the first fault. */
export const opening = (page: Page, count: number): string =>
  wrapped(
    page,
    `The tour plays ${
      count === 1 ? "one fault" : `${count} faults, each`
    } through an agent of Fallible and through a plain loop. Both get the same functions as tools and the same model, which may reply ${turns} times. A stand-in plays the model: a function of its messages. No language model is asked.`
  )

export const title = (page: Page, fault: Fault, place: string): string =>
  `\n${styled(page, "bold", wrapped(page, `${place}  ${fault.title}`))}\n${wrapped(page, fault.setUp)}`

/** Sets the name of a loop, before it runs. */
export const loop = (page: Page, name: string): string => `\n  ${styled(page, "underline", name)}`

/** Sets what happened in a loop. */
export const played = (page: Page, fault: Fault, run: Played): string => {
  const { answer, endedWell, steps, why } = run
  return [
    ...merged(steps).flatMap(({ below, call, read, times }) => [
      labelled(page, "calls", counted(call, times)),
      ...withoutRepeats(below).map((sentence, index) => labelled(page, index === 0 ? "library" : "", sentence, "cyan")),
      ...(read === undefined ? [] : [labelled(page, "reads", read)])
    ]),
    labelled(page, answer === undefined ? "fails" : "answers", answer ?? why ?? ""),
    labelled(page, "ends", `${endedWell ? "well" : "badly"}: ${costs(fault, run)}`, endedWell ? "green" : "red")
  ].join("\n")
}

export interface Total {
  readonly name: string
  readonly well: number
  readonly replies: number
  readonly paid: number
}

/** Sets the totals of both loops, and where to go on. */
export const closing = (page: Page, faults: ReadonlyArray<Fault>, totals: ReadonlyArray<Total>): string => {
  const due = sum(faults.flatMap(({ due = [] }) => due))
  const row = (label: string, cell: (total: Total) => string | number) =>
    `  ${label.padEnd(14)}${totals.map((total) => String(cell(total)).padEnd(15)).join("")}`.trimEnd()
  return [
    "",
    styled(page, "bold", row("In all", ({ name }) => name)),
    row("ended well", ({ well }) => `${well} of ${faults.length}`),
    row("model replies", ({ replies }) => replies),
    row("paid", ({ paid }) => `${paid} of ${due}`),
    "",
    "  npx -y pnpm@12 tour 6    plays one fault",
    "  npx -y pnpm@12 demo      runs a whole agent",
    "  examples/00-tour/faults  has a file for each fault",
    "  docs                     has the guides"
  ].join("\n")
}

export const sum = (numbers: ReadonlyArray<number>): number => numbers.reduce((total, number) => total + number, 0)

const costs = ({ due = [] }: Fault, { payments, replies, requests }: Played): string => {
  const paid = payments.join(" + ") || "nothing"
  const owed = due.join(" + ")
  return [
    `${replies} ${replies === 1 ? "reply" : "replies"}`,
    `${requests} ${requests === 1 ? "request" : "requests"}`,
    ...(owed === "" ? [] : [paid === owed ? `paid ${paid}` : `paid ${paid} instead of ${owed}`])
  ].join(", ")
}

// -----------------------------------------------------------------------------
// Lines
// -----------------------------------------------------------------------------

const labelled = (page: Page, label: string, text: string, style?: Style): string => {
  const [first = "", ...more] = lines(shortened(text), page.width - column)
  return [`    ${styled(page, "dim", label.padEnd(column - 4))}`, ...more.map(() => " ".repeat(column))]
    .map((margin, index) => {
      const line = [first, ...more][index] ?? ""
      return `${margin}${style === undefined ? line : styled(page, style, line)}`
    }).join("\n")
}

/** Where the texts begin. */
const column = 13

const wrapped = ({ width }: Page, text: string): string => lines(text, width).join("\n")

/** Breaks a text at spaces and after commas, or inside a word that is longer than a line. */
const lines = (text: string, width: number): ReadonlyArray<string> =>
  text.match(new RegExp(`\\S.{0,${width - 1}}(?:(?=\\s|$)|(?<=,))|\\S{${width}}`, "gu"))?.map((line) =>
    line.trimEnd()
  ) ?? [""]

/** Keeps the beginning and the end of a long text. */
const shortened = (text: string): string => {
  const line = text.replace(/\s+/g, " ")
  const max = /^[[{]/.test(line) ? 120 : 280
  return line.length <= max ? line : `${line.slice(0, 60)} … ${line.slice(-30)}`
}

const counted = (text: string, times: number): string => times === 1 ? text : `${text} (${times} times)`

const withoutRepeats = (sentences: ReadonlyArray<string>): ReadonlyArray<string> =>
  Array.from(
    new Set(sentences),
    (sentence) => counted(sentence, sentences.filter((other) => other === sentence).length)
  )

/** Joins equal steps in a row. */
const merged = (steps: ReadonlyArray<Step>): ReadonlyArray<Step & { readonly times: number }> =>
  steps.reduce<ReadonlyArray<Step & { readonly times: number }>>((soFar, step) => {
    const last = soFar.at(-1)
    const isSame = last !== undefined && last.call === step.call && (step.read ?? last.read) === last.read &&
      last.below.join() === step.below.join()
    return isSame ? [...soFar.slice(0, -1), { ...last, times: last.times + 1 }] : [...soFar, { ...step, times: 1 }]
  }, [])
