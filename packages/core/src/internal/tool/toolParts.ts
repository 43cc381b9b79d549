/*
 * The parts of a tool, and how its `run` is assembled from them: the handler, the policies around it in their
 * order, the stage that corrects arguments, and the scope of the call.
 */
import * as Effect from "effect/Effect"
import { Prototype as PipeablePrototype } from "effect/Pipeable"
import * as Policy from "../../Policy.ts"
import { effectOf, type Identified } from "../arguments/argumentIdentity.ts"
import { execute } from "../call/execute.ts"
import { asCalls } from "../call/runAsCall.ts"
import { callUser } from "../call/runUserCode.ts"
import { current, type Subject } from "../call/scope.ts"
import { runWithCorrections } from "../fixing/correctionStage.ts"
import type { Fixing } from "../fixing/fixerOption.ts"
import { rememberingRejections } from "../fixing/ownRejection.ts"
import type { Approval } from "../policy/approval.ts"
import { isBuiltIn } from "../policy/builtInPolicy.ts"
import { wrapInPolicy } from "../policy/customPolicy.ts"
import { callOf } from "../policy/policyCall.ts"
import { toolOfRun } from "../policy/toolRuns.ts"
import { kind } from "../value/text.ts"
import { byMethod } from "../wire/actingRequests.ts"
import type { Any } from "./anyTool.ts"

/**
 * Returns a tool's run with its policies, for callers that add the scope and the fixers themselves.
 */
export const runWithoutScope = <T extends Any>(tool: T): T["run"] => runs.get(tool.run) ?? runOf(tool)

// Returns a tool's run with its policies and fixers, but without a scope.
export const runWithFixers = <T extends Any>(tool: T): T["run"] =>
  runWithCorrections(tool, runWithoutScope(tool) as Policy.Run)

/**
 * Returns the fields of a tool that the scopes of its calls need.
 */
export const subjectOf = (tool: Identified & Pick<Any, "sideEffect">, token: object): Subject => ({
  name: tool.name,
  sideEffect: tool.sideEffect,
  token,
  effectOf: (params, text) => effectOf(tool, params, text)
})

/** The parts of a tool. They are kept because a policy that is added later may belong inside an earlier one. */
interface Parts {
  /** Identifies the handler in scopes. */
  readonly token: object
  readonly handler: Any["run"]
  /** Policies that the handler already contains, if the tool was made without `Tool.make`. */
  readonly inside: ReadonlyArray<Policy.Any>
  readonly own: ReadonlyArray<Policy.Any>
  readonly defaults: ReadonlyArray<Policy.Any>
  readonly fixers: Fixers
  readonly approvals?: ReadonlyArray<Approval>
}

/** The fixers of a tool. The tool's own fixers replace the agent's fixer, which replaces the toolkit's. */
interface Fixers {
  readonly own: ReadonlyArray<Fixing>
  readonly agent?: Fixing
  readonly toolkit?: Fixing
}

const fixersOf = ({ agent, own, toolkit }: Fixers): ReadonlyArray<Fixing> => {
  const other = agent ?? toolkit
  return own.length > 0 || other === undefined ? own : [other]
}

// Keyed by the tool's `run`, which a copy such as `{ ...tool }` shares. `runs` and `tokens` have the same keys.
const partsOf = new WeakMap<object, Parts>()

/** The runs of tools, without a scope. */
const runs = new WeakMap<object, Policy.Run>()

// A tool that was made without `Tool.make` is itself the key of its token.
const tokens = new WeakMap<object, object>()

/**
 * Returns the object that identifies a tool's handler in the scopes of its calls.
 */
export const tokenOf = (tool: Any): object => {
  const existing = tokens.get(tool.run) ?? tokens.get(tool)
  if (existing !== undefined) return existing
  const token = {}
  tokens.set(tool, token)
  return token
}

/** Assembles a tool: wraps the handler in the policies, in their order. */
export const assemble = <T extends Any>(
  fields: Omit<T, "pipe" | "run" | "policies" | "fixers" | "approvals">,
  parts: Parts
): T => {
  const policies = Policy.withDefaults([...parts.inside, ...parts.own], parts.defaults)
  const outerPolicies = policies.filter((policy) => !parts.inside.includes(policy))
  const fixers = fixersOf(parts.fixers)
  const handler = parts.handler as Policy.Run
  const run = outerPolicies.reduce(
    (run, policy) => wrapped(run, policy, fields),
    fixers.length === 0 ? handler : rememberingRejections(handler)
  )
  const toolFields = { ...fields, fixers }
  const made = {
    ...toolFields,
    policies,
    // Absent unless they are given: see `concurrent` in `Tool`.
    ...(parts.approvals === undefined ? {} : { approvals: parts.approvals }),
    run: asCalls(subjectOf(fields, parts.token), runWithCorrections(toolFields, run))
  }
  // V8 makes a slow object of one with a prototype that gets twenty fields by `Object.assign`. Each call reads the tool.
  const tool = Object.setPrototypeOf(made, PipeablePrototype)
  partsOf.set(tool.run, parts)
  tokens.set(tool.run, parts.token)
  runs.set(tool.run, run)
  toolOfRun.set(tool.run, tool)
  return tool
}

