/** Texts of drifted calls, for `drifts.ts`: values with numbers as they were written, and the drifts of a whole text. */
import type { Next } from "./driftKinds.ts"

/** A value as a model writes it. A token is a number, a constant, or anything else without quotes. */
export type Written =
  | { readonly form: "token"; readonly token: string }
  | { readonly form: "text"; readonly text: string }
  | { readonly form: "list"; readonly items: ReadonlyArray<Written> }
  | { readonly form: "record"; readonly members: ReadonlyArray<readonly [key: string, value: Written]> }

export const token = (token: string): Written => ({ form: "token", token })

export const text = (text: string): Written => ({ form: "text", text })

export const list = (...items: ReadonlyArray<Written>): Written => ({ form: "list", items })

export const record = (...members: ReadonlyArray<readonly [string, Written]>): Written => ({ form: "record", members })

/** Returns the value that is written; `undefined` for a token that is neither JSON nor a number such as `.5`. */
export const valueOf = (written: Written): unknown => {
  switch (written.form) {
    case "token":
      return tokenValue(written.token)
    case "text":
      return written.text
    case "list":
      return written.items.map(valueOf)
    case "record":
      return Object.fromEntries(written.members.map(([key, value]) => [key, valueOf(value)]))
  }
}

const constants: ReadonlyMap<string, unknown> = new Map([["true", true], ["false", false], ["null", null]])

const isNumber = /^-?(?:0|[1-9]\d*|(?=\.))(?:\.\d+)?(?:[eE][+-]?\d+)?$/

const tokenValue = (token: string): unknown => isNumber.test(token) ? Number(token) : constants.get(token)

/** Writes a value as JSON, with its tokens as they are. */
export const json = (written: Written): string => piecesOf(written).map(({ text }) => text).join("")

const pythonConstants: ReadonlyMap<string, string> = new Map([["true", "True"], ["false", "False"], ["null", "None"]])

/** Writes a value as Python's `repr` does. */
export const python = (written: Written): string => {
  switch (written.form) {
    case "token":
      return pythonConstants.get(written.token) ?? written.token
    case "text":
      return written.text.includes("'") && !written.text.includes("\"")
        ? JSON.stringify(written.text)
        : single(written.text)
    case "list":
      return `[${written.items.map(python).join(", ")}]`
    case "record":
      return `{${written.members.map(([key, value]) => `${single(key)}: ${python(value)}`).join(", ")}}`
  }
}

/** Quotes a text with single quotes. */
const single = (content: string): string => `'${inner(content).replaceAll("\\\"", "\"").replaceAll("'", "\\'")}'`

/** Returns the JSON of a text, without the quotes around it. */
const inner = (content: string): string => JSON.stringify(content).slice(1, -1)

// -----------------------------------------------------------------------------
// Pieces
// -----------------------------------------------------------------------------

/** A piece of a text. `content` is the content of a key or a text. */
export interface Piece {
  readonly form: "comment" | "key" | "mark" | "space" | "text" | "token"
  readonly text: string
  readonly content: string
}

const piece = (form: Piece["form"], text: string, content = text): Piece => ({ form, text, content })

/** Splits the JSON of a value into its pieces. */
export const piecesOf = (written: Written): Array<Piece> => {
  switch (written.form) {
    case "token":
      return [piece("token", written.token)]
    case "text":
      return [piece("text", JSON.stringify(written.text), written.text)]
    case "list":
      return enclosed("[", "]", written.items.map(piecesOf))
    case "record":
      return enclosed(
        "{",
        "}",
        written.members.map(([key, value]) => [
          piece("key", JSON.stringify(key), key),
          piece("mark", ":"),
          ...piecesOf(value)
        ])
      )
  }
}

const enclosed = (open: string, close: string, parts: ReadonlyArray<ReadonlyArray<Piece>>): Array<Piece> => [
  piece("mark", open),
  ...parts.flatMap((part, index) => index === 0 ? part : [piece("mark", ","), ...part]),
  piece("mark", close)
]

const isMark = (piece: Piece | undefined, ...marks: ReadonlyArray<string>): boolean =>
  piece?.form === "mark" && marks.includes(piece.text)
