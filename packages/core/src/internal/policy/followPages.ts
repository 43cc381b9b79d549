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
import { current } from "../call/frame.ts"
import { Gate } from "../call/gate.ts"
import { hasPart } from "../call/handlerEnding.ts"
import { PageFrame } from "../call/innerFrame.ts"
import { millisToAnswer } from "../call/timeLeft.ts"
import { withinTime } from "../effect/withinTime.ts"
import { canonical } from "../value/canonical.ts"
import { utf8Length } from "../value/text.ts"

/** How pages are put together, and how far they are followed. */
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

/** What has been fetched: a partial result that grows. */
interface SoFar {
  readonly last: PartialData
  readonly data: unknown
  readonly params: unknown
  readonly pages: number
  readonly bytes: number
  /** The pages that were asked for, so that none is asked for twice. */
  readonly asked: Set<string>
}

/**
 * Follows the `next` of a partial result, page by page, until all is there; or until a limit is reached or a page
 * fails, and then keeps what it has.
 */
export const following = <R>(tool: Tool<R>, options: Following) => {
  const source: Source<R> = { ...tool, encode: encoderOf(tool.parameters) }
  return (params: unknown): Effect.Effect<unknown, ToolFailure, R> =>
    Effect.catch(source.run(params), (first) =>
      first._tag !== "PartialData" || first.next === undefined
        ? Effect.fail(first)
        : Effect.flatMap(Clock.currentTimeMillis, (now) =>
          rest(source, options, now + Duration.toMillis(options.time), {
            last: first,
            data: first.data,
            params,
            pages: 1,
            bytes: sizeOf(first.data),
            asked: new Set([canonical(params) ?? ""])
          })))
}

const rest = <R>(
  source: Source<R>,
  options: Following,
  until: number,
  soFar: SoFar
): Effect.Effect<unknown, ToolFailure, R> => {
  const stop = (why: string, isUseless = false) => Effect.fail(incomplete(options, soFar, why, isUseless))
  const { next } = soFar.last
  if (next === undefined) return stop("the service does not say how to go on")
  if (soFar.pages >= options.pages) return stop(`at most ${options.pages} pages are fetched at once`)
  if (soFar.bytes >= options.bytes) return stop(`more than ${options.bytes} bytes are not fetched at once`)
  return Effect.flatMap(timeLeft(until), (left) => {
    if (left <= 0) return stop("the time for it was up")
    return Effect.matchEffect(paramsOf(source, soFar.params, next), {
      onFailure: () => stop("the arguments that continue do not fit the tool's own parameters", true),
      onSuccess: ({ key, params }) => {
        if (soFar.asked.has(key)) return stop("the page that comes next is one that was already fetched", true)
        return Effect.matchEffect(page(source, params, soFar.pages + 1, left), {
          onSuccess: Option.match({
            onNone: () => stop("the time for it was up"),
            onSome: (value) => Effect.succeed(options.merge(soFar.data, value))
          }),
          onFailure: (failure) =>
            failure._tag === "PartialData"
              ? rest(source, options, until, {
                last: failure,
                data: options.merge(soFar.data, failure.data),
                params,
                pages: soFar.pages + 1,
                bytes: soFar.bytes + sizeOf(failure.data),
                asked: soFar.asked.add(key)
              })
              : Effect.andThen(
                Effect.map(current, (frame) => frame.handled(failure, { by: "paginate" })),
                stop(`page ${soFar.pages + 1} failed: ${failure.detail.replace(/\.$/, "")}`)
              )
        })
      }
    })
  })
}

// Each page is a call of its own to the service: with a key of its own, or an idempotent one would answer page 1 again.
const page = <R>({ run }: Source<R>, params: unknown, number: number, left: number) =>
  Effect.flatMap(current, (frame) => {
    const context = new PageFrame(frame, number)
    const gate = new Gate(context)
    const fetched = run(params).pipe(Effect.provideService(current, gate), Deadline.within(left))
    const inTime = withinTime(Effect.asSome(fetched), left, {
      late: () => Effect.succeed(Option.none<unknown>()),
      onLeft: (fiber) => {
        frame.live.abandoned.add(fiber)
        frame.note({ _tag: "AttemptAbandoned", by: "paginate" })
      }
    })
    return Effect.onExit(inTime, (exit) =>
      Effect.sync(() => {
        gate.close()
        const isPart = Exit.isSuccess(exit) ? Option.isSome(exit.value) : hasPart(exit.cause)
        context.ended(isPart)
        // What was noted is said of the whole, if the page is a part of it.
        if (isPart) context.leave()
      }))
  })

// The run's own deadline ends the whole call, with all that it has: so the pages end a little before it.
const timeLeft = (until: number): Effect.Effect<number> =>
  Effect.withFiber((fiber) => {
    const now = fiber.getRef(Clock.Clock).currentTimeMillisUnsafe()
    return Effect.succeed(Math.min(until - now, millisToAnswer(fiber)))
  })

// `next` may be all arguments of the next call, or just those that change. What a service gives is checked like a model's.
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

/** @param isUseless would the call that continues be of no use? */
const incomplete = (
  { coverage }: Following,
  { data, last, pages }: SoFar,
  why: string,
  isUseless: boolean
): PartialData => {
  const of = last.coverage?.unit === "pages" ? last.coverage.of : undefined
  const counted: Coverage = { have: pages, ...(of === undefined ? {} : { of }), unit: "pages" }
  return new PartialData({
    code: last.code,
    detail: `${pages} ${pages === 1 ? "page" : "pages"}${of === undefined ? "" : ` of ${of}`}: ${why}.`,
    data,
    coverage: coverage?.(data) ?? counted,
    ...(last.next === undefined || isUseless ? {} : { next: last.next }),
    ...(last.hint === undefined ? {} : { hint: last.hint }),
    cause: last.cause
  })
}
