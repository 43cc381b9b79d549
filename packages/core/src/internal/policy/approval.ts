/*
 * Which calls of a tool need an approval before they run: the options, as a tool or an agent declares them.
 */
import type * as Duration from "effect/Duration"
import type * as Effect from "effect/Effect"
import * as Predicate from "effect/Predicate"
import { positive } from "../value/numberOption.ts"
import { kind, list } from "../value/text.ts"

/**
 * Decides from the arguments of a call whether it needs an approval. If it fails, the call needs one.
 *
 * @category models
 * @since 0.1.0
 */
export type ApprovalPredicate<in Params = never, out R = unknown> = (
  params: Params
) => boolean | Effect.Effect<boolean, unknown, R>

/**
 * The options of an approval.
 *
 * @category models
 * @since 0.1.0
 */
export interface ApprovalOptions<in Params = never, out R = unknown> {
  /**
   * Says what the call would do, for whoever decides: "Pays 40 EUR to Ada". It must only read. If it fails, the question has no
   * preview. Default: the arguments are shown.
   */
  readonly preview?: (params: Params) => string | Effect.Effect<string, unknown, R>
  /** How long the approval may take. A later one counts as a denial. Default: no limit. */
  readonly within?: Duration.Input
}

/**
 * When the calls of a tool need an approval: always (`true`), never (`false`), or if the predicate says so. With options, `when`
 * is the predicate; default: always.
 *
 * @category models
 * @since 0.1.0
 */
export type ApprovalChoice<Params = never, R = unknown> =
  | boolean
  | ApprovalPredicate<Params, R>
  | (Fields & ApprovalOptions<Params, R> & { readonly when?: ApprovalPredicate<Params, R> })

// A number and a function of other parameters have all optional fields, too.
type Fields = object & { readonly bind?: never }

/** The declaration of an approval, checked. */
export interface Approval {
  readonly when: ApprovalPredicate | undefined
  readonly preview: ApprovalOptions["preview"]
  readonly within: Duration.Duration | undefined
}

/** Checks the declaration of an approval. Throws a `TypeError` if it does not match its type. */
export const makeApproval = (when: unknown, options: unknown = {}): Approval => {
  if (when !== undefined && !Predicate.isFunction(when)) {
    throw new TypeError(
      `An approval needs a predicate such as ({ amount }) => amount > 100, or nothing: then it is always needed; got ${
        kind(when)
      }.`
    )
  }
  if (!Predicate.isObject(options)) {
    throw new TypeError(
      `The options of an approval must be an object such as { within: "1 hour" }; got ${kind(options)}.`
    )
  }
  const unknown = Object.keys(options).find((name) => !known.has(name))
  if (unknown !== undefined) {
    throw new TypeError(`An approval has no option '${unknown}'; its options are ${list(Array.from(known))}.`)
  }
  const { preview, within } = options
  if (preview !== undefined && !Predicate.isFunction(preview)) {
    throw new TypeError(
      `The preview of an approval must be a function such as ({ to }) => \`Pays \${to}\`; got ${kind(preview)}.`
    )
  }
  return {
    when: asPredicate(when),
    preview: asPreview(preview),
    within: within === undefined ? undefined : positive("time to approve", asDuration(within))
  }
}

const known: ReadonlySet<string> = new Set(["preview", "within"])

/** Reads the choice of an agent for a tool; `undefined` if no approval is needed. */
export const approvalOf = (choice: unknown): Approval | undefined => {
  if (choice === undefined || choice === false) return undefined
  if (choice === true) return makeApproval(undefined)
  if (Predicate.isFunction(choice)) return makeApproval(choice)
  if (!Predicate.isObject(choice)) {
    throw new TypeError(
      `The approval of a tool must be true, false, a predicate, or { when, preview, within }; got ${kind(choice)}.`
    )
  }
  const { when, ...options } = choice
  return makeApproval(when, options)
}

/**
 * Approvals, keyed by tool name. The key `"*"` applies to all other tools.
 *
 * @category models
 * @since 0.1.0
 */
export type Approvals = { readonly [name: string]: unknown }

/** Returns a function that looks up the approval of a tool. Throws if one is declared for a tool that does not exist. */
export const approvalsFor = (
  approvals: unknown,
  names: ReadonlyArray<string>
): (name: string) => Approval | undefined => {
  if (!Predicate.isObject(approvals) || Array.isArray(approvals)) {
    throw new TypeError(`An agent's approvals must be an object with an entry for each tool; got ${kind(approvals)}.`)
  }
  const invalid = Object.keys(approvals).find((name) => name !== "*" && !names.includes(name))
  if (invalid !== undefined) {
    throw new TypeError(`An approval names the tool '${invalid}', which does not exist; the tools are ${list(names)}.`)
  }
  const made = new Map(Object.entries(approvals).map(([name, choice]) => [name, approvalOf(choice)] as const))
  return (name) => made.has(name) && approvals[name] !== undefined ? made.get(name) : made.get("*")
}

// These have been checked as far as they can be.
const asPredicate = (when: unknown) => when as ApprovalPredicate | undefined
const asPreview = (preview: unknown) => preview as ApprovalOptions["preview"]
const asDuration = (within: unknown) => within as Duration.Input