const opens = (piece: Piece | undefined): boolean => isMark(piece, "{", "[")
const closes = (piece: Piece | undefined): boolean => isMark(piece, "}", "]")
const isComma = (piece: Piece | undefined): boolean => isMark(piece, ",")
const isColon = (piece: Piece | undefined): boolean => isMark(piece, ":")

/** Adds white space in one of the usual styles: none, after each comma and colon, or lines. */
export const spaced = (pieces: ReadonlyArray<Piece>, next: Next): ReadonlyArray<Piece> => {
  const style = next(3)
  if (style === 0) return pieces
  let depth = 0
  const line = () => piece("space", `\n${"  ".repeat(depth)}`)
  return pieces.flatMap((each, index) => {
    if (opens(each)) depth++
    if (closes(each)) depth--
    const before = style === 2 && closes(each) && !opens(pieces[index - 1]) ? [line()] : []
    const isStart = opens(each) && !closes(pieces[index + 1])
    const after = style === 2 && (isStart || isComma(each))
      ? [line()]
      : isComma(each) || isColon(each)
      ? [piece("space", " ")]
      : []
    return [...before, each, ...after]
  })
}

// -----------------------------------------------------------------------------
// Drifts of a text
// -----------------------------------------------------------------------------

/** Changes some pieces of a text; returns `undefined` where there is nothing to change. */
type PieceDrift = (pieces: ReadonlyArray<Piece>, next: Next) => ReadonlyArray<Piece> | undefined

const isQuoted = ({ form }: Piece): boolean => form === "key" || form === "text"

/** Rewrites all pieces for which `rewrite` gives another text. */
const all = (rewrite: (piece: Piece) => string | undefined): PieceDrift => (pieces) => {
  const texts = pieces.map(rewrite)
  return texts.every((text) => text === undefined)
    ? undefined
    : pieces.map((each, index) => ({ ...each, text: texts[index] ?? each.text }))
}

/** Replaces one of the pieces that are chosen. */
const one = (
  isChosen: (piece: Piece, index: number, pieces: ReadonlyArray<Piece>) => boolean,
  replace: (piece: Piece, next: Next) => ReadonlyArray<Piece>
): PieceDrift =>
(pieces, next) => {
  const places = pieces.flatMap((each, index) => isChosen(each, index, pieces) ? [index] : [])
  const at = places[next(places.length)]
  return at === undefined ? undefined : pieces.flatMap((each, index) => index === at ? replace(each, next) : [each])
}

const otherConstants = (words: { readonly [constant: string]: string }) =>
  all(({ form, text }) => form === "token" ? words[text] : undefined)

const quoted = (write: (content: string) => string | undefined) =>
  all((piece) => isQuoted(piece) ? write(piece.content) : undefined)

const comments = [
  "// note\n",
  "# note\n",
  "/* note */",
  "/* a, b: [c] */",
  "// 12, 5\n",
  "# the \"first\" one\n",
  "// the user's\n",
  "/* unclosed"
]

const identifier = /^[a-z_][a-z0-9_]*$/i
const word = /^(?!(?:true|false|null|none|nan|undefined|infinity|on|off)$)[a-z]{2,}$/i

