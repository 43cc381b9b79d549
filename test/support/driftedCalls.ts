/** Makes calls that drift, for `drifts.ts`. */
import type { Json } from "@fallible/arguments"
import { isDeepStrictEqual } from "node:util"
import { type Field, fits, fold, isOfTwo, type Next, pick, type RecordKind, spellings } from "./driftKinds.ts"
import {
  always,
  type Applied,
  holds,
  intend,
  isMeant,
  type MemberDrift,
  type Place,
  render,
  type Site,
  sitesOf,
  valueAt
} from "./driftPlaces.ts"
import { json, outerDrifts, pieceDrifts, piecesOf, spaced, text, token, valueOf } from "./driftTexts.ts"
import { waysOf } from "./driftWays.ts"

/** The drifts after which a value has one reading, even in a union. */
const clear: ReadonlySet<string> = new Set([
  "number as text",
  "boolean as text",
  "boolean in capitals",
  "case of a choice",
  "date without zeros",
  "space in a time",
  "number for a text",
  "boolean for a text",
  "list of one",
  "list as text",
  "single for a list",
  "null for an absent field",
  "object as text",
  "wrapper",
  "wrapper of text"
])

interface Call {
  readonly text: string
  readonly intended: Json
  readonly drifts: ReadonlyArray<string>
  readonly isMeant: (read: unknown) => boolean
}

/** Makes a call with one to three drifts; `undefined` if a drift made another valid call of it. */
export const driftedCall = (kind: RecordKind, next: Next): Call | undefined => {
  const root = intend(kind, next)
  // What fits two members of a `oneOf` is not a valid call.
  const intended = valueAt(root) as Json
  if (!fits(intended, kind)) return undefined
  let sites = sitesOf(root, { field: undefined, isItem: false, union: undefined })
  const applied: Array<Applied> = []
  const ofText = new Set<string>()
  for (let left = 1 + next(3); left > 0; left--) {
    const drift = next(3) === 0
      ? undefined
      : next(4) === 0
      ? driftKeys(sites, next)
      : driftValue(sites[next(sites.length)]!, next)
    if (drift !== undefined) {
      applied.push(drift)
      // A union with two drifts may be clear for another member.
      sites = sites.filter(({ union }) => union === undefined || !holds(union, drift))
    } else ofText.add(next(3) === 0 ? pick(Object.keys(outerDrifts), next) : pick(Object.keys(pieceDrifts), next))
  }
  const checked = applied.filter(({ isChecked }) => isChecked)
  let isHopeless = applied.some(({ isHopeless }) => isHopeless === true)
  // What is at a mistyped key that stays may be anything.
  if (applied.length > 1 && applied.some(({ isUnread }) => isUnread === true)) return undefined
  for (let subset = 1; subset < 2 ** checked.length; subset++) {
    const active = new Set(checked.filter((_, index) => (subset >> index & 1) === 1))
    const value = valueOf(render(root, (drift) => active.has(drift))!)
    if (fits(value, kind) && !isDeepStrictEqual(value, intended)) return undefined
    if (isOfTwo(value, kind)) isHopeless = true
  }
  const names = applied.map(({ name }) => name)
  let pieces = spaced(piecesOf(render(root, always)!), next)
  // Two wrong brackets may be right together.
  if (ofText.delete("missing bracket") && !ofText.has("surplus closers") && !ofText.has("wrong bracket")) {
    ofText.add("missing bracket")
  }
  for (const name of ofText) {
    const changed = pieceDrifts[name]?.(pieces, next)
    if (changed === undefined) continue
    pieces = changed
    names.push(name)
  }
  let sent = pieces.map(({ text }) => text).join("")
  for (const name of ofText) {
    const changed = outerDrifts[name]?.(sent, next)
    if (changed === undefined) continue
    sent = changed
    names.push(name)
  }
  const cut = sent.slice(0, 1 + next(sent.length - 1))
  // A blank text stands for a call without arguments.
  if (next(12) === 0 && cut.trim() !== "") {
    sent = cut
    names.push("cut off")
  }
  return {
    text: sent,
    intended,
    drifts: names,
    isMeant: (read) => !isHopeless && isMeant(read, root)
  }
}

const driftValue = (site: Site, next: Next): Applied | undefined => {
  const ways = waysOf(site, next).filter(({ name }) => site.union === undefined || clear.has(name))
  if (ways.length === 0 || site.place.drift !== undefined) return undefined
  // Chooses the name first, because some drifts have many ways.
  const name = pick([...new Set(ways.map((way) => way.name))], next)
  const drift = { ...pick(ways.filter((way) => way.name === name), next), isChecked: true }
  site.place.drift = drift
  return drift
}

