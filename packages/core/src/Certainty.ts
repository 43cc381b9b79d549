/**
 * Whether a call took effect, and what counts as evidence of it.
 *
 * A call's certainty is decided when the tool's handler ends. A policy cannot change it by mapping or catching
 * a failure, by retrying, or by answering from another source. A read-only tool did nothing. An attempt of a tool that
 * acts (has side effects) is in doubt if it ends without its answer, unless something stronger says otherwise. The
 * first row that applies decides:
 *
 * | evidence                                                                       | certainty      | may the handler run again in this call? |
 * | ------------------------------------------------------------------------------ | -------------- | --------------------------------------- |
 * | the final answer of a check (`Tool.reconcile`)                                 | what it says   | if it did nothing                       |
 * | a value                                                                        | `executed`     | never                                   |
 * | a question to the user                                                         | `not_executed` | yes                                     |
 * | a promise, a defect, an interruption; or the attempt was abandoned             | `unknown`      | no                                      |
 * | the author's word: `outcome` on a failure of any class                         | what it says   | if it says `not_executed`               |
 * | the author's refusal: `refuse`, or a class that `refuses` lists                | `not_executed` | no                                      |
 * | `PartialData`                                                                  | `executed`     | never                                   |
 * | a request that may have acted; a 409 or 422 under a key that was sent before   | `unknown`      | no                                      |
 * | a `SchemaMismatch` of the arguments, made by hand                              | `not_executed` | yes                                     |
 * | a `SemanticGarbage`, made by hand                                              | `not_executed` | no                                      |
 * | `refusesFirst`, and a refusal: a status, an SQLSTATE, an SMTP code, by hand    | `not_executed` | yes                                     |
 * | all requests that act were refused                                             | `not_executed` | no                                      |
 * | all requests that act never left, or were not served                           | `not_executed` | yes                                     |
 * | no request that acts was sent, and the tool promises that only requests act    | `not_executed` | unless it reads as a refusal            |
 * | none of these                                                                  | `unknown`      | no                                      |
 *
 * The words of an error, its code and its class prove nothing. `ToolFailure.from` derives from them what the model
 * reads, and whether waiting helps. The same holds for a permanent `ToolUnavailable` without an `outcome`.
 *
 * The author's word holds even if a request contradicts it; the contradiction is logged. It is believed if it is about
 * the tool itself. A failure that comes from a tool that the handler ran describes only that inner tool. After an inner
 * tool has failed with `not_executed`, even the handler's own `not_executed` is not believed in that attempt, since the
 * handler may have copied it. A tool that is declared `refusesFirst` is believed in both cases.
 *
 * The last column applies to tools that are neither read-only nor idempotent. A call is in doubt (`unknown`) if
 * any part of it is, such as a tool that the handler ran, or the source of a fallback. The final answer of a check
 * (`Tool.reconcile`) clears the doubt about the attempts, but not the doubt about a fallback. For an idempotent
 * tool, a later success also clears the doubt about earlier attempts. Once a call is `executed`, it stays so.
 *
 * After the handler has returned a value, the tool's definition may still reject the value, for example because
 * it is empty, reports a failure or breaks an invariant (`Tool.Contract`). The rejection does not change the certainty.
 *
 * **Two kinds of doubt.** A doubt is *soft* if the failure reads as a refusal, and nothing was seen that may act. A failure
 * reads as a refusal unless it is transient, its `outcome` is `"unknown"`, or it is about a result. Any other doubt is
 * *hard*. Both refuse the same call and keep the number of its key. A hard doubt also closes its tool, unless the tool's
 * `identity` says which calls mean another effect (`CallFacts`). In a soft doubt, the model reads the tool's own words, and
 * that these are no proof.
 *
 * **Which requests are seen.** On Node, those of `fetch`, undici and `node:http`, and so those of the clients that use
 * them; those of `node:http2` from Node 22, over a session that was opened before. On every runtime, those of the context's own `fetch` (`ToolCall.fetch`), and those
 * that `ToolCall.noteRequest` notes. A request acts unless its method is GET, HEAD, OPTIONS or TRACE; the definition may
 * name others (`acts`).
 *
 * | the request was                                        | so it                                                |
 * | ------------------------------------------------------ | ---------------------------------------------------- |
 * | answered 423, 425 or 429; or it never left             | was not served                                       |
 * | answered 307 or 308                                    | leads to another request, which decides              |
 * | answered 409 or 422 under a key that was sent before   | may have acted: the service may know the key already |
 * | answered with another 4xx, except 408                  | was refused                                          |
 * | answered in any other way, or not at all               | may have acted                                       |
 *
 * A socket that is not HTTP's, such as a database's, can act unseen. So can a child process, a worker thread, UDP and a
 * WebSocket. If the handler opens one of these, neither refused requests nor silence prove anything.
 *
 * **What is not seen:**
 *
 * - the global `fetch` of Bun and Deno, a `fetch` that was replaced, undici's MockAgent, msw;
 * - connections of a database's driver or a pool that were opened before the call;
 * - a task that a queue, a batch or a worker runs in the context of another caller, and whose request has no key: it
 *   belongs to that caller, or to none.
 *
 * What is not seen proves nothing by its silence. On Bun and Deno, a refusal proves nothing either, unless the handler
 * sends all requests with the context's `fetch`, and its tool promises that nothing else acts (`acts.only`). On Node, what
 * is not seen is overlooked next to a request that was seen to be refused. Node 20 does not see the sockets of drivers. So a
 * row that was stored before a POST that is refused reads as `not_executed`. So does a tool with two effects, if one
 * of them is not a request. Such a handler says by an `outcome` what it did.
 *
 * The library trusts what it cannot check: what a tool declares (`sideEffect`, `refusesFirst`, `refuses`, `acts`), and
 * the answer of a policy, or of a fallback that is not a tool. It cannot see whether the code of a policy or a fallback
 * has side effects. The effects of tools that policies and fixers run for their own purposes do not count as effects of
 * the called tool.
 *
 * @since 0.1.0
 */
