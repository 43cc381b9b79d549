/** The base of the failures of a run, which print short, and have JSON that their schema decodes. */
import { NodeInspectSymbol } from "effect/Inspectable"
import * as Schema from "effect/Schema"
import type { RunReport } from "../../RunReport.ts"
import * as Transcript from "../../Transcript.ts"
import { failureWith, withFields } from "../failure/failureClass.ts"
import { cut, printable } from "../value/text.ts"
import { attempt } from "../value/untrusted.ts"
import { summary } from "./runSummary.ts"
import { shownSuspension } from "./shownSuspension.ts"

interface Waiting {
  readonly transcript: Transcript.Transcript
  readonly postponement?: Waiting
  readonly suspension?: Parameters<typeof shownSuspension>[0]
}

interface Printed extends Waiting {
  readonly _tag: string
  readonly detail: string
  readonly report: RunReport
  /** The failure of the model, for a run that it ended. */
  readonly failure?: { readonly hint?: string }
  readonly cause?: unknown
}

/** A base class for the failures of a run. Each subclass has a static `schema`. */
export const RunFailure = failureWith({
  toString: {
    value(this: Printed) {
      return textOf(this)
    }
  },
  // Effect's loggers call a `toJSON` without parameters. This one has a parameter, so that they print the text.
  toJSON: {
    value(this: Printed, _key: unknown) {
      return attempt(() => Schema.encodeSync(schemaOf(this))(withFields(this, shown(this)))) ?? { ...this }
    }
  },
  [NodeInspectSymbol]: {
    value(this: Printed) {
      return this.cause === undefined ? textOf(this) : `${textOf(this)}\n\n  cause: ${causeText(this.cause)}`
    }
  }
})

/** Returns a failure without the secrets in its calls. */
export const withoutSecrets = <A extends Waiting>(failure: A): A => withFields<Waiting>(failure, shown(failure)) as A

const shown = <A extends Waiting>({ postponement, suspension, transcript }: A): Waiting => ({
  transcript: Transcript.shown(transcript),
  ...(postponement === undefined ? {} : { postponement: { ...postponement, ...shown(postponement) } }),
  ...(suspension === undefined ? {} : { suspension: shownSuspension(suspension) })
})

// Only the stack, which begins with the message: the fields of an HTTP client's error include the request's headers.
const causeText = (cause: unknown): string =>
  (attempt(() => cut(cause instanceof Error ? cause.stack ?? String(cause) : String(cause), 2000)) ?? "unknown")
    .split("\n").map(printable).join("\n")

// A failure may have been made by plain JavaScript, with any fields.
const textOf = (failure: Printed): string =>
  attempt(() => summary(failure._tag, withHint(failure), failure.report)) ?? `${failure._tag}: ${failure.detail}`

const withHint = ({ detail, failure }: Printed): string =>
  failure?.hint === undefined ? detail : `${detail}\n${failure.hint}`

// The constructor of an object has no precise type.
const schemaOf = (failure: object) =>
  (failure.constructor as unknown as { readonly schema: Schema.Codec<object> }).schema
