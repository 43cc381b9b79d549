/*
 * What a tool is made of, and how its `run` is made from that: the handler, its policies around it in their order, the stage that corrects
 * arguments, and the frame of the call.
 */
import * as Effect from "effect/Effect"
import { Prototype as PipeablePrototype } from "effect/Pipeable"
import * as Policy from "../../Policy.ts"
import { effectOf, type Identified } from "../arguments/identity.ts"
import { executed } from "../call/execution.ts"
import { current, type Subject } from "../call/frame.ts"
import { framedRun } from "../call/framedRun.ts"
import { callUser } from "../call/userCode.ts"
import { sources } from "../explain/bounds.ts"
import { boundsOf } from "../explain/explain.ts"
import { corrected } from "../fixing/correctionStage.ts"
import type { Fixing } from "../fixing/fixerOption.ts"
import { heldBack, lettingThrough } from "../fixing/rejectionPath.ts"
import { isBuiltIn } from "../policy/builtIn.ts"
import { watched } from "../policy/customPolicy.ts"
import { withoutOwnFiber, withOwnFiber } from "../policy/ownFiber.ts"
import { callOf } from "../policy/policyCall.ts"
import { kind } from "../value/text.ts"
import type { Any } from "./anyTool.ts"

/**
 * A tool's run under its policies, without a frame and without fixers, for whoever has those. It is of the same type as its run.
 */
export const runWithoutFrame = <T extends Any>(tool: T): T["run"] => runs.get(tool.run) ?? runOf(tool)

// With fixers, and without a frame.
export const runWithFixers = <T extends Any>(tool: T): T["run"] => corrected(tool, runWithoutFrame(tool) as Policy.Run)

/**
 * A tool as the frames of its calls know it.
 */
export const subjectOf = (tool: Identified & Pick<Any, "sideEffect">, token: object): Subject => ({
  name: tool.name,
  sideEffect: tool.sideEffect,
  token,
  effectOf: (params) => effectOf(tool, params)
})

/** What a tool was made of: a policy that is added later may have its place inside of another. */
interface Parts {
  /** Stands for its handler. */
  readonly token: object
  readonly handler: Any["run"]
  /** Policies that are in the handler already: of a tool that was not made here. */
  readonly inside: ReadonlyArray<Policy.Any>
  readonly own: ReadonlyArray<Policy.Any>
  readonly defaults: ReadonlyArray<Policy.Any>
  readonly fixers: Fixers
}

/** Its own fixers; or else its agent's, or its toolkit's. */
interface Fixers {
  readonly own: ReadonlyArray<Fixing>
  readonly agent?: Fixing
  readonly toolkit?: Fixing
}

const fixersOf = ({ agent, own, toolkit }: Fixers): ReadonlyArray<Fixing> => {
  const other = agent ?? toolkit
  return own.length > 0 || other === undefined ? own : [other]
}

// All of these by its run, since a copy of a tool by hand has that, too.
const partsOf = new WeakMap<object, Parts>()

/** The runs of tools, without a frame. */
const runs = new WeakMap<object, Policy.Run>()

// Of a tool that was put together by hand, by the tool.
const tokens = new WeakMap<object, object>()

/**
 * What stands for a tool's handler in the frames of its calls.
 */
export const tokenOf = (tool: Any): object => {
  const known = tokens.get(tool.run) ?? tokens.get(tool)
  if (known !== undefined) return known
  const token = {}
  tokens.set(tool, token)
  return token
}

/** A tool from its handler, with its policies around it in their order. */
export const assemble = <T extends Any>(fields: Omit<T, "pipe" | "run" | "policies" | "fixers">, parts: Parts): T => {
  const policies = Policy.withDefaults([...parts.inside, ...parts.own], parts.defaults)
  const around = policies.filter((policy) => !parts.inside.includes(policy))
  const fixers = fixersOf(parts.fixers)
  const isFixed = fixers.length > 0
  const handler = parts.handler as Policy.Run
  const run = around.reduce(
    (run, policy) => wrapped(run, policy, fields, isFixed),
    isFixed ? withOwnFiber(heldBack(handler), heldBack(withoutOwnFiber(handler))) : handler
  )
  const fixed = { ...fields, fixers }
  const tool = Object.assign(Object.create(PipeablePrototype), fixed, {
    policies,
    run: framedRun(subjectOf(fields, parts.token), corrected(fixed, run))
  })
  partsOf.set(tool.run, parts)
  tokens.set(tool.run, parts.token)
  runs.set(tool.run, run)
  // As a fallback, a tool is its run.
  sources.set(tool.run, () => boundsOf(tool))
  return tool
}

