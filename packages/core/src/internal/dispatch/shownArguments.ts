import { cut, printable } from "../value/text.ts"
import { attempt } from "../value/untrusted.ts"

/** How many characters are shown of all arguments, and of each text in them. */
const max = { all: 1_000, text: 100 }

/** Returns arguments for a person, who is to say what became of their call. A long text in them does not hide the others. */
export const shownArguments = (json: string): string => {
  const shortened = json.length <= max.all ? json : attempt(() => JSON.stringify(JSON.parse(json), shorten)) ?? json
  return cut(printable(shortened), max.all)
}

const shorten = (_: string, value: unknown): unknown => typeof value === "string" ? cut(value, max.text) : value
