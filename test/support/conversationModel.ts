/**
 * The models of the conversations. A weak one ignores advice: it repeats calls with other words, twice in a turn, with the
 * other tool. A careful one does what it reads. Both say an effect only as often as it is meant: whoever has the answer to
 * a call does not make it again, but where the library promises that nothing happens then.
 */
import type { Transcript } from "@fallible/core"
import { ScriptedModel } from "@fallible/testing"
import { type KindName, kindOf } from "./conversationTools.ts"

/** An effect that the user wants. */
export interface Wanted {
  readonly order: string
  readonly times: 1 | 2
}

/** A turn of a weak model: what it does if nothing forbids it. */
export interface Move {
  readonly does: "call" | "check" | "check and call" | "call and check" | "both orders" | "switch" | "stop"
  /** Whether it makes the call twice in this turn. */
  readonly isTwice: boolean
  /** Whether it repeats a call whose answer it has. */
  readonly isForgetful: boolean
  readonly order: number
  readonly spelling: number
  readonly note: number
}

export interface Speaker {
  readonly kind: KindName
  readonly isCareful: boolean
  readonly wants: ReadonlyArray<Wanted>
  /** The index of the language of a careful model. */
  readonly language: number
  readonly moves: ReadonlyArray<Move>
  /** The most turns of a weak model in one run. */
  readonly patience: number
}

// -----------------------------------------------------------------------------
// Words
// -----------------------------------------------------------------------------

/** The same note in six languages, three times each. */
export const notes: ReadonlyArray<string> = [
  "for Ada",
  "Ada's lunch",
  "please pay Ada, again",
  "für Ada",
  "Adas Mittagessen",
  "bitte noch einmal für Ada",
  "pour Ada",
  "le déjeuner d'Ada",
  "encore une fois pour Ada",
  "para Ada",
  "el almuerzo de Ada",
  "otra vez para Ada, por favor",
  "给艾达",
  "艾达的午餐",
  "请再付一次给艾达",
  "エイダのために",
  "エイダの昼食",
  "もう一度エイダへ"
]

type Spelling = (order: string, note: string | undefined) => object | string

const readable: ReadonlyArray<Spelling> = [
  (order, note) => ({ order, amount: 5, ...noted(note) }),
  (order, note) => ({ ...noted(note), amount: 5, order }),
  (order, note) => ({ order, amount: "5", ...noted(note) }),
  (order, note) => ({ Order: order, ...noted(note) }),
  (order, note) =>
    `{order: ${JSON.stringify(order)}, amount: 5,${note === undefined ? "" : ` note: ${JSON.stringify(note)},`}}`
]

// Only a fixer can read these. They have no note.
const unreadable: ReadonlyArray<Spelling> = [
  (order) => `pay ${order}, five`,
  (order) => ({ what: order })
]

const noted = (note: string | undefined) => note === undefined ? {} : { note }

/** How many spellings there are. */
export const spellings = readable.length + unreadable.length

type Call = [tool: string, args: object | string]

const callOf = (kind: KindName, tool: string, order: string, spelling: number, note: number): Call => {
  const { words } = kindOf(kind)
  const spelled = [...readable, ...unreadable][spelling % spellings]!
  const written = notes[note % notes.length]!
  if (words === "free" && spelling % spellings < readable.length) {
    return [tool, spelled(`${order} ${written}`, undefined)]
  }
  return [tool, spelled(order, words === "a note" ? written : undefined)]
}

// The second of two calls in one turn is equal to the first, as the tool sees it. Without an identity, its words count.
const again = (kind: KindName, tool: string, order: string, { note, spelling }: Move): Call => {
  const { identity } = kindOf(kind)
  if (identity === "order") return callOf(kind, tool, order, spelling + 3, note + 7)
  const isReadable = spelling % spellings < readable.length
  const other = isReadable ? (spelling + 1) % readable.length : spelling
  return callOf(kind, tool, order, other, note)
}

// -----------------------------------------------------------------------------
// What a model has read
// -----------------------------------------------------------------------------

interface Result {
  readonly tool: string
  readonly order: string
  readonly args: string
  readonly text: string
  /** Whether the call was made since the last message of the user. */
  readonly isOfThisRun: boolean
}

/** The results of a transcript, in order, each with its call. */
export const resultsIn = (messages: ReadonlyArray<Transcript.Message>): ReadonlyArray<Result> => {
  const start = messages.findLastIndex(({ role }) => role === "user")
  return messages.flatMap((message, at) =>
    message.role !== "assistant" ? [] : message.calls.flatMap(({ arguments: args = "", name }, index) => {
      const result = messages[at + 1 + index]
      const order = /o-\d/.exec(args)?.[0]
      return result?.role !== "tool" || order === undefined
        ? []
        : [{ tool: name, order, args, text: result.text, isOfThisRun: at > start }]
    })
  )
}

const isFailed = ({ text }: Result) => text.includes("\"ok\":false")

/** True for the one result of an effect. */
export const isSuccess = (result: Result) =>
  result.tool !== "payment_status" && !isFailed(result) && !result.text.includes("This turn has the same call twice")