// What is added by hand goes around what is there, defaults included.
export const withPolicy = <T extends Any>(self: Any, policy: Policy.Any): T =>
  rebuild(self, ({ inside }) => ({
    own: [...self.policies.filter((policy) => !inside.includes(policy)), policy],
    defaults: []
  }))

const wrapped = (run: Policy.Run, policy: Policy.Any, subject: Policy.Subject, isFixed: boolean): Policy.Run => {
  const call = callOf(policy)
  const wrap = (run: Policy.Run) => policy.wrap(run, subject, call)
  if (!isBuiltIn(policy)) return watched(policy, subject.name, wrap, run)
  return isFixed && letsThrough.includes(policy.kind) ? lettingThrough(wrap, run, policy.kind === "breaker") : wrap(run)
}

const letsThrough: ReadonlyArray<Policy.Kind> = ["concurrency", "rate", "breaker"]

// By hand, anything may be called a policy, and one of ours.
export const checkedPolicy = (policy: Policy.Any): Policy.Any => {
  if (Policy.isPolicy(policy)) return policy
  throw new TypeError(`A policy is made by Policy.make; got ${kind(policy)}.`)
}

// Of two with one name only the first would be used.
export const checkedPolicies = (policies: ReadonlyArray<Policy.Any>): ReadonlyArray<Policy.Any> => {
  if (!Array.isArray(policies)) throw new TypeError(`Default policies are a list; got ${kind(policies)}.`)
  const names = policies.map(checkedPolicy).flatMap(({ kind, name }) => kind === "custom" ? [name] : [])
  const twice = names.find((name, index) => names.indexOf(name) !== index)
  if (twice === undefined) return policies
  throw new TypeError(`Two default policies are called '${twice}'. Give each a name of its own.`)
}

/**
 * A tool with a fixer that its own fixers win over.
 *
 * @param of whose it is: an agent's wins over a toolkit's
 * @internal
 */
export const withFixer = <T extends Any>(self: T, fixer: Fixing | undefined, of: "agent" | "toolkit"): T =>
  fixer === undefined
    ? self
    : rebuild(self, ({ fixers }) => ({ fixers: { ...fixers, [of]: fixers[of] ?? fixer } }))

/**
 * The policies of an agent: they win over those that a toolkit added, and lose against the tool's own.
 */
export const withPreferred = <T extends Any>(self: T, policies: ReadonlyArray<Policy.Any>): T =>
  rebuild(self, ({ defaults }) => ({ defaults: [...checkedPolicies(policies), ...defaults] }))

// Policies treat every tool alike and so are written without its types. What each does to them is said
// by the signature of its combinator above, and pinned by the type tests.
export const rebuild = <T extends Any>(self: Any, change: (parts: Parts) => Partial<Parts>): T => {
  const { fixers: _, policies, run: __, ...fields } = self
  const parts = partsOf.get(self.run) ??
    {
      token: tokenOf(self),
      handler: runOf(self),
      inside: policies,
      own: [],
      defaults: [],
      fixers: { own: self.fixers ?? [] }
    }
  return assemble<Any>(fields, { ...parts, ...change(parts) }) as T
}

/**
 * A tool's run. Of a tool that was put together by hand, it is a user's function like any other, and like a handler where it acts.
 */
export const runOf = <T extends Any>(tool: T): T["run"] => {
  const { name, run, sideEffect } = tool
  if (partsOf.has(run)) return run
  const who = `The run of '${name}'`
  const handler = {
    name,
    who,
    acts: true,
    token: tokenOf(tool),
    refusesFirst: false,
    isUninterruptible: false,
    isHere: false
  }
  return (params) =>
    Effect.withFiber((fiber) => {
      const frame = fiber.getRef(current)
      const call = () => tool.run(params)
      return sideEffect === "none" ? callUser(who, call) : executed({ ...handler, call }, frame, fiber)
    })
}