// Adds a policy outside all policies of the tool, defaults included.
export const withPolicy = <T extends Any>(self: Any, policy: Policy.Any): T =>
  rebuild(self, ({ inside }) => ({
    own: [...self.policies.filter((policy) => !inside.includes(policy)), policy],
    defaults: []
  }))

const wrapped = (run: Policy.Run, policy: Policy.Any, subject: Policy.Subject): Policy.Run => {
  const call = callOf(policy)
  const wrap = (run: Policy.Run) => policy.wrap(run, subject, call)
  return isBuiltIn(policy) ? wrap(run) : wrapInPolicy(policy, subject.name, wrap, run)
}

// Throws if a value is not a policy. Plain JavaScript may pass anything.
export const checkedPolicy = (policy: Policy.Any): Policy.Any => {
  if (Policy.isPolicy(policy)) return policy
  throw new TypeError(`A policy must be made by Policy.make; got ${kind(policy)}.`)
}

// Throws if two custom policies have the same name, since only the first would be used.
export const checkedPolicies = (policies: ReadonlyArray<Policy.Any>): ReadonlyArray<Policy.Any> => {
  if (!Array.isArray(policies)) {
    const advice = (policies as unknown) === Policy.standard ? " Did you forget to call it: Policy.standard()?" : ""
    throw new TypeError(`Default policies must be a list; got ${kind(policies)}.${advice}`)
  }
  const names = policies.map(checkedPolicy).flatMap(({ kind, name }) => kind === "custom" ? [name] : [])
  const duplicate = names.find((name, index) => names.indexOf(name) !== index)
  if (duplicate === undefined) return policies
  throw new TypeError(`Two default policies are named '${duplicate}'. Give each its own name.`)
}

/**
 * Adds a fixer of an agent or a toolkit to a tool. The fixer is used only if the tool has no fixers of its own.
 *
 * @param of the owner of the fixer: an agent's fixer replaces a toolkit's
 */
export const withFixer = <T extends Any>(self: T, fixer: Fixing | undefined, of: "agent" | "toolkit"): T =>
  fixer === undefined
    ? self
    : rebuild(self, ({ fixers }) => ({ fixers: { ...fixers, [of]: fixers[of] ?? fixer } }))

/**
 * Adds the policies of an agent. Precedence: the tool's own policies, then the agent's, then a toolkit's.
 */
export const withPreferredPolicies = <T extends Any>(self: T, policies: ReadonlyArray<Policy.Any>): T =>
  rebuild(self, ({ defaults }) => ({ defaults: [...checkedPolicies(policies), ...defaults] }))

/** Adds an approval to a tool. Several are independent: a call needs those whose predicates say so. */
export const withApproval = <T extends Any>(self: Any, approval: Approval): T =>
  rebuild(self, ({ approvals = [] }) => ({ approvals: [...approvals, approval] }))

// Rebuilds a tool with some parts changed. Policies treat all tools alike, so the types are erased here. The
// signatures of the combinators in `Tool` declare the resulting types, and type tests check those signatures.
export const rebuild = <T extends Any>(self: Any, change: (parts: Parts) => Partial<Parts>): T => {
  const { approvals, fixers: _, policies, run: __, ...fields } = self
  const parts = partsOf.get(self.run) ??
    {
      token: tokenOf(self),
      handler: runOf(self),
      inside: policies,
      own: [],
      defaults: [],
      fixers: { own: self.fixers ?? [] },
      ...(approvals === undefined ? {} : { approvals })
    }
  return assemble<Any>(fields, { ...parts, ...change(parts) }) as T
}

/**
 * Returns a tool's run. If the tool was made without `Tool.make`, its `run` is treated as a user's function, or as a
 * handler if the tool acts.
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
    isHere: false,
    acting: byMethod,
    actsOnlyByRequests: false
  }
  return (params) =>
    Effect.withFiber((fiber) => {
      const scope = fiber.getRef(current)
      const call = () => tool.run(params)
      return sideEffect === "none" ? callUser(who, call) : execute({ ...handler, call }, scope, fiber)
    })
}
