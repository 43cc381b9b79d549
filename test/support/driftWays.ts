/** The ways in which models write a value otherwise, for `drifts.ts`. */
import type { Json } from "@fallible/arguments"
import { type Field, fold, isList, type Kind, type Next, pick, type RecordKind } from "./driftKinds.ts"
import { isUnion, type Place, type Site, valueAt } from "./driftPlaces.ts"
import { json, list, python, record, text, token, type Written } from "./driftTexts.ts"

/** A way to write a value otherwise. It may say which values are meant then; by default, the intended one. */
export interface Way {
  readonly name: string
  readonly write: (plain: Written) => Written
  readonly meanings?: ReadonlyArray<Json | undefined>
  readonly isHopeless?: boolean
}

const way = (name: string, written: Written, meanings?: ReadonlyArray<Json | undefined>): Way => ({
  name,
  write: () => written,
  ...(meanings === undefined ? {} : { meanings })
})

const asTexts = (name: string, ...all: ReadonlyArray<string>): Array<Way> => all.map((each) => way(name, text(each)))

const asTokens = (name: string, ...all: ReadonlyArray<string>): Array<Way> => all.map((each) => way(name, token(each)))

/** Groups the digits of a number by thousands. */
const grouped = (number: number, separator: string): string =>
  String(number).replace(/^-?\d+/, (digits) => digits.replace(/\B(?=(?:\d{3})+$)/g, separator))

const fullWidth = (digits: string): string =>
  digits.replace(/\d/g, (digit) => String.fromCharCode(0xff10 + Number(digit)))

const numberWords = ["zero", "one", "two", "three", "four", "five", "six", "seven"]

/** The number with more zeros after its point. */
const decimals = (number: number): ReadonlyArray<string> =>
  [Number.isInteger(number) ? `${number}.0` : `${number}0`, number.toFixed(2), number.toFixed(3)]
    .filter((written) => Number(written) === number)

/** Numbers without a leading zero: `.5` for 0.5. */
const pointed = (number: number): ReadonlyArray<string> =>
  /^-?0\./.test(String(number)) ? [String(number).replace("0.", ".")] : []

const numberWays = (number: number, isItem: boolean): ReadonlyArray<Way> => {
  const groups = [",", ".", " ", "_", "'", "\u00a0"].map((separator) => grouped(number, separator))
    .filter((each) => each !== String(number))
  const comma = String(number).replace(".", ",")
  const plain = String(number)
  return [
    ...asTexts("number as text", plain, plain, plain, ` ${plain} `, `${plain}\n`),
    ...asTexts("decimal number as text", ...decimals(number)),
    ...asTexts("odd number as text", `${plain}.`),
    ...asTexts("exponent as text", number.toExponential()),
    ...asTexts("point as text", ...pointed(number)),
    ...asTexts("thousands as text", ...groups, ...(comma === plain ? [] : [comma])),
    ...asTexts(
      "units as text",
      `${plain} days`,
      `${plain}kg`,
      `$${plain}`,
      `${plain} €`,
      `#${plain}`,
      `${plain}%`,
      `${100 * number}%`,
      `${number / 1000}k`
    ),
    ...asTexts(
      "words as text",
      `about ${plain}`,
      `${plain} or so`,
      `${plain} or ${number + 1}`,
      `${plain}-${number + 1}`,
      `>${plain}`,
      `~${plain}`,
      `n=${plain}`,
      numberWords[number] ?? "many"
    ),
    ...asTexts(
      "odd number as text",
      `+${plain}`,
      `0${plain}`,
      `0x${number.toString(16)}`,
      fullWidth(plain),
      `${plain}/1`,
      `'${plain}'`
    ),
    ...asTokens("decimal number", ...decimals(number), number.toExponential()),
    ...asTokens("point", ...pointed(number)),
    ...asTokens(
      "odd number",
      `+${plain}`,
      `0${plain}`,
      `${plain}.`,
      `0x${number.toString(16)}`,
      `${plain}kg`,
      `${plain}*1`,
      fullWidth(plain)
    ),
    // In a list, a comma makes two numbers of one.
    ...(isItem ? [] : asTokens("thousands", ...groups)),
    ...(number === 0 || number === 1 ? asTokens("boolean for a number", String(number === 1)) : [])
  ]
}

const booleanWays = (value: boolean): ReadonlyArray<Way> => [
  ...asTexts("boolean as text", String(value), String(value), value ? "True" : "False"),
  ...asTexts("boolean in capitals", String(value).toUpperCase(), value ? " true " : "\tFALSE"),
  ...asTexts(
    "boolean in other words",
    ...(value ? ["yes", "on", "1", "y", "t", "enabled"] : ["no", "off", "0", "n", "f", "disabled"])
  ),
  ...asTokens("number for a boolean", value ? "1" : "0"),
  ...asTokens("bare word for a boolean", value ? "yes" : "no", value ? "T" : "F")
]

const isNumber = /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?$/

