/**
 * Matches JSON Schema's `pattern`. For every pattern, the time is linear in the length of the string.
 *
 * Why not the engine's own RegExp? It backtracks: matching `^(a+)+$` takes 21 s on 28 characters, and a
 * schema may come from an untrusted source. RegExp still decides whether a pattern is valid, and which
 * characters an atom matches. (An atom matches one character: `\p{Lu}`, `[^\s,]`.) The sequence of atoms is
 * matched here:
 *
 *     automaton   nodes that each match one character or test a position between characters (Thompson 1968)
 *     matcher     follows all possible nodes in parallel, and caches which set of nodes each kind of character leads to
 *                 (Russ Cox, "Regular Expression Matching Can Be Simple And Fast", 2007)
 *
 * Each place before, between or after characters has a mark. A mark is a set of bits: for the start, for the
 * end, for a word boundary, and one for each lookaround that holds there. Each lookaround is a separate
 * automaton. These automata run before the main one, inner lookarounds before outer ones. A lookbehind runs
 * forwards from the start of the string, a lookahead backwards from its end (Barrière and Pit-Claudel,
 * "Linear Matching of JavaScript Regexes", 2024).
 *
 * Characters are code points, as the specification demands. V8, in contrast, also finds empty matches (such
 * as `\B`) between the two halves of a surrogate pair.
 */
import { newMap } from "../memo.ts"

/** A compiled pattern. It matches if it is found anywhere in the string. */
export interface Pattern {
  readonly test: (text: string) => boolean
}

/** Compiles a pattern. Returns `undefined` if it is not a regular expression, or cannot be matched in linear time. */
export const patternOf = (source: string): Pattern | undefined => {
  if (cache.has(source)) return cache.get(source)
  const pattern = compile(source)
  if (cache.size === maxCached) cache.delete(cache.keys().next().value!)
  cache.set(source, pattern)
  return pattern
}

const cache = newMap<string, Pattern | undefined>()
const maxCached = 1_000

const longestSource = 10_000
/** The most groups in a pattern: parsing recurses into groups. */
const maxGroups = 250
/** The most nodes of an automaton, with repetitions expanded. Each character costs at most one visit to each node. */
const maxNodes = 2_500
/** The most lookarounds in a pattern: a mark has this many bits left for them. */
const maxLookarounds = 28
/**
 * The most that the cache of a pattern may cost. Each state and each step has the cost below, and each node
 * of a state costs one more. This limits the cache to about a megabyte.
 */
const maxCacheCost = 100_000
const costOfState = 50
const costOfStep = 5
const maxCharacters = 4_000

