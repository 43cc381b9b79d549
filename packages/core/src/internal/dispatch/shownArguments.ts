import { cut, printable } from "../value/text.ts"
import { attempt } from "../value/untrusted.ts"

/** How many characters are shown of all arguments, and of each text in them. */
const usual = { all: 1_000, text: 100 }

/** Returns arguments for a person who decides on their call. A long text in them does not hide the others. */
export const shownArguments = (json: string, { all, text } = usual): string => {
  const shorten = (_: string, value: unknown): unknown => typeof value === "string" ? cut(value, text) : value
  const shortened = json.length <= all ? json : attempt(() => JSON.stringify(JSON.parse(json), shorten)) ?? json
  return cut(printable(shortened), all)
}
