/*
 * Evidence: what is known of a failure beside its author's word. It is plain data, so that a copy of a failure, or one
 * that was encoded and decoded, is treated like the original.
 */
import * as Option from "effect/Option"
import * as Predicate from "effect/Predicate"
import * as Schema from "effect/Schema"
import { Certainty } from "../../Certainty.ts"
import { namedStruct } from "../value/namedStruct.ts"
import { attempt } from "../value/untrusted.ts"
import { Effects } from "./effects.ts"

/**
 * What is known of a failure beside its author's word.
 *
 * @category models
 * @since 0.1.0
 */
export class Evidence extends namedStruct<Evidence>()({
  /**
   * Present if the failure was derived from an error, for example by `ToolFailure.from`. An error describes one request.
   * The handler may have made other requests before it.
   */
  inferred: Schema.optionalKey(Schema.Struct({
    /** Whether that one request took effect. Absent if the error does not show it. */
    outcome: Schema.optionalKey(Certainty),
    /** True if the request was redirected: the failure is then about the redirected request. */
    redirected: Schema.optionalKey(Schema.Literal(true)),
    /** True if only the words of the error say what it is: a sentence proves nothing. */
    worded: Schema.optionalKey(Schema.Literal(true))
  })),
  /**
   * True if it is certain that the tool has refused the call, and would refuse it again: its author says so
   * (`ToolCall.refuse`), or its requests prove it.
   */
  refused: Schema.optionalKey(Schema.Literal(true)),
  /** The HTTP status of the service's answer. */
  status: Schema.optionalKey(Schema.Int),
  /** The call of a tool that ended with the failure. */
  tool: Schema.optionalKey(Schema.Struct({
    /** The name of that call. */
    id: Schema.String,
    /** What that call did. */
    effects: Effects
  }))
}) {}

const isEvidence = Schema.is(Evidence)
const decode = Schema.decodeUnknownOption(Evidence)

/**
 * Returns the evidence of any value, with the known fields only; `undefined` if it has none, or none that can be read. Types
 * do not exist at run time, and a library's error may have a field of this name.
 */
export const evidenceOf = (value: unknown): Evidence | undefined =>
  attempt(() =>
    Predicate.hasProperty(value, "evidence") && value.evidence !== undefined
      ? Option.getOrUndefined(decode(value.evidence))
      : undefined
  )

/** The rules for the field of a failure: see `failureField`. */
export const evidenceField = {
  expected: "evidence",
  is: (value: unknown): boolean => attempt(() => isEvidence(value)) === true,
  // Nothing that it may have said is lost: the failure then counts as derived from an error.
  mend: (): Evidence => ({ inferred: { outcome: "not_executed" } }),
  read: (value: unknown): unknown => evidenceOf({ evidence: value })
}

/** The fields of a failure that say what was done. */
export interface Telling {
  readonly outcome?: Certainty
  readonly evidence?: Evidence
}

/** True if the `outcome` of a failure was derived from an error, so that it describes one request only. */
export const isInferred = (failure: Telling, evidence = evidenceOf(failure)): boolean =>
  evidence?.inferred !== undefined && evidence.inferred.outcome === failure.outcome

/** True if the failure was derived from an error, whatever it says of the outcome. */
export const isDerived = (failure: Telling): boolean => evidenceOf(failure)?.inferred !== undefined

/** True if a tool ended with the failure, so that the failure describes that tool. */
export const isOfTool = (failure: Telling): boolean => evidenceOf(failure)?.tool !== undefined
