/*
 * The declaration of fixers.
 */
import type * as Duration from "effect/Duration"
import type * as Effect from "effect/Effect"
import * as Predicate from "effect/Predicate"
import type { FailedExecution, Fixed, Rejection } from "../../Rejection.ts"
import type { ToolUnavailable } from "../../ToolFailure.ts"
import { positive, whole } from "../value/numberOption.ts"
import { cut, excerpt, kind, list, oneLine } from "../value/text.ts"

/**
 * A function from rejected arguments to better ones. Its requirements become the tool's. Except for an
 * escalation, the model does not see its errors.
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
  /** The source that its escalations and answers name. Default: `the fixer of <tool>`. */
  readonly name?: string
  /** How often it is asked in one call at most: a whole number from 1. Default: 1. */
  readonly tries?: number
  /** How long it may take in one call, over all tries. A `Deadline` limits it too. Default: 30 seconds. */
  readonly time?: Duration.Input
  /**
   * The failed executions that it is asked about, besides rejected arguments. It is asked after retries and
   * fallbacks, and only if the execution certainly did nothing, or if the tool only reads. Default: none.
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
 * Fixers by the names of tools. `"*"` is the fixer of all other tools.
 *
 * @category models
 * @since 0.1.0
 */
export type Fixers<Name extends string = string> = { readonly [N in Name | "*"]?: FixerChoice<unknown> }

/**
 * The requirements of an answer, if it is an Effect.
 *
 * @category utility types
 * @since 0.1.0
 */
export type Needed<Answer> = Answer extends Effect.Effect<unknown, unknown, infer R> ? R : never

/**
 * The requirements of fixers.
 *
 * @category utility types
 * @since 0.1.0
 */
export type NeededBy<F> = NeededFor<ChoiceIn<F>>

// Distributes over a union of sets of fixers, any of which may be used.
type ChoiceIn<F> = F extends unknown ? Exclude<F[keyof F], undefined> : never

type NeededFor<Choice> = Choice extends
  ((...args: never) => infer Answer) | { readonly fix: (...args: never) => infer Answer } ? Needed<Answer> : never

/**
 * The failure that a fixer adds to a tool when it escalates a defect, which is not a typed failure.
 *
 * @category utility types
 * @since 0.1.0
 */
export type Escalated<On> = "defect" extends On ? ToolUnavailable : never

/**
 * The same for several fixers.
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

/** Checks a declared fixer and fills in its defaults. Throws if it is not of its type. */
export const fixing = (choice: FixerChoice<unknown>, options?: FixerOptions): Fixing => {
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
 * Makes a function from a tool's name to its fixer, if it has one. Throws for a fixer of a tool that does not
 * exist.
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
    Object.entries(fixers).flatMap(([name, choice]) => choice === undefined ? [] : [[name, fixing(choice)] as const])
  )
  return (name) => byName.get(name) ?? byName.get("*")
}
