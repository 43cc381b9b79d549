import * as Equal from "effect/Equal"
import * as Predicate from "effect/Predicate"
import { calledIn, type Scope } from "../call/scope.ts"
import { attempt } from "../value/untrusted.ts"
import type { PolicyRun } from "./policyRun.ts"

/**
 * The runs of one policy, by the arguments that each was called with: a policy may hand the runs of several calls to one
 * fiber, which belongs to one of those calls.
 */
export class PolicyCallers {
  readonly #byObject = new WeakMap<object, PolicyRun>()
  readonly #open = new Map<PolicyRun, unknown>()

  /** Notes the arguments of a run that begins. Returns what the policy is called with: no two runs share an object. */
  enter(run: PolicyRun, params: unknown): unknown {
    const own = isPlain(params) ? attempt(() => ({ ...params })) ?? params : params
    if (Predicate.isObjectKeyword(own)) this.#byObject.set(own, run)
    this.#open.set(run, own)
    return own
  }

  leave(run: PolicyRun): void {
    this.#open.delete(run)
  }

  /**
   * Returns the caller of an inner run with these arguments, if the running fiber is not that call's. Returns `"several"`
   * if it may be one of several calls. Arguments that the policy has made itself are those of the fiber's call, unless
   * another call has equal ones.
   */
  of(params: unknown, here: Scope): PolicyRun | "several" | undefined {
    const owner = Predicate.isObjectKeyword(params) ? this.#byObject.get(params) : undefined
    const callers = owner !== undefined && isPlain(params) ? [owner] : this.#withEqual(params)
    const [caller = owner, ...others] = callers
    if (caller === undefined) return undefined
    if (others.some(({ scope }) => !isOfCall(scope, caller.scope))) return "several"
    return isOfCall(caller.scope, here) ? undefined : caller
  }

  #withEqual(params: unknown): ReadonlyArray<PolicyRun> {
    return Array.from(this.#open).flatMap(([run, own]) =>
      attempt(() => Equal.equals(own, params)) === true ? [run] : []
    )
  }
}

const isPlain = (value: unknown): value is object => {
  if (!Predicate.isObjectKeyword(value)) return false
  const prototype: unknown = attempt(() => Object.getPrototypeOf(value))
  return prototype === Object.prototype || prototype === null
}

const isOfCall = (one: Scope, other: Scope): boolean => calledIn(one) === calledIn(other)
