import * as Clock from "effect/Clock"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Option from "effect/Option"
import type * as Schema from "effect/Schema"
import * as Arguments from "../../Arguments.ts"
import * as Deadline from "../../Deadline.ts"
import { type Coverage, PartialData, type ToolFailure } from "../../ToolFailure.ts"
import { encoderOf } from "../arguments/encoder.ts"
import { hasPart } from "../call/ending.ts"
import { endInner, handOut, pageScope } from "../call/innerScope.ts"
import { note, noteHandled } from "../call/note.ts"
import { partOf } from "../call/partScope.ts"
import { current } from "../call/scope.ts"
import { millisToAnswer } from "../call/timeLeft.ts"
import { withinTime } from "../fiber/withinTime.ts"
import { canonical } from "../value/canonical.ts"
import { utf8Length } from "../value/text.ts"

/** How pages are merged, and the limits beyond which no further page is fetched. */
export interface Following {
  readonly merge: (soFar: unknown, page: unknown) => unknown
  readonly coverage: ((soFar: unknown) => Coverage) | undefined
  readonly pages: number
  readonly time: Duration.Duration
  readonly bytes: number
}

interface Tool<R> {
  readonly parameters: Schema.ConstraintDecoder<unknown>
  readonly run: (params: unknown) => Effect.Effect<unknown, ToolFailure, R>
}

interface Source<R> extends Tool<R> {
  readonly encode: ReturnType<typeof encoderOf>
}

/** Everything fetched so far: a partial result that grows. */
interface SoFar {
  readonly last: PartialData
  readonly data: unknown
  readonly params: unknown
  readonly pages: number
  readonly bytes: number
  /** The canonical arguments of the pages requested so far, so that no page is requested twice. */
  readonly requested: Set<string>
}

/**
 * Follows the `next` of a partial result, page by page, until the result is complete. If a limit is
 * reached or a page fails, the run fails with a `PartialData` that contains the pages fetched so far.
 */
export const followPages = <R>(tool: Tool<R>, options: Following) => {
  const source: Source<R> = { ...tool, encode: encoderOf(tool.parameters) }
  return (params: unknown): Effect.Effect<unknown, ToolFailure, R> =>
    Effect.catch(source.run(params), (first) =>
      first._tag !== "PartialData" || first.next === undefined
        ? Effect.fail(first)
        : Effect.flatMap(Clock.currentTimeMillis, (now) =>
          fetchRest(source, options, now + Duration.toMillis(options.time), {
            last: first,
            data: first.data,
            params,
            pages: 1,
            bytes: sizeOf(first.data),
            requested: new Set([canonical(params) ?? ""])
          })))
}

const fetchRest = <R>(
  source: Source<R>,
  options: Following,
  until: number,
  soFar: SoFar
): Effect.Effect<unknown, ToolFailure, R> => {
  const stop = (why: string, isUseless = false) => Effect.fail(incomplete(options, soFar, why, isUseless))
  const { next } = soFar.last
  if (next === undefined) return stop("the service does not say how to continue")
  if (soFar.pages >= options.pages) return stop(`at most ${options.pages} pages are fetched at once`)
  if (soFar.bytes >= options.bytes) return stop(`at most ${options.bytes} bytes are fetched at once`)
  return Effect.flatMap(timeLeft(until), (left) => {
    if (left <= 0) return stop("the time for it was up")
    return Effect.matchEffect(paramsOf(source, soFar.params, next), {
      onFailure: () => stop("the arguments for the next page do not fit the tool's parameters", true),
      onSuccess: ({ key, params }) => {
        if (soFar.requested.has(key)) return stop("the next page was already fetched", true)
        return Effect.matchEffect(fetchPage(source, params, soFar.pages + 1, left), {
          onSuccess: Option.match({
            onNone: () => stop("the time for it was up"),
            onSome: (value) => Effect.succeed(options.merge(soFar.data, value))
          }),
          onFailure: (failure) =>
            failure._tag === "PartialData"
              ? fetchRest(source, options, until, {
                last: failure,
                data: options.merge(soFar.data, failure.data),
                params,
                pages: soFar.pages + 1,
                bytes: soFar.bytes + sizeOf(failure.data),
                requested: soFar.requested.add(key)
              })
              : Effect.andThen(
                Effect.map(current, (scope) => noteHandled(scope, failure, { by: "paginate" })),
                stop(`page ${soFar.pages + 1} failed: ${failure.detail.replace(/\.$/, "")}`)
              )
        })
      }
    })
  })
}

// Fetches one page. Each page is a separate call to the service, with its own idempotency key. If a
// page used the key of the first call, the service could return page 1 again.
const fetchPage = <R>({ run }: Source<R>, params: unknown, number: number, left: number) =>
  Effect.flatMap(current, (scope) => {
    const page = pageScope(scope, number)
    const limit = partOf(page, "limit")
    const fetched = run(params).pipe(Effect.provideService(current, limit), Deadline.within(left))
    const inTime = withinTime(Effect.asSome(fetched), left, {
      late: () => Effect.succeed(Option.none<unknown>()),
      onLeft: (fiber) => {
        scope.live.abandoned.add(fiber)
        note(scope, { _tag: "AttemptAbandoned", by: "paginate" })
      }
    })
    return Effect.onExit(inTime, (exit) =>
      Effect.sync(() => {
        limit.close()
        const isPart = Exit.isSuccess(exit) ? Option.isSome(exit.value) : hasPart(exit.cause)
        endInner(page, isPart)
        // The caveats on a page apply to the whole result only if the page becomes part of it.
        if (isPart) handOut(page)
      }))
  })

// At the deadline, the whole call would end and lose all pages, so fetching stops shortly before the deadline.
const timeLeft = (until: number): Effect.Effect<number> =>
  Effect.withFiber((fiber) => {
    const now = fiber.getRef(Clock.Clock).currentTimeMillisUnsafe()
    return Effect.succeed(Math.min(until - now, millisToAnswer(fiber)))
  })

// `next` contains either all arguments of the next call, or only those that change. The combined
// arguments are checked like arguments from a model.
const paramsOf = <R>(source: Source<R>, params: unknown, next: Schema.JsonObject) =>
  Effect.flatMap(
    Effect.orElseSucceed(source.encode(params), () => ({})),
    (before) => {
      const continued: Schema.JsonObject = Object.assign({}, before, next)
      return Effect.map(Arguments.decode(JSON.stringify(continued), source), ({ params }) => ({
        params,
        key: canonical(continued) ?? ""
      }))
    }
  )

const sizeOf = (data: unknown): number => utf8Length(canonical(data) ?? "")

/**
 * Returns the failure with the pages fetched so far.
 *
 * @param isUseless true if the next page cannot be requested; if so, the failure has no `next`
 */
const incomplete = (
  { coverage }: Following,
  { data, last, pages }: SoFar,
  why: string,
  isUseless: boolean
): PartialData => {
  const total = last.coverage?.unit === "pages" ? last.coverage.of : undefined
  const counted: Coverage = { have: pages, ...(total === undefined ? {} : { of: total }), unit: "pages" }
  return new PartialData({
    code: last.code,
    detail: `${pages} ${pages === 1 ? "page" : "pages"}${total === undefined ? "" : ` of ${total}`}: ${why}.`,
    data,
    coverage: coverage?.(data) ?? counted,
    ...(last.next === undefined || isUseless ? {} : { next: last.next }),
    ...(last.hint === undefined ? {} : { hint: last.hint }),
    cause: last.cause
  })
}
