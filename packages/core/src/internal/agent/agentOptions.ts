/* The options of an agent, checked: the compiler checks most of them, but it does not check plain JavaScript. */
import { didYouMean } from "@fallible/arguments/internal"
import * as Predicate from "effect/Predicate"
import * as Schema from "effect/Schema"
import type { Limits } from "../../Limits.ts"
import type * as Toolkit from "../../Toolkit.ts"
import { checkedBy } from "../dispatch/settlement.ts"
import { excerpt, kind } from "../value/text.ts"
import { readMoreName } from "./keptResults.ts"
import { approvalName } from "./providerApproval.ts"

interface Unchecked {
  readonly instructions?: unknown
  readonly toolkit: Toolkit.Toolkit
  readonly limits?: Limits
  readonly loopGuard?: unknown
  readonly onDoubt?: unknown
  readonly onDone?: unknown
  readonly onLimit?: unknown
  readonly onModelFailure?: unknown
  readonly output?: unknown
  readonly checkOutput?: unknown
  readonly rendering?: unknown
  readonly results?: unknown
}

const isSystemText = Schema.is(Schema.Struct({ text: Schema.String, cache: Schema.optional(Schema.Boolean) }))

/** Returns what is wrong with the options of an agent; `undefined` if nothing is. */
export const problemIn = (
  {
    checkOutput,
    instructions,
    limits,
    loopGuard,
    onDone,
    onDoubt,
    onLimit,
    onModelFailure,
    output,
    rendering,
    results,
    toolkit
  }: Unchecked
): string | undefined => {
  if (!Predicate.hasProperty(toolkit, "definitions")) {
    return `An agent needs a Toolkit; got ${kind(toolkit)}. Write: Agent.make({ toolkit: Toolkit.make(…) }).`
  }
  if (!Predicate.isUndefined(instructions) && !Predicate.isString(instructions) && !isSystemText(instructions)) {
    return `An agent's instructions must be a string, or { text, cache }; got ${kind(instructions)}.`
  }
  if (!Predicate.isUndefined(rendering) && !Predicate.isFunction(rendering)) {
    return `An agent's rendering must be a function; got ${kind(rendering)}.`
  }
  if (!Predicate.isUndefined(onLimit) && onLimit !== "fail" && onLimit !== "conclude") {
    return `An agent's onLimit must be "fail" or "conclude"; got ${excerpt(onLimit)}.`
  }
  if (!Predicate.isUndefined(onDoubt) && onDoubt !== "refuse" && onDoubt !== "ask") {
    return `An agent's onDoubt must be "refuse" or "ask"; got ${excerpt(onDoubt)}.`
  }
  if (!Predicate.isUndefined(onDone) && onDone !== "refuse" && onDone !== "ask") {
    return `An agent's onDone must be "refuse" or "ask"; got ${excerpt(onDone)}.`
  }
  if (!Predicate.isUndefined(onModelFailure) && !Predicate.isFunction(onModelFailure)) {
    return `An agent's onModelFailure must be a function; got ${kind(onModelFailure)}.`
  }
  if (!Predicate.isUndefined(checkOutput) && !Predicate.isFunction(checkOutput)) {
    return `An agent's checkOutput must be a function; got ${kind(checkOutput)}.`
  }
  if (!Predicate.isUndefined(checkOutput) && Predicate.isUndefined(output)) {
    return "An agent's checkOutput checks its typed answer, so it needs an 'output', the schema of the answer."
  }
  if (!Predicate.isUndefined(results) && results !== "whole" && !Predicate.isObject(results)) {
    return `An agent's results must be limits or "whole"; got ${excerpt(results)}.`
  }
  if (
    !Predicate.isUndefined(loopGuard) && loopGuard !== "off" &&
    (!Predicate.isObject(loopGuard) || Array.isArray(loopGuard))
  ) {
    return `An agent's loopGuard must be an object of thresholds, or "off"; got ${excerpt(loopGuard)}.`
  }
  const wrong = problemInLimits(limits, toolkit, results)
  if (wrong !== undefined) return wrong
  if (toolkit.tools.has(approvalName)) {
    return `Requests of a model's provider for approval have the name '${approvalName}'. Rename your tool.`
  }
  const names = Array.from(toolkit.tools.keys())
  // Without its check, a call in doubt could not be settled, and nobody would notice.
  for (const { check, name } of toolkit.tools.values()) {
    if (check === undefined) continue
    if (!toolkit.tools.has(check)) {
      return missing(`The 'check' of '${name}'`, check, names.filter((other) => other !== name))
    }
    const [other] = checkedBy(check, toolkit).filter((other) => other !== name)
    if (other !== undefined && toolkit.tools.get(check)?.settles !== undefined) {
      return `'${name}' and '${other}' name one 'check', '${check}', and its 'settles' does not know which of them it is about. Make a check for each.`
    }
  }
  return undefined
}

/** Returns what is wrong with limits that name tools; `undefined` if nothing is. */
export const problemInLimits = (
  limits: Limits | undefined,
  { tools }: Toolkit.Toolkit,
  results: unknown
): string | undefined => {
  const perTool = limits?.callsPerTool
  if (
    !Predicate.isUndefined(perTool) && !Predicate.isNumber(perTool) &&
    (!Predicate.isObject(perTool) || Array.isArray(perTool))
  ) {
    return `An agent's callsPerTool must be a number, or numbers by tool name; got ${excerpt(perTool)}.`
  }
  const unknown = Predicate.isObject(perTool)
    ? Object.keys(perTool).find((name) =>
      name !== "*" && !tools.has(name) && (name !== readMoreName || results === "whole")
    )
    : undefined
  return unknown === undefined ? undefined : missing("The limit 'callsPerTool'", unknown, Array.from(tools.keys()))
}

const missing = (what: string, name: string, names: ReadonlyArray<string>): string => {
  const nearest = didYouMean(name, names)
  return `${what} names '${name}', which is not in the toolkit.${
    nearest === undefined ? "" : ` Did you mean '${nearest}'?`
  }`
}
