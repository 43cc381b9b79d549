/*
 * The scopes of tools that run inside another scope, of further pages, and of questions to fixers: their places and keys,
 * and what they hand to the scope around them once they have ended.
 */
import { type Effects, isInDoubt } from "../failure/effects.ts"
import { stateAfter, untouched, wasSent } from "./callState.ts"
import { doneBeforeRepeat } from "./done.ts"
import type { Role } from "./forward.ts"
import { keyInside } from "./idempotencyKey.ts"
import { note, ranBy } from "./note.ts"
import { isAsBefore, leaveOpen, noteAgain, openRun } from "./openRuns.ts"
import { Scope, type Subject } from "./scope.ts"

/** Returns the scope of a tool that runs inside another scope. */
export const innerScope = (outer: Scope, tool: Subject, params: unknown): Scope => {
  const again = openRun(outer, tool, params, true)
  const inner = open("inner", outer, tool, placeIn(outer, tool, params, outer.policy?.prefix, again !== undefined))
  inner.ran = { params, again, isPlaced: true }
  if (again === undefined) return inner
  inner.askedKey = again.key
  noteAgain(inner, again)
  return inner
}

/** Returns the scope of a request for a further page. */
export const pageScope = (outer: Scope, number: number): Scope => {
  const path = `page+${number}`
  return open("page", outer, outer.tool, { path, mark: path })
}

/**
 * Returns the scope of one question to a fixer.
 *
 * @param number how many times the call has asked any fixer, this time included
 * @param about a digest of the question to the fixer. It becomes part of the id of any question that the fixer asks the
 * user. So the user's reply still matches when the call resumes in another process
 */
export const fixerScope = (outer: Scope, number: number, about: string): Scope => {
  const tool = { name: outer.tool.name, sideEffect: "non_idempotent" } as const
  return open("fixer", outer, tool, { path: `fix+${about}`, mark: `fix+${number}` })
}

// Tool names contain no plus sign, so the paths of pages and fixers never equal the path of a tool.
const open = (role: Role, outer: Scope, tool: Subject, { mark, path }: Place): Scope => {
  // An earlier attempt of the outer call may already have sent this key.
  const isRepeated = tool.sideEffect === "idempotent_by_key" && wasSent(outer.record.state)
  return new Scope(
    role,
    tool,
    `${outer.id}/${path}`,
    isRepeated ? stateAfter(doneBeforeRepeat) : untouched,
    outer,
    mark
  )
}

/** Returns the innermost question to a fixer around a scope, if any. */
export const fixerAround = (innermost: Scope): Scope | undefined => {
  let scope: Scope | undefined = innermost
  while (scope !== undefined && scope.role !== "fixer") scope = scope.parent
  return scope
}

/** The place of an inner run: `path` is the last part of its id, and its key is made from `mark`. */
interface Place {
  readonly path: string
  readonly mark: string
}

/**
 * Returns the place of a tool that runs in this attempt. If the run's intended effect is known, the key depends on that
 * effect and not on the run's position. (The order of parallel runs is random.)
 *
 * @param isAgain whether the run has the key of an open run
 */
const placeIn = (outer: Scope, tool: Subject, params: unknown, prefix = "", isAgain = false): Place => {
  const { live } = outer
  const path = `${prefix}${tool.name}/${live.next(`${prefix}${tool.name}`)}`
  const effect = isAgain || tool.sideEffect === "none" ? undefined : tool.effectOf?.(params)
  if (effect === undefined) return { path, mark: path }
  const mark = JSON.stringify([ranBy(outer), prefix, tool.name, effect])
  return { path, mark: `${mark} ${live.next(mark)}` }
}

/** Returns how to compute the key of a tool that is dispatched in a scope under an id of its own. */
export const keyOfCallIn = (outer: Scope, tool: Subject, params: unknown): () => string => {
  const { mark } = placeIn(outer, tool, params)
  return () => keyInside(outer.idempotencyKey, mark)
}

/** Reports what an inner tool did to the scope around it. Called when the tool has ended, including its policies. */
export const endInner = (inner: Scope, hasAnswer: boolean): void => {
  const { around, state, tool } = inner
  const effects = inner.effects(hasAnswer)
  const isLasting = tool.sideEffect === "non_idempotent" || state.done.lasting !== "none"
  inner.end()
  if (around !== undefined) reportEnd(inner, around, effects, isLasting)
}

/** Notes in the scope around a tool what the tool did, and whether its run stays open. */
export const reportEnd = (inner: Scope, around: Scope, effects: Effects, isLasting: boolean): void => {
  const { isKnownToAct, ran, state: { wire }, tool } = inner
  leaveOpen(inner, around, effects)
  if (!isKnownToAct && effects === "none" || isAsBefore(inner, effects)) return
  const doubt = isInDoubt(effects) ? inner.doubt(effects) : undefined
  note(around, {
    _tag: "InnerEnded",
    inside: tool.name,
    by: ranBy(around),
    effects,
    ...(isLasting ? { lasting: true } : {}),
    ...(isKnownToAct ? { acts: true } : {}),
    ...(doubt === undefined ? {} : { doubt }),
    ...(doubt === undefined && ran?.again?.isInDoubt !== true ? {} : { key: inner.idempotencyKey }),
    ...(doubt === undefined || wire.length === 0 ? {} : { wire })
  })
}

/** Notes in the scope around a run that the doubt about it is settled. */
export const settleInner = (around: Scope, key: string, effects: Effects): void => {
  const open = around.live.openRuns.find((run) => run.isInDoubt && run.key === key)
  if (open === undefined) return
  around.live.close(open)
  note(around, { _tag: "InnerEnded", inside: open.tool, by: ranBy(around), effects, key, lasting: true })
}

/**
 * Hands what belongs to an answer to the scope around it: the caveats, the files, the source, and what the model reads in its
 * place. A caveat that pages share is handed on once.
 */
export const handOut = ({ parent, role, state: { caveats, files, source, told } }: Scope): void => {
  if (parent === undefined) return
  const shared = role === "page" ? new Set(parent.state.caveats) : undefined
  for (const text of caveats) if (shared?.has(text) !== true) note(parent, { _tag: "CaveatAdded", text })
  const known = role === "page" ? new Set(parent.state.files) : undefined
  for (const file of files) if (known?.has(file) !== true) note(parent, { _tag: "FileAttached", file })
  if (source !== undefined) note(parent, { _tag: "SourceNamed", ...source })
  // A page is no more than a part of the answer. A tool that a handler runs has an answer of its own, a fallback's has not.
  const isOfAnswer = role === "inner" ? parent.role === "source" : role !== "page"
  if (told !== undefined && isOfAnswer) note(parent, { _tag: "ResultTold", value: told })
}