/** The drifts of pieces, by name. None of them changes what the call means, so any other value is wrong. */
export const pieceDrifts: { readonly [name: string]: PieceDrift } = {
  "single quotes": quoted(single),
  "unescaped apostrophes": quoted((content) => `'${inner(content)}'`),
  "Python constants": otherConstants({ true: "True", false: "False", null: "None" }),
  "constants in capitals": otherConstants({ true: "TRUE", false: "FALSE", null: "NULL" }),
  "trailing comma": one(
    (each, index, pieces) => closes(each) && !opens(pieces[index - 1]) && !isComma(pieces[index - 1]),
    (each) => [piece("mark", ","), each]
  ),
  comment: one(
    ({ form }) => form === "mark",
    (each, next) => [each, piece("comment", ` ${comments[next(comments.length)]!}`)]
  ),
  "comment over a key": one(({ form }) => form === "key", ({ text }) => [piece("comment", `// note ${text}`)]),
  "escaped apostrophe": quoted((content) =>
    content.includes("'") ? `"${inner(content).replaceAll("'", "\\'")}"` : undefined
  ),
  "escaped dollar": quoted((content) =>
    content.includes("$") ? `"${inner(content).replaceAll("$", "\\$")}"` : undefined
  ),
  "missing comma": one(isComma, (_, next) => [piece("space", [" ", "\n", "  "][next(3)]!)]),
  "missing colon": one(isColon, () => [piece("space", " ")]),
  "smart quotes": quoted((content) => `“${inner(content)}”`),
  "smart quotes of one": one(isQuoted, ({ content, form }) => [piece(form, `“${inner(content)}”`, content)]),
  "unquoted keys": all(({ content, form }) => form === "key" && identifier.test(content) ? content : undefined),
  "unquoted text": one(
    ({ content, form }) => form === "text" && word.test(content),
    ({ content }) => [piece("token", content)]
  ),
  "raw line breaks": quoted((content) =>
    content.includes("\n") ? `"${inner(content).replaceAll("\\n", "\n")}"` : undefined
  ),
  "unescaped quotes": quoted((content) =>
    content.includes("\"") ? `"${inner(content).replaceAll("\\\"", "\"")}"` : undefined
  ),
  // Where JSON reads the single backslash, in `C:\temp`, the text says something else.
  "unescaped backslashes": quoted((content) =>
    /\\[^"\\/bfnrtu]/.test(content) ? `"${inner(content).replaceAll("\\\\", "\\")}"` : undefined
  ),
  "missing quote": one(({ text }) => /^["'“]/.test(text), ({ content, form, text }, next) => [
    piece(form, next(2) === 0 ? text.slice(1) : text.slice(0, -1), content)
  ]),
  "wrong bracket": one(closes, ({ text }) => [piece("mark", text === "}" ? "]" : "}")]),
  "missing bracket": one((each) => closes(each) || opens(each), () => []),
  "no-break space": one(({ form }) => form === "mark", (each) => [each, piece("space", "\u00a0")]),
  ellipsis: one(
    (each, index, pieces) => closes(each) && !opens(pieces[index - 1]),
    (each) => [piece("mark", ", ..."), each]
  )
}

/** The drifts of a whole text, by name. None of them changes what the call means. */
export const outerDrifts: { readonly [name: string]: (text: string, next: Next) => string | undefined } = {
  "code fence": (text, next) => `${["```json\n", "```\n", "``` "][next(3)]!}${text}\n\`\`\``,
  "template tokens": (text, next) => `<tool_call>${next(2) === 0 ? "\n" : ""}${text}</tool_call>`,
  "template token before": (text, next) => `${["<tool_call>", "<|python_tag|>", "<function=book>"][next(3)]!}${text}`,
  "template token after": (text, next) => `${text}${["</tool_call>", "<|im_end|>", "</s>", "</function>"][next(4)]!}`,
  "byte order mark": (text) => `\ufeff${text}`,
  "prose before": (text, next) =>
    `${["Here you are: ", "I will call it with\n", "Arguments:\n\n", "args = "][next(4)]!}${text}`,
  "prose after": (text, next) => `${text}${[" Done.", "\nThat is all", "\n\nIs it right?", ";"][next(4)]!}`,
  "comment before": (text, next) => `${comments[next(comments.length)]!}${text}`,
  "comment after": (text, next) => `${text} ${comments[next(comments.length)]!}`,
  "text in a text": (text) => JSON.stringify(text),
  // With other quotes, nothing shows that there is one backslash too many.
  "escaped quotes": (text) => /[{,]\s*[^\s"{}]/.test(text) ? undefined : JSON.stringify(text).slice(1, -1),
  "surplus closers": (text, next) => `${text}${["}", "]", "}}", ")"][next(4)]!}`,
  "written twice": (text, next) => `${text}${["", "\n", ","][next(3)]!}${text}`,
  "list of calls": (text) => `[${text}]`,
  "call as code": (text) => `book(${text})`,
  "white space": (text) => `\n ${text}\t\n`
}
