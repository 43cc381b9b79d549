/*
 * How fixers are declared.
 */
import type * as Duration from "effect/Duration"
import type * as Effect from "effect/Effect"
import * as Predicate from "effect/Predicate"
import type { FailedExecution, Fixed, Rejection } from "../../Rejection.ts"
import type { ToolUnavailable } from "../../ToolFailure.ts"
import { positive, whole } from "../value/numberOption.ts"
import { cut, excerpt, kind, list, oneLine } from "../value/text.ts"

/**
 * From rejected arguments to better ones. What it needs is needed by the tool; what it fails with stays below the model.
 *
 * @category models
 * @since 0.1.0
 */
export type Fixer<R = never> = (rejection: Rejection) => Fixed | Effect.Effect<Fixed, unknown, R>

/**
 * What can be said of a fixer.
 *
 * @category models
 * @since 0.1.0
 */
export interface FixerOptions<out On extends FailedExecution = FailedExecution> {
  /** What escalations and answers name as their source. Default: `the fixer of <tool>`. */
  readonly name?: string
  /** How often it is asked in one call, at most: a whole number from 1. Default: 1. */
  readonly tries?: number
  /** How long it may take in one call, all tries together. The `Deadline` counts, too. Default: 30 seconds. */
  readonly time?: Duration.Input
  /**
   * Which failed executions it is asked about, beside rejected arguments. It is asked only after an execution that certainly did nothing, or
   * of a tool that only reads; and after retries and fallbacks. Default: none.
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
 * Fixers by the names of tools, and `"*"` for all other tools.
 *
 * @category models
 * @since 0.1.0
 */
export type Fixers<Name extends string = string> = { readonly [N in Name | "*"]?: FixerChoice<unknown> }

/**
 * What an answer needs that may be an Effect.
 *
 * @category utility types
 * @since 0.1.0
 */
export type Needed<Answer> = Answer extends Effect.Effect<unknown, unknown, infer R> ? R : never

/**
 * What fixers need.
 *
 * @category utility types
 * @since 0.1.0
 */
export type NeededBy<F> = NeededFor<ChoiceIn<F>>

// Of several sets of fixers, any may be used.
type ChoiceIn<F> = F extends unknown ? Exclude<F[keyof F], undefined> : never

type NeededFor<Choice> = Choice extends
  ((...args: never) => infer Answer) | { readonly fix: (...args: never) => infer Answer } ? Needed<Answer> : never

/**
 * What a fixer may make a tool fail with by its words: a defect has no failure of its own.
 *
 * @category utility types
 * @since 0.1.0
 */
export type Escalated<On> = "defect" extends On ? ToolUnavailable : never

/**
 * The same of several.
 *
 * @category utility types
 * @since 0.1.0
 */
export type EscalatedBy<F> = EscalatedFor<ChoiceIn<F>>

type EscalatedFor<Choice> = Choice extends { readonly on: ReadonlyArray<infer On> } ? Escalated<On> : never

/** A fixer, and what it is asked about. */
export interface Fixing {
  readonly fixer: Fixer<unknown>
  readonly name: string | undefined
  readonly tries: number
  readonly time: Duration.Duration
  readonly on: ReadonlyArray<FailedExecution>
}

const executions: ReadonlyArray<FailedExecution> = ["SemanticGarbage", "ToolUnavailable", "defect"]

/** A fixer that was declared. What is not of its type throws. */
export const fixing = (choice: FixerChoice<unknown>, options?: FixerOptions): Fixing => {
  const given = typeof choice === "function" ? { ...options, fix: choice } : choice
  if (typeof given?.fix !== "function") {
    throw new TypeError(`A fixer is a function, such as Fixer.agent(agent); got ${kind(given?.fix ?? given)}.`)
  }
  const { fix, name, on = [], time = "30 seconds", tries = 1 } = given
  if (name !== undefined && (typeof name !== "string" || name.trim() === "")) {
    throw new TypeError(`A fixer's name is a text that is not blank; got ${excerpt(name)}.`)
  }
  const stranger = Array.isArray(on) ? on.find((one) => !executions.includes(one)) : on
  if (stranger !== undefined) {
    throw new TypeError(`A fixer's 'on' is a list of ${list(executions)}; got ${excerpt(stranger)}.`)
  }
  return {
    fixer: fix,
    name: name === undefined ? undefined : cut(oneLine(name), 80),
    on,
    tries: whole("A fixer's limit of tries", tries),
    time: positive("fixer's time", time)
  }
}

/** The fixer of a tool among those of several, if there is one. A name that no tool has throws. */
export const fixingFor = (
  fixers: Fixers,
  names: ReadonlyArray<string>
): (name: string) => Fixing | undefined => {
  const given: unknown = fixers
  if (!Predicate.isObject(given) || Symbol.iterator in given) {
    throw new TypeError(`Fixers are an object of fixers by tool; got ${kind(given)}.`)
  }
  const stranger = Object.keys(fixers).find((name) => name !== "*" && !names.includes(name))
  if (stranger !== undefined) {
    throw new TypeError(`There is no tool named '${stranger}' for its fixer; the tools are ${list(names)}.`)
  }
  const made = new Map(
    Object.entries(fixers).flatMap(([name, choice]) => choice === undefined ? [] : [[name, fixing(choice)] as const])
  )
  return (name) => made.get(name) ?? made.get("*")
}
