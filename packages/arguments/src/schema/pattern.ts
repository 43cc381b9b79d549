/**
 * JSON Schema's `pattern`, matched in time linear in the text, whatever the pattern.
 *
 * Why not the engine's own RegExp? It backtracks: `^(a+)+$` takes it 21 s on 28 characters, and a schema is foreign code. It
 * still says what is a regular expression, and what one character is (`\p{Lu}`, `[^\s,]`); what follows what is ours:
 *
 *     automaton   nodes that take one character, or ask about a place (Thompson 1968)
 *     matcher     all nodes that may come next are followed at once, and what each set of them becomes on which kind of
 *                 character is kept (Russ Cox, "Regular Expression Matching Can Be Simple And Fast", 2007)
 *
 * What holds at a place between two characters is a bit of its mark: the start, the end, a word boundary, and a bit for each
 * lookaround. Those are automata that run over the text first, inner ones before outer ones: a lookbehind from its start, a
 * lookahead backwards from its end (Barrière and Pit-Claudel, "Linear Matching of JavaScript Regexes", 2024).
 *
 * Characters are code points, as the specification has it; V8 also finds what is empty, as `\B`, between two surrogates.
 */

/** A regular expression, searched for anywhere in a text. */
export interface Pattern {
  readonly test: (text: string) => boolean
}

/** A pattern from its source; `undefined` if it cannot be matched in linear time, or is no regular expression. */
export const patternOf = (source: string): Pattern | undefined => {
  if (known.has(source)) return known.get(source)
  const pattern = compiled(source)
  if (known.size === mostKnown) known.delete(known.keys().next().value!)
  known.set(source, pattern)
  return pattern
}

const known = new Map<string, Pattern | undefined>()
const mostKnown = 1_000

const longestSource = 10_000
/** It recurses into groups. */
const mostGroups = 250
/** What repeats may expand to: no character costs more than a visit to each node. */
const mostNodes = 2_500
/** As many as there are bits for in a mark. */
const mostLookarounds = 28
/** What is kept of a pattern's states and steps, at these costs and one for each node: a megabyte at most. */
const mostKept = 100_000
const [costOfState, costOfStep] = [50, 5]
const mostCharacters = 4_000

const compiled = (source: string): Pattern | undefined => {
  if (source.length > longestSource || !isRegExp(source)) return undefined
  const tokens = source.match(token) ?? []
  if (tokens.some((token) => unsupported.test(token))) return undefined
  if (tokens.filter((token) => token.startsWith("(")).length > mostGroups) return undefined
  const automaton = automatonOf(tokens)
  return automaton && matcher(automaton)
}

const isRegExp = (source: string): boolean => {
  try {
    return new RegExp(source, "u").unicode
  } catch {
    return false
  }
}

// -----------------------------------------------------------------------------
// The automaton
// -----------------------------------------------------------------------------

/** It takes a character, if it has an atom, or asks about the mark of a place; and then goes on to others. */
interface Node {
  readonly atom: number | undefined
  readonly mask: number
  readonly value: number
  readonly to: Array<number>
}

interface Automaton {
  readonly nodes: ReadonlyArray<Node>
  readonly first: number
  /** Inner ones before outer ones. */
  readonly lookarounds: ReadonlyArray<{ readonly first: number; readonly isAhead: boolean }>
  /** The sources of what takes one character. */
  readonly atoms: ReadonlyArray<string>
}

/** A part of a pattern, which can be added several times. */
interface Part {
  /** How many nodes it adds, or some more. */
  readonly size: number
  /** Adds its nodes before the one that comes next, and returns the first of them. */
  readonly before: (next: number) => number
}

// The node at which something has been found.
const accepting = 0
// The bits of a mark.
const [start, end, boundary, firstLookaround] = [1, 2, 4, 8]
const wordCharacter = "\\w"

