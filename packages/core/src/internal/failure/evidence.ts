/*
 * Evidence: what is known of a failure beside its author's word. It is plain data, so that a copy of a failure, or one
 * that was encoded and decoded, is treated like the original.
 */
import * as Schema from "effect/Schema"
import { Certainty } from "../../Certainty.ts"
import { Effects } from "./effects.ts"

/**
 * The schema of an {@link Evidence}.
 *
 * @category schemas
 * @since 0.1.0
 */
export const Evidence = Schema.Struct({
  /**
   * Present if the failure was derived from an error, for example by `ToolFailure.from`. An error describes one request.
   * The handler may have made other requests before it.
   */
  inferred: Schema.optionalKey(Schema.Struct({
    /** Whether that one request took effect. Absent if the error does not show it. */
    outcome: Schema.optionalKey(Certainty),
    /** True if the request was redirected: the failure is then about the redirected request. */
    redirected: Schema.optionalKey(Schema.Literal(true))
  })),
  /** The HTTP status of the service's answer. */
  status: Schema.optionalKey(Schema.Int),
  /** The call of a tool that ended with the failure. */
  tool: Schema.optionalKey(Schema.Struct({
    /** The name of that call. */
    id: Schema.String,
    /** What that call did. */
    effects: Effects,
    /** When it ended, in milliseconds of the monotonic `Clock`, which counts from some time before the process began. */
    at: Schema.Finite
  }))
})

/**
 * What is known of a failure beside its author's word.
 *
 * @category models
 * @since 0.1.0
 */
export interface Evidence extends Schema.Schema.Type<typeof Evidence> {}

export const isEvidence = Schema.is(Evidence)

/** The fields of a failure that say what was done. */
export interface Telling {
  readonly outcome?: Certainty
  readonly evidence?: Evidence
}

/** True if the `outcome` of a failure was derived from an error, so that it describes one request only. */
export const isInferred = ({ evidence, outcome }: Telling): boolean =>
  evidence?.inferred !== undefined && evidence.inferred.outcome === outcome

/** True if a tool ended with the failure, so that the failure describes that tool. */
export const isOfTool = ({ evidence }: Telling): boolean => evidence?.tool !== undefined
