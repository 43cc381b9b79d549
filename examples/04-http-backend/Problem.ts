/**
 * The errors that a client gets: problem details (RFC 9457), each with a code for programs and a sentence for people.
 *
 * A body says what the client can do. It never says what happened inside: that is in the logs.
 */
import type { AgentFailure } from "@fallible/core"
import * as Data from "effect/Data"
import * as Duration from "effect/Duration"
import type * as HttpServerResponse from "effect/http/HttpServerResponse"
import { setHeader } from "effect/http/HttpServerResponse"
import * as ProblemDetails from "effect/http/ProblemDetails"

export class Problem extends Data.TaggedError("Problem")<{
  readonly status: number
  readonly code: string
  readonly detail: string
  readonly retryAfter?: Duration.Duration
  /** Which field of the body is wrong. */
  readonly pointer?: string
}> {}

export const make = (status: number, code: string, detail: string, retryAfter?: Duration.Input): Problem =>
  new Problem({
    status,
    code,
    detail,
    ...(retryAfter === undefined ? {} : { retryAfter: Duration.fromInputUnsafe(retryAfter) })
  })

export const response = (
  { code, detail, pointer, retryAfter, status }: Problem
): HttpServerResponse.HttpServerResponse => {
  const answer = ProblemDetails.toResponse({
    type: ProblemDetails.blankType,
    status,
    code,
    detail,
    ...(pointer === undefined ? {} : { pointer })
  })
  return retryAfter === undefined
    ? answer
    : setHeader(answer, "retry-after", `${Math.ceil(Duration.toSeconds(retryAfter))}`)
}

/** Returns the problem for a run that waits for its model. */
export const postponed = ({ retryAfter }: AgentFailure.RunPostponed): Problem =>
  make(503, "model_busy", "The language model is busy. Ask again later.", retryAfter)

/** Returns the problem for a failed run. The compiler rejects this function if it leaves a failure out. */
export const ofFailure = (failure: AgentFailure.Failed): Problem => {
  switch (failure._tag) {
    case "ModelFailed":
      return failure.failure.code === "timeout"
        ? make(504, "model_timeout", "The language model took too long. Ask again later.")
        : make(502, "model_failed", "The language model could not answer. Ask again later.")
    case "LimitReached":
      return make(422, "limit_reached", "The question takes too much work. Ask for less at a time.")
    case "LoopDetected":
      return make(508, "no_progress", "The assistant made no progress. Ask in other words.")
    case "RunStopped":
      return make(403, "stopped", "The assistant may not do this. Ask a person at the support desk.")
    case "OutputRefused":
      return make(502, "no_valid_answer", "The language model gave no valid answer. Ask again.")
    case "RunHalted":
      return make(503, "not_recorded", "The assistant cannot record its work. Ask again later.")
    case "RunRefused":
      return make(400, "invalid_run", "This question cannot be asked here. Begin a new conversation.")
  }
}

export const notOpen = make(409, "not_open", "This question is no longer open. Ask again.")
export const tooManyRuns = make(503, "busy", "Too many questions at once. Ask again in a moment.", "2 seconds")
export const draining = make(503, "draining", "The server is about to restart. Ask again soon.", "10 seconds")