const compile = (source: string): Pattern | undefined => {
  if (source.length > longestSource || !isRegExp(source)) return undefined
  const tokens = source.match(token) ?? []
  if (tokens.some((token) => unsupported.test(token))) return undefined
  if (tokens.filter((token) => token.startsWith("(")).length > maxGroups) return undefined
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

/**
 * A node of the automaton. With an atom, it takes one character; without one, it tests the mark of a place.
 * If that succeeds, the nodes in `to` come next.
 */
interface Node {
  readonly atom: number | undefined
  readonly mask: number
  readonly value: number
  readonly to: Array<number>
}

interface Automaton {
  readonly nodes: ReadonlyArray<Node>
  readonly first: number
  /** Inner lookarounds come before outer ones. */
  readonly lookarounds: ReadonlyArray<{ readonly first: number; readonly isAhead: boolean }>
  /** The sources of the atoms, which take one character each. */
  readonly atoms: ReadonlyArray<string>
}

/** A part of a pattern. It can be added to the automaton several times, as repetitions require. */
interface Part {
  /** An upper limit for the number of nodes that the part adds. */
  readonly size: number
  /** Adds the part's nodes in front of the node `next`, and returns the first added node. */
  readonly before: (next: number) => number
}

// The node that is reached when the pattern has matched.
const accepting = 0
// The bits of a mark.
const start = 1
const end = 2
const boundary = 4
const firstLookaround = 8
const wordCharacter = "\\w"

// With the flag "u", a token means the same everywhere: there are no octal escapes, and a brace is never literal.
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
// Back references are not regular, and modifiers change what an atom matches.
const unsupported = /^(?:\(\?|\\[1-9k])$/
const shorthands: Readonly<Record<string, string>> = { "*": "{0,}", "+": "{1,}", "?": "{0,1}" }

/** Builds the automaton of a valid regular expression from its tokens; `undefined` if it is too large. */
const automatonOf = (tokens: ReadonlyArray<string>): Automaton | undefined => {
  const atoms = newMap<string, number>()
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
    while (/^[^|)]/.test(tokens[at] ?? "")) items.push(repetition(term(tokens[at++]!, isBackwards)))
    const lastFirst = isBackwards ? items : items.toReversed()
    return { size: sizeOf(items), before: (next) => lastFirst.reduce((next, item) => item.before(next), next) }
  }
  const repetition = (body: Part): Part => {
    const token = tokens[at] ?? ""
    const [, from, comma, to] = /^\{(\d+)(,?)(\d*)/.exec(shorthands[token.charAt(0)] ?? token) ?? []
    if (from === undefined) return body
    at++
    const min = Number(from)
    const max = comma === "" ? min : Number(to || Infinity)
    const before = (next: number): number => {
      let [first, needed] = [next, min]
      if (max === Infinity) {
        // The last repetition loops back to itself. So `(((a+)+)+)+` has one body instead of sixteen.
        const again: Array<number> = []
        const loop = node(again)
        first = body.before(loop)
        again.push(first, next)
        if (min === 0) return loop
        needed--
      } else {
        for (let more = min; more < max; more++) first = node([body.before(first), next])
      }
      for (; needed > 0; needed--) first = body.before(first)
      return first
    }
    const each = Math.max(body.size, 1)
    const endless = Math.max(min, 1) * each + 1
    return { size: max === Infinity ? endless : min * each + (max - min) * (each + 1), before }
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
  // Not `size > maxNodes`, because the size may be NaN.
  if (!(size <= maxNodes) || lookarounds.length > maxLookarounds) return undefined
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

/** The nodes that may come next, before the mark of the place is known. */
interface State {
  /** The automaton's first node is always included, because a match may begin anywhere. */
  readonly nodes: readonly [first: number, ...others: Array<number>]
  /** Whether the state before this one found a match at its place. */
  readonly hasFound: boolean
  /** The states that follow, by the mark of the place and the kind of the next character. */
  readonly next: Map<number, State>
}

const matcher = ({ atoms, first, lookarounds, nodes }: Automaton): Pattern => {
  const hasWordBoundary = nodes.some(({ mask }) => mask === boundary)
  const word = atoms.indexOf(wordCharacter)
  const marksBelow = firstLookaround * 2 ** lookarounds.length

  // Characters are of the same kind if the same atoms match them. Kind 0 means that there is no character.
  const testers = atoms.map((atom) => /^[[\\.]/.test(atom) ? new RegExp(`^(?:${atom})$`, "u") : undefined)
  const kinds = [""]
  const kindByAtoms = newMap<string, number>()
  const kindByCharacter = newMap<string, number>()
  const states = newMap<string, State>()
  let cacheCost = 0

  const kindOf = (character: string): number => {
    const atomBits = atoms.map((atom, index) => testers[index]?.test(character) ?? atom === character ? "1" : "0").join(
      ""
    )
    const kind = kindByAtoms.get(atomBits) ?? kinds.push(atomBits) - 1
    kindByAtoms.set(atomBits, kind)
    kindByCharacter.set(character, kind)
    return kind
  }
  const stateOf = (next: State["nodes"], hasFound: boolean): State => {
    const bits = new Uint16Array((nodes.length >> 4) + 1)
    for (const index of next) bits[index >> 4]! |= 1 << (index & 15)
    const key = String.fromCharCode(Number(hasFound), ...bits)
    const existing = states.get(key)
    if (existing) return existing
    const state = { nodes: next, hasFound, next: newMap<number, State>() }
    states.set(key, state)
    cacheCost += costOfState + next.length
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
    // The cache is cleared before it grows too large. The current state is then no longer in the cache.
    if (cacheCost > maxCacheCost) {
      states.clear()
      cacheCost = 0
    }
    const nextState = stateOf(next, isReached[accepting] === 1)
    state.next.set(kind * marksBelow + mark, nextState)
    cacheCost += costOfStep
    return nextState
  }

  const test = (text: string): boolean => {
    if (kindByCharacter.size > maxCharacters) kindByCharacter.clear()
    const kindsInText = new Int32Array(text.length)
    let length = 0
    for (const character of text) kindsInText[length++] = kindByCharacter.get(character) ?? kindOf(character)
    const marks = new Int32Array(length + 1)
    marks[0] = start
    marks[length]! |= end
    if (hasWordBoundary) {
      const isWord = (at: number): boolean => kinds[kindsInText[at] ?? 0]![word] === "1"
      for (let at = 0; at <= length; at++) if (isWord(at - 1) !== isWord(at)) marks[at]! |= boundary
    }
    /** Sets `bit` in the marks of all places with a match. If `bit` is 0, returns true at the first match. */
    const search = (first: number, isBackwards: boolean, bit: number): boolean => {
      let state = stateOf([first], false)
      for (let distance = 0; distance <= length; distance++) {
        const at = isBackwards ? length - distance : distance
        const kind = distance === length ? 0 : kindsInText[isBackwards ? at - 1 : at]!
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
