/**
 * Sets the tour in lines: labels in one column, texts wrapped beside them.
 */
import { styleText } from "node:util"
import * as Line from "../shared/Line.ts"
import type { Fault } from "./Fault.ts"
import type { Played, Step } from "./Played.ts"

type Style = Parameters<typeof styleText>[0]

const styled = ({ hasColor }: Line.Screen, style: Style, text: string): string =>
  hasColor ? styleText(style, text, { validateStream: false }) : text

/** Sets what is said before the first fault. */
export const opening = (screen: Line.Screen, count: number): string =>
  wrapped(
    screen,
    `The tour plays ${
      count === 1 ? "one fault" : `${count} faults, each`
    } through an agent of Fallible and through a plain loop, with the same tools. A stand-in plays the same model in both. No language model is asked.`
  )

export const title = (screen: Line.Screen, fault: Fault, place: string): string =>
  `\n${styled(screen, "bold", wrapped(screen, `${place}  ${fault.title}`))}\n${wrapped(screen, fault.setUp)}`

/** Sets the name of a loop, before it runs. */
export const loop = (screen: Line.Screen, name: string): string => `\n  ${styled(screen, "underline", name)}`

/** Sets what happened in a loop. */
export const played = (screen: Line.Screen, fault: Fault, run: Played): string => {
  const { answer, endedWell, steps, why } = run
  return [
    ...merged(steps).flatMap(({ below, call, read, times }) => [
      labelled(screen, "calls", counted(call, times)),
      ...withoutRepeats(below).map((sentence, index) =>
        labelled(screen, index === 0 ? "library" : "", sentence, "cyan")
      ),
      ...(read === undefined ? [] : [labelled(screen, "reads", read)])
    ]),
    labelled(screen, answer === undefined ? "fails" : "answers", answer ?? why ?? ""),
    labelled(screen, "ends", `${endedWell ? "well" : "badly"}: ${costs(fault, run)}`, endedWell ? "green" : "red")
  ].join("\n")
}

export interface Total {
  readonly name: string
  readonly well: number
  readonly replies: number
  readonly paid: number
}

/** Sets the totals of both loops, and where to go on. What does not fit side by side is set below each other. */
export const closing = (screen: Line.Screen, faults: ReadonlyArray<Fault>, totals: ReadonlyArray<Total>): string =>
  ["", ...table(screen, faults, totals), "", ...next(screen)].join("\n")

const table = (
  screen: Line.Screen,
  faults: ReadonlyArray<Fault>,
  totals: ReadonlyArray<Total>
): ReadonlyArray<string> => {
  const due = sum(faults.flatMap(({ due = [] }) => due))
  const figures: ReadonlyArray<readonly [label: string, of: (total: Total) => string]> = [
    ["ended well", ({ well }) => `${well} of ${faults.length}`],
    ["model replies", ({ replies }) => String(replies)],
    ["paid", ({ paid }) => `${paid} of ${due}`]
  ]
  const row = (label: string, ...cells: ReadonlyArray<string>) =>
    `  ${label.padEnd(14)}${cells.map((cell) => cell.padEnd(15)).join("")}`.trimEnd()
  const head = row("In all", ...totals.map(({ name }) => name))
  const rows = figures.map(([label, of]) => row(label, ...totals.map(of)))
  return fits(screen, [head, ...rows])
    ? [styled(screen, "bold", head), ...rows]
    : figures.flatMap(([label, of]) => [
      styled(screen, "bold", `In all, ${label}`),
      ...totals.map((total) => row(total.name, of(total)))
    ])
}

const next = (screen: Line.Screen): ReadonlyArray<string> => {
  const places = [
    ["npx -y pnpm@12 tour 3", "plays one fault"],
    ["npx -y pnpm@12 demo", "runs a whole agent"],
    ["examples/00-tour/faults", "has a file for each fault"],
    ["docs", "has the guides"]
  ] as const
  const rows = places.map(([place, what]) => `  ${place.padEnd(25)}${what}`)
  return fits(screen, rows) ? rows : places.flatMap(([place, what]) => [`  ${place}`, `    ${what}`])
}

const fits = ({ columns = Infinity }: Line.Screen, lines: ReadonlyArray<string>): boolean =>
  lines.every(({ length }) => length <= columns)

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

const labelled = (screen: Line.Screen, label: string, text: string, style?: Style): string => {
  const { columns = Infinity } = screen
  const margin = `${columns < 50 ? " " : "    "}${label.padEnd(9)}`
  const dim = margin.replace(/\S+/, (label) => styled(screen, "dim", label))
  return folded(shortened(text), columns - margin.length)
    .map((line, index) => {
      const styledLine = style === undefined ? line : styled(screen, style, line)
      return `${index === 0 ? dim : " ".repeat(margin.length)}${styledLine}`
    }).join("\n")
}

const wrapped = ({ columns = Infinity }: Line.Screen, text: string): string => folded(text, columns).join("\n")

const folded = (text: string, room: number): ReadonlyArray<string> =>
  text.length <= room ? [text] : Line.wrap(text, room)

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