// What a token is does not depend on where it stands: flag "u" has no octal escapes, and no brace stands for itself.
const token = new RegExp(
  [
    /\(\?(?:<?[=!]|:|<[^>]*>)?/, // a group
    /[*+?]\??|\{\d+(?:,\d*)?\}\??/, // a quantifier
    /\[(?:\\[^]|[^\]\\])*\]/, // a class
    /\\u[dD][89abAB]..\\u[dD][c-fC-F]../, // a surrogate pair
    /\\(?:[upP]\{[^}]*\}|u.{4}|x..|c.|[^])|[^]/
  ].map(({ source }) => source).join("|"),
  "gu"
)
// References back, which are not regular, and modifiers, which change what an atom is.
const unsupported = /^(?:\(\?|\\[1-9k])$/
const shorthands: Readonly<Record<string, string>> = { "*": "{0,}", "+": "{1,}", "?": "{0,1}" }

/** The automaton of tokens that are known to be a regular expression, unless it is too large. */
const automatonOf = (tokens: ReadonlyArray<string>): Automaton | undefined => {
  const atoms = new Map<string, number>()
  const lookarounds: Array<{ readonly body: Part; readonly isAhead: boolean }> = []
  const nodes: Array<Node> = [{ atom: undefined, mask: 0, value: 0, to: [] }]
  let at = 0

  const choice = (isBackwards: boolean): Part => {
    const options = [sequence(isBackwards)]
    for (; tokens[at] === "|"; options.push(sequence(isBackwards))) at++
    if (options.length === 1) return options[0]!
    const before = (next: number): number => node(options.map((option) => option.before(next)))
    return { size: sizeOf(options) + options.length - 1, before }
  }
  const sequence = (isBackwards: boolean): Part => {
    const items: Array<Part> = []
    while (/^[^|)]/.test(tokens[at] ?? "")) items.push(repeated(term(tokens[at++]!, isBackwards)))
    const lastFirst = isBackwards ? items : items.toReversed()
    return { size: sizeOf(items), before: (next) => lastFirst.reduce((next, item) => item.before(next), next) }
  }
  const repeated = (body: Part): Part => {
    const token = tokens[at] ?? ""
    const [, from, comma, to] = /^\{(\d+)(,?)(\d*)/.exec(shorthands[token.charAt(0)] ?? token) ?? []
    if (from === undefined) return body
    at++
    const least = Number(from)
    const most = comma === "" ? least : Number(to || Infinity)
    const before = (next: number): number => {
      let [first, needed] = [next, least]
      if (most === Infinity) {
        // The last one may come again: `(((a+)+)+)+` has one body so, and not sixteen.
        const again: Array<number> = []
        const loop = node(again)
        first = body.before(loop)
        again.push(first, next)
        if (least === 0) return loop
        needed--
      } else {
        for (let more = least; more < most; more++) first = node([body.before(first), next])
      }
      for (; needed > 0; needed--) first = body.before(first)
      return first
    }
    const each = Math.max(body.size, 1)
    const endless = Math.max(least, 1) * each + 1
    return { size: most === Infinity ? endless : least * each + (most - least) * (each + 1), before }
  }
  const term = (token: string, isBackwards: boolean): Part => {
    if (token === "^") return place(start, true)
    if (token === "$") return place(end, true)
    if (token === "\\b" || token === "\\B") return place(boundary, token === "\\b")
    if (token.startsWith("(")) return group(token, isBackwards)
    const atom = atomOf(token)
    return { size: 1, before: (next) => node([next], atom) }
  }
  const group = (opening: string, isBackwards: boolean): Part => {
    const isLookaround = /[=!]$/.test(opening)
    const isAhead = isLookaround && !opening.includes("<")
    const body = choice(isLookaround ? isAhead : isBackwards)
    at++
    if (!isLookaround) return body
    return place(firstLookaround << lookarounds.push({ body, isAhead }) - 1, opening.endsWith("="))
  }
  const place = (mask: number, holds: boolean): Part => {
    if (mask === boundary) atomOf(wordCharacter)
    return { size: 1, before: (next) => node([next], undefined, mask, holds ? mask : 0) }
  }
  const node = (to: Array<number>, atom?: number, mask = 0, value = 0): number =>
    nodes.push({ atom, mask, value, to }) - 1
  const atomOf = (source: string): number => {
    const index = atoms.get(source) ?? atoms.size
    atoms.set(source, index)
    return index
  }

  const whole = choice(false)
  const size = sizeOf([whole, ...lookarounds.map(({ body }) => body)])
  // Not `size > mostNodes`, since it may be NaN.
  if (!(size <= mostNodes) || lookarounds.length > mostLookarounds) return undefined
  return {
    nodes,
    atoms: [...atoms.keys()],
    first: whole.before(accepting),
    lookarounds: lookarounds.map(({ body, isAhead }) => ({ first: body.before(accepting), isAhead }))
  }
}

const sizeOf = (parts: ReadonlyArray<Part>): number => parts.reduce((sum, { size }) => sum + size, 0)

// -----------------------------------------------------------------------------
// The matcher
// -----------------------------------------------------------------------------

/** The nodes that may come next, before it is known what holds at the place. */
interface State {
  /** The first one of the automaton is always there, since what is looked for may begin anywhere. */
  readonly nodes: readonly [first: number, ...others: Array<number>]
  /** Had the state before it found something, at the place where it was? */
  readonly hasFound: boolean
  /** What it becomes, by the mark of the place and the kind of the character there. */
  readonly next: Map<number, State>
}

const matcher = ({ atoms, first, lookarounds, nodes }: Automaton): Pattern => {
  const asksForWords = nodes.some(({ mask }) => mask === boundary)
  const word = atoms.indexOf(wordCharacter)
  const marksBelow = firstLookaround * 2 ** lookarounds.length

  // Characters that no atom tells apart are of one kind; kind 0 is none at all.
  const alone = atoms.map((atom) => /^[[\\.]/.test(atom) ? new RegExp(`^(?:${atom})$`, "u") : undefined)
  const kinds = [""]
  const kindByAtoms = new Map<string, number>()
  const kindByCharacter = new Map<string, number>()
  const states = new Map<string, State>()
  let kept = 0

  const kindOf = (character: string): number => {
    const takenBy = atoms.map((atom, index) => alone[index]?.test(character) ?? atom === character ? "1" : "0").join("")
    const kind = kindByAtoms.get(takenBy) ?? kinds.push(takenBy) - 1
    kindByAtoms.set(takenBy, kind)
    kindByCharacter.set(character, kind)
    return kind
  }
  const stateOf = (next: State["nodes"], hasFound: boolean): State => {
    const bits = new Uint16Array((nodes.length >> 4) + 1)
    for (const index of next) bits[index >> 4]! |= 1 << (index & 15)
    const key = String.fromCharCode(Number(hasFound), ...bits)
    const known = states.get(key)
    if (known !== undefined) return known
    const state = { nodes: next, hasFound, next: new Map<number, State>() }
    states.set(key, state)
    kept += costOfState + next.length
    return state
  }
  const step = (state: State, mark: number, kind: number): State => {
    const [first] = state.nodes
    const [isReached, isNext] = [new Uint8Array(nodes.length), new Uint8Array(nodes.length)]
    const reached: Array<number> = []
    const next: [number, ...Array<number>] = [first]
    isNext[first] = 1
    const reach = (index: number): void => {
      if (isReached[index] === 0) reached.push(index)
      isReached[index] = 1
    }
    state.nodes.forEach(reach)
    for (const index of reached) {
      const { atom, mask, to, value } = nodes[index]!
      if (atom === undefined) {
        if ((mark & mask) === value) to.forEach(reach)
      } else if (kinds[kind]![atom] === "1" && isNext[to[0]!] === 0) {
        isNext[to[0]!] = 1
        next.push(to[0]!)
      }
    }
    // What was kept is dropped before it is too much; the state that it is at keeps no more steps then.
    if (kept > mostKept) {
      states.clear()
      kept = 0
    }
    const become = stateOf(next, isReached[accepting] === 1)
    state.next.set(kind * marksBelow + mark, become)
    kept += costOfStep
    return become
  }

  const test = (text: string): boolean => {
    if (kindByCharacter.size > mostCharacters) kindByCharacter.clear()
    const read = new Int32Array(text.length)
    let length = 0
    for (const character of text) read[length++] = kindByCharacter.get(character) ?? kindOf(character)
    const marks = new Int32Array(length + 1)
    marks[0] = start
    marks[length]! |= end
    if (asksForWords) {
      const isWord = (at: number): boolean => kinds[read[at] ?? 0]![word] === "1"
      for (let at = 0; at <= length; at++) if (isWord(at - 1) !== isWord(at)) marks[at]! |= boundary
    }
    /** Marks the places where something is found with a bit, or stops at the first one if there is no bit for it. */
    const search = (first: number, isBackwards: boolean, bit: number): boolean => {
      let state = stateOf([first], false)
      for (let passed = 0; passed <= length; passed++) {
        const at = isBackwards ? length - passed : passed
        const kind = passed === length ? 0 : read[isBackwards ? at - 1 : at]!
        const mark = marks[at]!
        state = state.next.get(kind * marksBelow + mark) ?? step(state, mark, kind)
        if (!state.hasFound) continue
        if (bit === 0) return true
        marks[at] = mark | bit
      }
      return false
    }
    lookarounds.forEach(({ first, isAhead }, index) => search(first, isAhead, firstLookaround << index))
    return search(first, false, 0)
  }
  return { test }
}