import * as Schema from "effect/Schema"

/**
 * The schema of a {@link Certainty}.
 *
 * @category schemas
 * @since 0.1.0
 */
export const Certainty = Schema.Literals(["executed", "not_executed", "unknown"])

/**
 * The certainty of a call.
 *
 * - `"executed"`: the call took effect.
 * - `"not_executed"`: the call changed nothing. This includes every call that only reads.
 * - `"unknown"`: the call may have taken effect, fully or in part.
 *
 * @category models
 * @since 0.1.0
 */
export type Certainty = typeof Certainty.Type

/**
 * The schema of a {@link Doubt}.
 *
 * @category schemas
 * @since 0.1.0
 */
export const Doubt = Schema.Literals(["hard", "soft"])

/**
 * How strong the doubt about a call is, if its certainty is `unknown`.
 *
 * - `"hard"`: something was seen that may have acted, or nobody knows how the attempt ended: a request without an answer,
 *   a lost connection, a defect, an attempt that still runs.
 * - `"soft"`: the tool reads as if it had refused the call, but nothing proves it, and nothing was seen that acts.
 *
 * @category models
 * @since 0.1.0
 */
export type Doubt = typeof Doubt.Type

/**
 * Combines the certainties of two effects: if either is `unknown`, so is the result.
 *
 * @example
 * ```ts
 * import * as Certainty from "@fallible/core/Certainty"
 *
 * Certainty.join("executed", "unknown") // => "unknown"
 * Certainty.join("executed", "not_executed") // => "executed"
 * ```
 *
 * @category combining
 * @since 0.1.0
 */
export const join = (one: Certainty, other: Certainty): Certainty => {
  if (one === "unknown" || other === "unknown") return "unknown"
  return one === "executed" ? one : other
}
