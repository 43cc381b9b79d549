/**
 * An HTTP request that a tool's handler sent, as the library saw it.
 *
 * While a tool that acts (has side effects) runs, its requests are watched. What became of them is evidence of what the
 * tool did: see `Certainty`. The requests of a call stand in its events (`CallEvent`), in a failed or doubtful outcome
 * (`ToolOutcome`), and in the log of a call in doubt.
 *
 * @since 0.1.0
 */
import * as Schema from "effect/Schema"
import { namedStruct } from "./internal/value/namedStruct.ts"

/**
 * A request of a handler.
 *
 * @category models
 * @since 0.1.0
 */
export class WireRequest extends namedStruct<WireRequest>()({
  /** In upper case. */
  method: Schema.String,
  /** The origin and the path, without the query: at most 200 characters. What looks like a secret is removed. */
  url: Schema.String,
  /** False if the request certainly never left this process: for example, the connection was refused. */
  sent: Schema.Boolean,
  /** The status of the answer. Absent if no answer came before the handler ended. */
  status: Schema.optionalKey(Schema.Int),
  /** False if it does not act by the definition of its tool (`acts`). Then it proves nothing. */
  acts: Schema.optionalKey(Schema.Literal(false)),
  /** True if it carried the idempotency key of the call in a header. */
  keyed: Schema.optionalKey(Schema.Literal(true)),
  /** When the request began, in milliseconds of the `Clock`. */
  at: Schema.Finite,
  /** True if the request began after its handler had ended. */
  late: Schema.optionalKey(Schema.Literal(true))
}) {}

/**
 * Renders a request as one phrase: `"POST https://bank.example/pay (answered 500)"`.
 *
 * @category rendering
 * @since 0.1.0
 */
export const describe = ({ method, sent, status, url }: WireRequest): string =>
  `${method} ${url} (${status !== undefined ? `answered ${status}` : sent ? "no answer" : "not sent"})`