const textWays = (value: string): ReadonlyArray<Way> => [
  ...(isNumber.test(value) ? asTokens("number for a text", value, value, value) : []),
  // The number says less than the text that was intended, but only this much was sent.
  ...(/\.\d+0$/.test(value) ? [way("number for a text", token(value.slice(0, -1)), [value.slice(0, -1)])] : []),
  ...(value === "007" ? asTokens("number for a text", value) : []),
  ...(value === "true" ? asTokens("boolean for a text", value) : [])
]

const choiceWays = (value: number | string, choices: ReadonlyArray<number | string>): ReadonlyArray<Way> => {
  const written = String(value)
  const isOneByCase = choices.filter((choice) => String(choice).toLowerCase() === written.toLowerCase()).length === 1
  return [
    ...(typeof value === "number" ? asTexts("number as text", written, `${written}.0`) : []),
    ...(isNumber.test(written) ? asTokens("number for a choice", written) : []),
    ...asTexts(
      isOneByCase ? "case of a choice" : "unclear case of a choice",
      written.toUpperCase(),
      written.toLowerCase(),
      written.charAt(0).toUpperCase() + written.slice(1),
      ` ${written}`
    ),
    ...(/[-_ ]/.test(written)
      ? asTexts(
        "separators of a choice",
        ...["_", "-", " ", ""].map((separator) => written.replace(/[-_ ]/g, separator))
      )
      : []),
    ...asTexts(
      "other spelling of a choice",
      ...[written.slice(1), written.slice(0, -1)].filter((part) => part !== ""),
      `${written}s`,
      `"${written}"`,
      `${written}.`,
      `the ${written} one`,
      written.charAt(0)
    )
  ]
}

const dateWays = (value: string): ReadonlyArray<Way> => {
  const [year = "", month = "", day = ""] = value.split("-")
  return [
    ...asTexts("date without zeros", `${year}-${Number(month)}-${Number(day)}`),
    ...asTexts(
      "date with a time",
      `${value}T00:00:00Z`,
      `${value} 00:00:00`,
      `${value}T00:00`,
      `${value}T10:30:00Z`,
      `${value}T00:00:00+05:00`,
      `${value}T23:00:00-02:00`
    ),
    ...asTexts(
      "date in another form",
      `${year}/${month}/${day}`,
      `${month}/${day}/${year}`,
      `${day}.${month}.${year}`,
      `${day}/${month}/${year}`,
      `${year}${month}${day}`,
      `${year.slice(2)}-${month}-${day}`,
      `${day} Jan ${year}`,
      ` ${value} `,
      `${year}-${month}`,
      "tomorrow"
    ),
    ...asTokens("number for a date", `${year}${month}${day}`, year, value)
  ]
}

const timeWays = (value: string): ReadonlyArray<Way> => [
  ...asTexts("space in a time", value.replace("T", " ")),
  ...asTexts(
    "time in another form",
    value.slice(0, 19),
    value.slice(0, 19).replace("T", " "),
    value.slice(0, 16),
    value.slice(0, 10),
    value.replace(/:\d\d(?=[Z+])/, ""),
    value.replace("+02:00", "+0200"),
    value.replace("Z", " UTC"),
    value.replace("T", "  "),
    ` ${value}`
  ),
  ...asTokens("number for a time", "1704189600")
]

/** Texts that say "nothing". The first are read as blank fields, if the field's kind allows it. */
const blanks = ["", "null", "None", "undefined"]
const nothings = ["none", "NULL", "nil", "n/a", "N/A", "-", "empty", "[]", "{}", " ", "NaN"]

/** True if a blank text may say that the field is absent: not where its loss would change what is done. */
const mayBeBlank = (kind: Kind): boolean =>
  kind.type === "union"
    ? kind.members.every(mayBeBlank)
    : kind.type !== "boolean" && kind.type !== "record" && kind.type !== "nullable"

const allowsNull = (kind: Kind): boolean => kind.type === "nullable"

// As JSON, two of the texts are an empty list and an empty object.
const blankWay = (name: string, blank: string, meaning: null | undefined): Way =>
  way(name, text(blank), blank === "[]" ? [meaning, []] : blank === "{}" ? [meaning, {}] : [meaning])

