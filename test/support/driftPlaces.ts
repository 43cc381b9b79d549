/** Intended calls for `drifts.ts`: trees of places that may drift, and what the drifted text of a place means. */
import type { Json } from "@fallible/arguments"
import { isDeepStrictEqual } from "node:util"
import { type Field, fits, isList, isRecord, type Kind, type Next, pick } from "./driftKinds.ts"
import { list, record, text, token, valueOf, type Written } from "./driftTexts.ts"

/** A drift that was applied. `active` is what a rendering looks at: with it, the drift shows. */
export interface Applied {
  readonly name: string
  /** False for a drift after which the call may be valid by itself, and still has its meaning: a surplus key. */
  readonly isChecked: boolean
  /** True if the text no longer says which call was meant, so that it must be refused. */
  readonly isHopeless?: boolean
  /** True if the drifted value stays as it is, at a key that is not declared. */
  readonly isUnread?: boolean
}

/** A drift of a value, and the values that the drifted text may mean: by default, the value that was intended. */
export interface ValueDrift extends Applied {
  readonly write: (plain: Written) => Written
  readonly meanings?: ReadonlyArray<Json | undefined>
}

/** Writes the key of a member otherwise, or writes the member once more. */
export interface MemberDrift extends Applied {
  readonly key: string
  /** The member that is added. Without it, the member gets another key. */
  readonly value?: Written
  /** True if the new key stays in the value, because it is undeclared and the object is open. */
  readonly isKept: boolean
}

/** A place in a call, and what was intended there. */
export interface Place {
  /** The kind in the schema, and the kind of the value: one member of a union. */
  readonly declared: Kind
  readonly kind: Kind
  readonly content: Content
  drift?: ValueDrift
}

type Content =
  | { readonly form: "absent"; readonly field: Field }
  | { readonly form: "scalar"; readonly value: boolean | null | number | string }
  | { readonly form: "list"; readonly items: ReadonlyArray<Place> }
  | { readonly form: "record"; readonly members: ReadonlyArray<Member>; readonly surplus: Array<MemberDrift> }

export interface Member {
  readonly key: string
  /** `undefined` for a key of a map. */
  readonly field: Field | undefined
  readonly place: Place
  drift?: MemberDrift
}

const texts = [
  "Paris",
  "New York",
  "it's",
  "Val-d'Isere",
  "say \"hi\"",
  "one\ntwo",
  "C:\\Users\\me",
  "costs $5",
  "12",
  "1.10",
  "1.50",
  "98765432109876543",
  "-0.5",
  "1e3",
  "0.125",
  "007",
  "true",
  "False",
  "null",
  "None",
  "a, b",
  "red and blue",
  "R&D",
  "a@b.co",
  "c@d.eu",
  "https://a.example/x",
  "https://b.example/?q=1",
  "[1,2]",
  "{\"a\":1}",
  "2024-01-02",
  "naïve 漢字",
  "# one",
  "x // y",
  "none",
  "-",
  "only"
]

const numbers = [0, 1, 2, 3, 5, 7, 12, 100, 1500, 2500, 1_234_567, -1, -40]
const fractions = [0.5, -0.5, 0.125, 1.5, 19.99, 1234.5, 1.25, 0.001]
const keys = ["x", "y", "first", "second one", "en-US", "Content-Type", "42"]

/** Makes a value that fits a kind. */
export const intend = (declared: Kind, next: Next, kind = declared): Place => {
  const scalar = (value: boolean | null | number | string): Place => ({
    declared,
    kind,
    content: { form: "scalar", value }
  })
  switch (kind.type) {
    case "integer":
      return scalar(pick(numbers.filter((number) => fits(number, kind)), next))
    case "number":
      return scalar(pick(next(2) === 0 ? numbers : fractions, next))
    case "boolean":
      return scalar(next(2) === 0)
    case "null":
      return scalar(null)
    case "text":
      return scalar(next(20) === 0 && kind.minLength === undefined ? "" : pick(texts, next))
    case "date":
      return scalar(pick(["2024-01-02", "2024-12-31", "1999-10-05"], next))
    case "time":
      return scalar(pick(["2024-01-02T10:00:00Z", "2024-12-31T00:00:00Z", "2024-03-04T05:06:07+02:00"], next))
    case "choice":
      return scalar(pick(kind.choices, next))
    case "nullable":
      return next(3) === 0 ? intend(declared, next, { type: "null" }) : intend(declared, next, kind.of)
    case "union":
      return intend(declared, next, pick(kind.members, next))
    case "list": {
      const items = Array.from({ length: [0, 1, 1, 1, 2, 2, 3][next(7)]! }, () => intend(kind.items, next))
      return { declared, kind, content: { form: "list", items } }
    }
    case "tuple":
      return { declared, kind, content: { form: "list", items: kind.items.map((item) => intend(item, next)) } }
    case "record": {
      const { fields, others } = kind
      const members = fields.map((field): Member => ({
        key: field.key,
        field,
        place: field.isRequired || next(3) > 0
          ? intend(field.kind, next)
          : { declared: field.kind, kind: field.kind, content: { form: "absent", field } }
      }))
      if (typeof others !== "boolean") {
        for (const key of keys) {
          if (next(4) === 0) members.push({ key, field: undefined, place: intend(others, next) })
        }
      }
      return { declared, kind, content: { form: "record", members, surplus: [] } }
    }
  }
}

