/** A line of a text of blocks, and the heading of its block. */
interface Line {
  readonly heading: string
  readonly text: string
}

/** The lines that are not indented head those that are; empty ones say nothing. */
const linesOf = (text: string): ReadonlyArray<Line> => {
  let heading = ""
  return text.split(/\r?\n/).filter((text) => text.trim() !== "").map((text) => {
    if (!text.startsWith(" ")) heading = text
    return { heading, text }
  })
}

/**
 * The fewest lines that differ between two texts of blocks, each after the heading of its block: with `-` those of the first
 * text, with `+` those of the second one. Empty when all lines are the same.
 */
export const differences = (first: string, second: string): ReadonlyArray<string> => {
  const [before, after] = [linesOf(first), linesOf(second)]
  const common = commonFrom(before, after)
  const differing: Array<string> = []
  let shown = ""
  const differs = (sign: string, { heading, text }: Line) => {
    if (heading !== shown && heading !== text) differing.push(`  ${heading}`)
    shown = heading
    differing.push(`${sign} ${text}`)
  }
  let [i, j] = [0, 0]
  while (i < before.length || j < after.length) {
    const [old, now] = [before[i], after[j]]
    if (old !== undefined && now !== undefined && isSame(old, now)) {
      i++
      j++
    } else if (now === undefined || old !== undefined && common(i + 1, j) >= common(i, j + 1)) {
      differs("-", old!)
      i++
    } else {
      differs("+", now)
      j++
    }
  }
  return differing
}

const isSame = (a: Line, b: Line): boolean => a.text === b.text && a.heading === b.heading

/** How many lines two texts have in common, in one order, from a line of each on. */
const commonFrom = (before: ReadonlyArray<Line>, after: ReadonlyArray<Line>) => {
  const width = after.length + 1
  const counts = new Uint32Array((before.length + 1) * width)
  for (let i = before.length - 1; i >= 0; i--) {
    for (let j = after.length - 1; j >= 0; j--) {
      counts[i * width + j] = isSame(before[i]!, after[j]!)
        ? counts[(i + 1) * width + j + 1]! + 1
        : Math.max(counts[(i + 1) * width + j]!, counts[i * width + j + 1]!)
    }
  }
  return (i: number, j: number): number => counts[i * width + j] ?? 0
}