// How many times the model believes that an effect has happened.
const countOf = (messages: ReadonlyArray<Transcript.Message>, { order, times }: Wanted): number => {
  const results = resultsIn(messages)
  const isHeard = messages.some((message) => message.role === "user" && message.text.includes(`${order} has happened`))
  if (isHeard) return times
  const own = results.filter((result) => result.order === order)
  const isSettled = own.some(({ text, tool }) =>
    text.includes("\"already_done\"") || tool === "payment_status" && text.includes("has taken effect")
  )
  return isSettled ? times : own.filter(isSuccess).length
}

// -----------------------------------------------------------------------------
// Scripts
// -----------------------------------------------------------------------------

const check = (order: string): Call => ["payment_status", { order }]

const done = ScriptedModel.text("That is all I can say now.")

export const scriptOf = (speaker: Speaker): ScriptedModel.Script => ({ messages, tools }) => {
  const results = resultsIn(messages)
  const isOffered = (tool: string) => tools.some(({ name }) => name === tool)
  const calls = (speaker.isCareful ? careful : weak)(speaker, messages, results, isOffered)
  const possible = calls.filter(([tool]) => isOffered(tool))
  return possible.length === 0 ? done : ScriptedModel.calls(...possible)
}

type Chosen = (
  speaker: Speaker,
  messages: ReadonlyArray<Transcript.Message>,
  results: ReadonlyArray<Result>,
  isOffered: (tool: string) => boolean
) => ReadonlyArray<Call>

const weak: Chosen = ({ kind, moves, patience, wants }, messages, results) => {
  const turn = messages.filter(({ role }) => role === "assistant").length
  const turnOfRun = messages.slice(messages.findLastIndex(({ role }) => role === "user"))
    .filter(({ role }) => role === "assistant").length
  const move = moves[turn % moves.length]!
  const open = wants.filter((wanted) => countOf(messages, wanted) < wanted.times)
  if (turnOfRun >= patience) return []
  if (open.length === 0) return move.isForgetful ? repeated(kind, results, move) : []
  const wanted = open[move.order % open.length]!
  const { order, times } = wanted
  const { joins } = kindOf(kind)
  const call = callOf(kind, move.does === "switch" ? "transfer" : "pay", order, move.spelling, move.note)
  // If each call counts, the model makes as many as are still missing, and none twice.
  const called = joins === false
    ? Array.from({ length: times - countOf(messages, wanted) }, () => call)
    : move.isTwice
    ? [call, again(kind, call[0], order, move)]
    : [call]
  switch (move.does) {
    case "stop":
      return []
    case "check":
      return [check(order), check(order)]
    case "check and call":
      return [check(order), ...called]
    case "call and check":
      return [...called, check(order)]
    case "both orders": {
      const other = open.find((one) => one.order !== order)
      return other === undefined ? called : [
        ...called,
        callOf(kind, "pay", other.order, move.spelling, move.note),
        ...(
          joins === false ? [] : called
        )
      ]
    }
    case "call":
    case "switch":
      return called
  }
}

// A model that forgets what it has read. A tool that says that its effect is not to be repeated refuses each repetition; any
// other one a repetition in a later run: by its identity, or of the same arguments.
const repeated = (kind: KindName, results: ReadonlyArray<Result>, move: Move): ReadonlyArray<Call> => {
  const { identity, repeats } = kindOf(kind)
  const earlier = results.filter((result) =>
    isSuccess(result) && (repeats === false || !result.isOfThisRun) &&
    !results.some(({ isOfThisRun, order }) => repeats !== false && isOfThisRun && order === result.order)
  )
  const one = earlier[move.order % Math.max(1, earlier.length)]
  if (one === undefined) return []
  return identity === "order"
    ? [callOf(kind, one.tool, one.order, move.spelling, move.note)]
    : /^\{.*"order"/is.test(one.args)
    ? [[one.tool, one.args]]
    : []
}

// In each run, a careful model first checks what is in doubt, if it can. It calls once, and again only if a check says that
// nothing was done, or the advice is to repeat the same call.
const careful: Chosen = ({ kind, language, wants }, messages, results, isOffered) => {
  const { joins } = kindOf(kind)
  for (const wanted of wants) {
    const missing = wanted.times - countOf(messages, wanted)
    if (missing <= 0) continue
    const own = results.filter(({ order, tool }) => order === wanted.order && tool !== "transfer")
    const last = own.at(-1)
    const ofThisRun = own.filter(({ isOfThisRun }) => isOfThisRun)
    const isInDoubt = last !== undefined && last.tool === "pay" && isFailed(last) && doubtful.test(last.text)
    const call = callOf(kind, "pay", wanted.order, 0, language * 3)
    if (
      isInDoubt && isOffered("payment_status") && ofThisRun.filter(({ tool }) => tool === "payment_status").length < 3
    ) {
      return [check(wanted.order)]
    }
    const isOpen = last?.tool === "payment_status" && last.text.includes("has not taken effect")
    const isFirst = !ofThisRun.some(({ tool }) => tool === "pay")
    const isLastPaid = last !== undefined && isSuccess(last)
    const mayRepeat = last !== undefined && /exactly (its|the) arguments/.test(last.text) && ofThisRun.length < 3
    // A check that has found nothing yet is asked again later.
    const waits = last?.isOfThisRun === true && last.tool === "payment_status" && !isOpen
    if (!waits && (isOpen || isFirst || isLastPaid || mayRepeat)) {
      return Array.from({ length: joins === false ? missing : 1 }, () => call)
    }
  }
  return []
}

const doubtful = /may (already )?have (taken effect|worked)|no proof|outcome_unknown|in_doubt/