/** Writes the value at a place, with the drifts that are active. Returns `undefined` for an absent value. */
export const render = (place: Place, isActive: (drift: Applied) => boolean): Written | undefined => {
  const plain = plainly(place, isActive)
  return place.drift !== undefined && isActive(place.drift) ? place.drift.write(plain ?? token("null")) : plain
}

const plainly = ({ content }: Place, isActive: (drift: Applied) => boolean): Written | undefined => {
  switch (content.form) {
    case "absent":
      return undefined
    case "scalar":
      return typeof content.value === "string" ? text(content.value) : token(String(content.value))
    case "list":
      return list(...content.items.map((item) => render(item, isActive)!))
    case "record": {
      const members = content.members.flatMap(({ drift, key, place }) => {
        const value = render(place, isActive)
        if (value === undefined) return []
        if (drift === undefined || !isActive(drift)) return [[key, value] as const]
        return drift.value === undefined
          ? [[drift.key, value] as const]
          : [[key, value] as const, [drift.key, drift.value] as const]
      })
      return record(
        ...members,
        ...content.surplus.filter(isActive).map(({ key, value }) => [key, value ?? token("null")] as const)
      )
    }
  }
}

export const always = () => true

/** The value that was intended at a place; `undefined` for an absent value. */
export const valueAt = (place: Place): unknown => {
  const plain = plainly(place, () => false)
  return plain === undefined ? undefined : valueOf(plain)
}

// -----------------------------------------------------------------------------
// Sites
// -----------------------------------------------------------------------------

/** A place with what is around it. */
export interface Site {
  readonly place: Place
  readonly field: Field | undefined
  readonly isItem: boolean
  /** The outermost union around the value. There, what is unclear for one member may be clear for another. */
  readonly union: Place | undefined
}

export const sitesOf = (place: Place, around: Omit<Site, "place">): ReadonlyArray<Site> => {
  const union = around.union ?? (isUnion(place.declared) ? place : undefined)
  return [
    { ...around, place, union },
    ...(place.content.form === "list"
      ? place.content.items.flatMap((item) => sitesOf(item, { field: undefined, isItem: true, union }))
      : place.content.form === "record"
      ? place.content.members.flatMap(({ field, place }) => sitesOf(place, { field, isItem: false, union }))
      : [])
  ]
}

/** Reports whether a drift was applied at or below a place. */
export const holds = (place: Place, drift: Applied): boolean =>
  place.drift === drift ||
  (place.content.form === "list"
    ? place.content.items.some((item) => holds(item, drift))
    : place.content.form === "record" &&
      place.content.members.some((member) => member.drift === drift || holds(member.place, drift)))

export const isUnion = (kind: Kind): boolean => kind.type === "union" || kind.type === "nullable" && isUnion(kind.of)

// -----------------------------------------------------------------------------
// What a drifted call means
// -----------------------------------------------------------------------------

/** Reports whether a value that was read is a meaning of what was written at a place. */
export const isMeant = (read: unknown, place: Place): boolean => {
  const { content, drift } = place
  if (drift?.meanings !== undefined) return drift.meanings.some((meaning) => isDeepStrictEqual(read, meaning))
  switch (content.form) {
    case "absent":
      return read === undefined
    case "scalar":
      return read === content.value
    case "list":
      return isList(read) && read.length === content.items.length &&
        content.items.every((item, index) => isMeant(read[index], item))
    case "record":
      return isRecord(read) && isRecordMeant(read, content.members, content.surplus)
  }
}

const isRecordMeant = (
  read: { readonly [key: string]: unknown },
  members: ReadonlyArray<Member>,
  surplus: ReadonlyArray<MemberDrift>
): boolean => {
  const expected = new Set<string>()
  const stays = ({ isKept, key }: MemberDrift, value: Written | undefined): boolean => {
    if (!isKept || value === undefined || !isDeepStrictEqual(read[key], valueOf(value))) return false
    expected.add(key)
    return true
  }
  const isMemberMeant = ({ drift, key, place }: Member): boolean => {
    const isRespelt = drift !== undefined && drift.value === undefined
    if (isRespelt && !Object.hasOwn(read, key) && stays(drift, render(place, always))) return true
    if (Object.hasOwn(read, key)) expected.add(key)
    return isMeant(read[key], place) && (drift?.value === undefined || !drift.isKept || stays(drift, drift.value))
  }
  return members.every(isMemberMeant) && surplus.every((drift) => !drift.isKept || stays(drift, drift.value)) &&
    Object.keys(read).every((key) => expected.has(key))
}