const absentWays = ({ kind }: Field): ReadonlyArray<Way> => {
  // A blank text for a nullable field says null. To leave the field out would leave it as it is.
  const meaning = allowsNull(kind) ? null : undefined
  return [
    ...[1, 2, 3].map(() => way("null for an absent field", token("null"))),
    ...[...blanks, ...blanks, ...nothings].map((blank): Way => ({
      ...blankWay("blank for an absent field", blank, meaning),
      isHopeless: !allowsNull(kind) && !mayBeBlank(kind) && !/^[[{]/.test(blank)
    })),
    ...asTokens("bare word for an absent field", "undefined", "NaN", "nil")
  ]
}

const scalarWays = (value: boolean | null | number | string, kind: Kind, isItem: boolean): ReadonlyArray<Way> => {
  if (value === null) return [...blanks, ...nothings].map((blank) => blankWay("blank for null", blank, null))
  const ways = typeof value === "boolean"
    ? booleanWays(value)
    : kind.type === "choice"
    ? choiceWays(value, kind.choices)
    : typeof value === "number"
    ? numberWays(value, isItem)
    : kind.type === "date"
    ? dateWays(value)
    : kind.type === "time"
    ? timeWays(value)
    : textWays(value)
  return [...ways, { name: "list of one", write: (plain) => list(plain) }]
}

const separators = [", ", ",", "; ", " and ", " or ", " & ", " | ", "\n", "、", " · ", "\t", " / "]

const isWeb = (text: string): boolean => /^(?:\S+@\S+|https?:\S+)$/.test(text)

const listWays = (items: ReadonlyArray<Place>, { field, isItem, place, union }: Site): ReadonlyArray<Way> => {
  const values = items.map(valueAt)
  const isInUnion = union !== undefined
  const [only] = values
  // In place of a list, a null or a blank says nothing, and the text of a list is that list.
  const isTelling = only !== null && !(typeof only === "string" && blanks.includes(only)) &&
    !JSON.stringify(only ?? null).includes("\"[")
  const ofUnion = place.kind.type === "list" && isUnion(place.kind.items)
  const isFlat = values.every((value) => typeof value === "string" || typeof value === "number")
  // White space alone is part of a plain text, `New York`, but stands between addresses.
  const joining = values.every((value) => typeof value === "string" && isWeb(value)) ? [...separators, " "] : separators
  return [
    { name: "list as text", write: (plain) => text(json(plain)) },
    // Without its brackets, a list of one list would be a list of another length.
    ...(!isInUnion && !ofUnion && values.length > 0 && !isList(only) && only !== null
      ? [{ name: "list without brackets as text", write: (plain: Written) => text(json(plain).slice(1, -1)) }]
      : []),
    { name: "Python list", write: (plain) => text(python(plain)) },
    { name: "Python list", write: (plain) => text(`(${python(plain).slice(1, -1)})`) },
    { name: "list in a list", write: (plain) => list(plain) },
    ...(!isInUnion ? [{ name: "list in an object", write: (plain: Written) => record(["items", plain]) }] : []),
    ...(items.length === 1 && isTelling && !(isInUnion && isItem) &&
        !((isInUnion || ofUnion) && typeof only === "object")
      ? [1, 2, 3, 4].map(() => ({
        name: "single for a list",
        write: (plain: Written) => plain.form === "list" ? plain.items[0]! : plain
      }))
      : []),
    ...(items.length > 1 && isFlat
      ? [
        ...joining.flatMap((each) => asTexts("joined list", values.join(each))),
        ...asTexts("joined list", `- ${values.join("\n- ")}`)
      ]
      : []),
    ...(items.length === 0
      ? [
        ...blanks.map((blank) =>
          way("blank for an empty list", text(blank), [
            [],
            ...(allowsNull(place.declared) ? [null] : field?.isRequired === false ? [undefined] : [])
          ])
        ),
        ...asTexts("blank for an empty list", ...nothings)
      ]
      : [])
  ]
}

const wrappers = ["arguments", "args", "parameters", "params", "input", "properties", "data"]

const recordWays = ({ fields, others }: RecordKind, next: Next): ReadonlyArray<Way> => {
  const wrapper = pick(wrappers.filter((wrapper) => fields.every(({ key }) => fold(key) !== wrapper)), next)
  // A key of a map is data, and so is a name where a name is declared.
  const isMap = typeof others !== "boolean"
  const isNamed = fields.some(({ key }) => fold(key) === "name")
  return [
    { name: "object as text", write: (plain) => text(json(plain)) },
    { name: "Python object", write: (plain) => text(python(plain)) },
    { name: "object in a list", write: (plain) => list(plain) },
    ...(isMap ? [] : [
      { name: "wrapper", write: (plain: Written) => record([wrapper, plain]) },
      { name: "wrapper of text", write: (plain: Written) => record([wrapper, text(json(plain))]) }
    ]),
    ...(isMap || isNamed
      ? []
      : [{ name: "wrapper with a name", write: (plain: Written) => record(["name", text("book")], [wrapper, plain]) }])
  ]
}

/** A value is lost if its field is sent as null or blank: what was meant cannot be known. */
const lost: ReadonlyArray<Way> = [token("null"), ...blanks.map(text)].map((written) => ({
  ...way("blank for a value", written),
  isHopeless: true
}))

export const waysOf = (site: Site, next: Next): ReadonlyArray<Way> => {
  const { field, isItem, place: { content, kind } } = site
  switch (content.form) {
    case "absent":
      return absentWays(content.field)
    case "scalar":
      return [
        ...scalarWays(content.value, kind, isItem),
        ...(field?.isRequired === true && content.value !== null && !blanks.includes(String(content.value)) ? lost : [])
      ]
    case "list":
      return listWays(content.items, site)
    case "record":
      return kind.type === "record" ? recordWays(kind, next) : []
  }
}
