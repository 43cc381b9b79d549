/*
 * The options of fixers, and the checks of their declarations.
 */
import type * as Duration from "effect/Duration"
import type * as Effect from "effect/Effect"
import * as Predicate from "effect/Predicate"
import type { ToolUnavailable } from "../../ToolFailure.ts"
import { positive, whole } from "../value/numberOption.ts"
import { cut, excerpt, kind, list, oneLine } from "../value/text.ts"
import type { FailedExecution, Fixed, Rejection } from "./rejection.ts"

/**
 * A function that returns better arguments for rejected ones. The requirements of the fixer are added
 * to those of the tool. The model does not see the errors of the fixer, except escalations.
 *
 * @category models
 * @since 0.1.0
 */
export type Fixer<R = never> = (rejection: Rejection) => Fixed | Effect.Effect<Fixed, unknown, R>

/**
 * The options of a fixer.
 *
 * @category models
 * @since 0.1.0
 */
export interface FixerOptions<out On extends FailedExecution = FailedExecution> {
  /**
   * The name of the fixer, shown as the source of its escalations and answers. Default: `the fixer of <tool>`.
   */
  readonly name?: string
  /** How often the fixer is asked in one call, at most: a whole number of at least 1. Default: 1. */
  readonly tries?: number
  /**
   * How long the fixer may take in one call, over all tries. Default: 30 seconds. With a `Deadline`,
   * the fixer also gets no more than half of the time left.
   */
  readonly time?: Duration.Input
  /**
   * The failures of executions about which the fixer is asked, in addition to rejected arguments. Default:
   * none. The fixer is asked after retries and fallbacks, and only if the call certainly did nothing.
   */
  readonly on?: ReadonlyArray<On>
}

/**
 * A fixer, or a fixer with its options.
 *
 * @category models
 * @since 0.1.0
 */
export type FixerChoice<R = never> = Fixer<R> | (FixerOptions & { readonly fix: Fixer<R> })

/**
 * Fixers, keyed by tool name. The key `"*"` applies to all other tools.
 *
 * @category models
 * @since 0.1.0
 */
export type Fixers<Name extends string = string> = { readonly [N in Name | "*"]?: FixerChoice<unknown> }

/**
 * The requirements of a fixer's answer, if the answer is an Effect.
 *
 * @category utility types
 * @since 0.1.0
 */
export type Needed<Answer> = Answer extends Effect.Effect<unknown, unknown, infer R> ? R : never

/**
 * The requirements of several fixers; none if there are no fixers (`undefined`).
 *
 * @category utility types
 * @since 0.1.0
 */
export type NeededBy<F> = undefined extends F ? never : NeededFor<ChoiceIn<F>>

// Distributes over a union of `Fixers` types, since any member of the union may be in use.
type ChoiceIn<F> = F extends unknown ? Exclude<F[keyof F], undefined> : never

type NeededFor<Choice> = Choice extends
  ((...args: never) => infer Answer) | { readonly fix: (...args: never) => infer Answer } ? Needed<Answer> : never

/**
 * The failure that a fixer adds to a tool: a `ToolUnavailable` if the fixer may escalate defects,
 * which are not typed failures.
 *
 * @category utility types
 * @since 0.1.0
 */
export type Escalated<On> = "defect" extends On ? ToolUnavailable : never

/**
 * The failure that several fixers add to a tool. See {@link Escalated}.
 *
 * @category utility types
 * @since 0.1.0
 */
export type EscalatedBy<F> = EscalatedFor<ChoiceIn<F>>

type EscalatedFor<Choice> = Choice extends { readonly on: ReadonlyArray<infer On> } ? Escalated<On> : never

/** A fixer with all its options. */
export interface Fixing {
  readonly fixer: Fixer<unknown>
  readonly name: string | undefined
  readonly tries: number
  readonly time: Duration.Duration
  readonly on: ReadonlyArray<FailedExecution>
}

const executions: ReadonlyArray<FailedExecution> = ["SemanticGarbage", "ToolUnavailable", "defect"]

/**
 * Checks the declaration of a fixer, and fills in its defaults. Throws if the declaration does not match its type.
 */
export const makeFixing = (choice: FixerChoice<unknown>, options?: FixerOptions): Fixing => {
  const declared = typeof choice === "function" ? { ...options, fix: choice } : choice
  if (typeof declared?.fix !== "function") {
    throw new TypeError(
      `A fixer must be a function, such as Fixer.agent(agent); got ${kind(declared?.fix ?? declared)}.`
    )
  }
  const { fix, name, on = [], time = "30 seconds", tries = 1 } = declared
  if (name !== undefined && (typeof name !== "string" || name.trim() === "")) {
    throw new TypeError(`A fixer's name must be a string that is not blank; got ${excerpt(name)}.`)
  }
  const invalid = Array.isArray(on) ? on.find((one) => !executions.includes(one)) : on
  if (invalid !== undefined) {
    throw new TypeError(`A fixer's 'on' must be a list of ${list(executions)}; got ${excerpt(invalid)}.`)
  }
  return {
    fixer: fix,
    name: name === undefined ? undefined : cut(oneLine(name), 80),
    on,
    tries: whole("A fixer's limit of tries", tries),
    time: positive("fixer's time", time)
  }
}

/**
 * Returns a function that looks up the fixer of a tool by the tool's name. Throws if a fixer is
 * declared for a tool that does not exist.
 */
export const fixingFor = (
  fixers: Fixers,
  names: ReadonlyArray<string>
): (name: string) => Fixing | undefined => {
  const declared: unknown = fixers
  if (!Predicate.isObject(declared) || Symbol.iterator in declared) {
    throw new TypeError(`Fixers must be an object with a fixer for each tool; got ${kind(declared)}.`)
  }
  const invalid = Object.keys(fixers).find((name) => name !== "*" && !names.includes(name))
  if (invalid !== undefined) {
    throw new TypeError(`A fixer names the tool '${invalid}', which does not exist; the tools are ${list(names)}.`)
  }
  const byName = new Map(
    Object.entries(fixers).flatMap(([name, choice]) =>
      choice === undefined ? [] : [[name, makeFixing(choice)] as const]
    )
  )
  return (name) => byName.get(name) ?? byName.get("*")
}
