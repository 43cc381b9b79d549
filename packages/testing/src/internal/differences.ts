/** A line, and the heading of its block. */
interface Line {
  readonly heading: string
  readonly text: string
}

/**
 * Splits text into lines with their headings. A line without indentation is a heading. Empty lines are left
 * out.
 */
const linesOf = (text: string): ReadonlyArray<Line> => {
  let heading = ""
  return text.split(/\r?\n/).filter((text) => text.trim() !== "").map((text) => {
    if (!text.startsWith(" ")) heading = text
    return { heading, text }
  })
}

/**
 * Returns the smallest set of lines in which two strings differ, each after the heading of its block. `-`
 * marks a line of the first string, `+` a line of the second. Empty if all lines are the same.
 */
export const differences = (first: string, second: string): ReadonlyArray<string> => {
  const [before, after] = [linesOf(first), linesOf(second)]
  const common = commonFrom(before, after)
  const differing: Array<string> = []
  let lastHeading = ""
  const addLine = (sign: string, { heading, text }: Line) => {
    if (heading !== lastHeading && heading !== text) differing.push(`  ${heading}`)
    lastHeading = heading
    differing.push(`${sign} ${text}`)
  }
  let [i, j] = [0, 0]
  while (i < before.length || j < after.length) {
    const [old, now] = [before[i], after[j]]
    if (old !== undefined && now !== undefined && isSame(old, now)) {
      i++
      j++
    } else if (now === undefined || old !== undefined && common(i + 1, j) >= common(i, j + 1)) {
      addLine("-", old!)
      i++
    } else {
      addLine("+", now)
      j++
    }
  }
  return differing
}

const isSame = (a: Line, b: Line): boolean => a.text === b.text && a.heading === b.heading

/** Returns a function that counts the lines that two lists have in common, in the same order, from two indices on. */
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