/** Lets a key drift, or adds a surplus key, in one of the objects. */
const driftKeys = (sites: ReadonlyArray<Site>, next: Next): Applied | undefined => {
  const objects = sites.flatMap(({ place: { content, kind }, union }) =>
    content.form === "record" && kind.type === "record" && content.members.length > 0 ? [{ content, kind, union }] : []
  )
  if (objects.length === 0) return undefined
  const { content: { members, surplus }, kind, union } = pick(objects, next)
  // In a map, every other key is data.
  const isMap = union !== undefined || typeof kind.others !== "boolean"
  const isOpen = kind.others === true
  const taken = new Set([...kind.fields, ...members].map(({ key }) => fold(key)))
  if (next(4) === 0) {
    const key = pick(["reason", "thought", "explanation", "id_", "extra"], next)
    if (isMap || surplus.some((other) => other.key === key)) return undefined
    const value = pick([text("because"), token("1"), token("true"), text("3"), token("null")], next)
    const drift: MemberDrift = { name: "surplus key", key, value, isKept: isOpen, isChecked: false }
    surplus.push(drift)
    return drift
  }
  const member = pick(members, next)
  const { field, key, place } = member
  if (member.drift !== undefined || field === undefined || render(place, always) === undefined) return undefined
  const ways = isMap
    ? [respelt, repeated]
    : [respelt, respelt, respelt, respelt, respeltTwice, mistyped, rival, repeated]
  const drift = pick(ways, next)({ field, isOpen, key, next, place, surplus, taken })
  if (drift !== undefined) member.drift = drift
  return drift
}

interface Keyed {
  readonly field: Field
  readonly isOpen: boolean
  readonly key: string
  readonly next: Next
  readonly place: Place
  readonly surplus: Array<MemberDrift>
  readonly taken: ReadonlySet<string>
}

const otherSpelling = ({ field, key, next }: Keyed): string | undefined =>
  pick([undefined, ...spellings(field.words).filter((spelling) => spelling !== key)], next)

const respelt = (keyed: Keyed): MemberDrift | undefined => {
  const key = otherSpelling(keyed)
  return key === undefined ? undefined : { name: "respelt key", key, isKept: false, isChecked: true }
}

const respeltTwice = (keyed: Keyed): MemberDrift | undefined => {
  const [first, second] = [otherSpelling(keyed), otherSpelling(keyed)]
  const value = render(intend(keyed.field.kind, keyed.next), always)
  if (first === undefined || second === undefined || first === second || value === undefined) return undefined
  const drift = { name: "two other spellings of a key", isKept: false, isHopeless: true }
  keyed.surplus.push({ ...drift, key: second, value, isChecked: false })
  return { ...drift, key: first, isChecked: true }
}

/** A typo. In an open object, an optional key with a typo is another key, and stays in the value. */
const mistyped = ({ field, isOpen, key, next, taken }: Keyed): MemberDrift | undefined => {
  const at = next(key.length)
  const typo = pick([
    key.slice(0, at) + key.slice(at + 1),
    key.slice(0, at + 1) + key.slice(at),
    `${key}s`,
    `${key}_value`,
    `the_${key}`
  ], next)
  if (typo === "" || taken.has(fold(typo))) return undefined
  const isKept = isOpen && !field.isRequired
  return { name: "mistyped key", key: typo, isKept, isChecked: !isKept, isUnread: isKept }
}

/** Another spelling of a key beside the key itself. In an open object, it stays. */
const rival = (keyed: Keyed): MemberDrift | undefined => {
  const { field, isOpen, next, place } = keyed
  const key = otherSpelling(keyed)
  const value = render(intend(field.kind, next), always)
  const beside = render(place, always)
  if (key === undefined || value === undefined || beside === undefined) return undefined
  // If the key itself is blank, it is unclear which of the two counts.
  const isHopeless = place.content.form === "absent" && !/^"?[[{]/.test(json(beside))
  return { name: "respelt key beside the key", key, value, isKept: isOpen, isChecked: false, isHopeless }
}

/** The same key twice, with the same value or with another one. */
const repeated = ({ field, key, next, place }: Keyed): MemberDrift | undefined => {
  const same = render(place, always)
  const value = next(2) === 0 ? same : render(intend(field.kind, next), always)
  if (value === undefined || same === undefined) return undefined
  const isHopeless = !isDeepStrictEqual(valueOf(value), valueOf(same))
  return { name: "key twice", key, value, isKept: false, isChecked: false, isHopeless }
}
