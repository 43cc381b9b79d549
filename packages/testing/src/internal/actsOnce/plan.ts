/*
 * The plans of a check: which faults the service has, and what the model, the provider, the process and the program around
 * the tool do. All short plans come first, and then longer ones, which are drawn.
 */
import * as Effect from "effect/Effect"
import * as Random from "effect/Random"
import type { Fault } from "../../FakeService.ts"
import { faults, type Plan as ServicePlan, variants } from "./plannedService.ts"

/**
 * The process stops at one of the model's calls, either before the call runs, or before the call's result is recorded.
 * Another process continues from the journal.
 */
export interface Stop {
  readonly call: number
  readonly hasRun: boolean
}

/**
 * Why a second run begins after the first. With `delivered_again`, a process that knows nothing of the first run repeats the
 * whole job, under the same id. Otherwise, the job has not succeeded, and the program runs the agent again, with what it has
 * kept of the first run.
 */
export type Again = "delivered_again" | "with_facts" | "with_facts_and_transcript" | "with_transcript"

/** One sequence of events. */
export interface Plan extends Omit<ServicePlan, "variant"> {
  readonly stop: Stop | undefined
  readonly again: Again | undefined
  /** Whether the model words each call in another way than the call before. */
  readonly isReworded: boolean
  /** How the second of two calls is written, if each turn has the call twice. */
  readonly twice: "same" | "reordered" | "reworded" | undefined
  /** Whether the model makes the call once more after its success. */
  readonly repeatsSuccess: boolean
  /** The most calls of a run that has not succeeded. Default: those of the check. */
  readonly calls?: number
  /** Which statuses and sentences the service answers. Default: those of the plan's position. */
  readonly variant?: number
}

/** The plan in which nothing goes wrong. */
export const nothingWrong: Plan = {
  faults: [],
  refusesToRead: false,
  stop: undefined,
  again: undefined,
  isReworded: false,
  twice: undefined,
  repeatsSuccess: false
}

/** What can be played of a tool and its arguments. */
export interface Playable {
  /** Whether a job may be delivered again. Without keys, a second process that knows nothing would always act again. */
  readonly isByKey: boolean
  /** Whether the check has found other words for the call. */
  readonly hasOtherWords: boolean
  /** Whether the model uses several spellings, the user's or its own. */
  readonly hasSpellings: boolean
  /** Whether the arguments can have another order. */
  readonly hasOrder: boolean
  /** Whether a call after a success means a second effect. */
  readonly repeats: boolean
}

/** Returns at most `runs` plans. */
export const plans = (runs: number, of: Playable): Effect.Effect<ReadonlyArray<Plan>> =>
  Effect.map(
    drawPlans(runs, of),
    (longer) => [...shortPlans(of), ...longer].slice(0, runs).map((plan, variant) => ({ variant, ...plan }))
  )

/** Returns the plans that have one thing less, or a simpler one. */
export const smallerPlans = (plan: Plan): ReadonlyArray<Plan> => {
  const { again, calls = Infinity, faults, isReworded, refusesToRead, repeatsSuccess, stop, twice } = plan
  return [
    ...(stop === undefined ? [] : [{ ...plan, stop: undefined }]),
    ...(again === undefined ? [] : [{ ...plan, again: undefined }]),
    ...(twice === undefined ? [] : [{ ...plan, twice: undefined }]),
    ...(repeatsSuccess ? [{ ...plan, repeatsSuccess: false }] : []),
    ...(isReworded ? [{ ...plan, isReworded: false }] : []),
    ...(refusesToRead ? [{ ...plan, refusesToRead: false }] : []),
    ...faults.map((_, index) => ({ ...plan, faults: faults.toSpliced(index, 1) })),
    ...faults.flatMap((fault, index) => fault === "none" ? [] : [{ ...plan, faults: faults.with(index, "none") }]),
    ...(twice === undefined || twice === "same" ? [] : [{ ...plan, twice: "same" } as const]),
    ...(again === "with_facts_and_transcript" ? [{ ...plan, again: "with_facts" } as const] : []),
    ...[1, 2].flatMap((fewer) => fewer < calls ? [{ ...plan, calls: fewer }] : [])
  ]
}

const stops: ReadonlyArray<Partial<Plan>> = [
  { stop: { call: 1, hasRun: true } },
  { stop: { call: 1, hasRun: false } },
  { stop: { call: 2, hasRun: true } },
  { stop: { call: 2, hasRun: false } }
]

// What the model, the provider and the program do around a tool.
const repetitions = (
  { hasOrder, hasOtherWords, hasSpellings, isByKey, repeats }: Playable
): ReadonlyArray<Partial<Plan>> => {
  const again: ReadonlyArray<Partial<Plan>> = [
    ...(isByKey ? [{ again: "delivered_again" } as const] : []),
    { again: "with_facts" },
    { again: "with_facts_and_transcript" },
    { again: "with_transcript" },
    ...(repeats ? [] : [{ repeatsSuccess: true }])
  ]
  return [
    { twice: "same" },
    ...(hasSpellings ? [{ twice: "reworded" } as const] : []),
    ...(hasOrder ? [{ twice: "reordered" } as const] : []),
    ...(hasOtherWords ? [{ isReworded: true }, ...again.map((plan) => ({ ...plan, isReworded: true }))] : again)
  ]
}

const shortPlans = (of: Playable): ReadonlyArray<Plan> => {
  const planned = (...faults: ReadonlyArray<Fault>): Plan => ({ ...nothingWrong, faults })
  const firstFaults = faults.filter((fault) => fault !== "none")
  const repeated = repetitions(of)
  return [
    // First, because nothing has to fail for it.
    ...(of.repeats ? [] : [{ ...nothingWrong, repeatsSuccess: true }]),
    ...faults.flatMap((fault) => varied.has(fault) ? inEachVariant(planned(fault)) : [planned(fault)]),
    ...inEachVariant({ ...nothingWrong, refusesToRead: true }),
    // Only a handler of several requests has a later one, after the first has acted.
    ...firstFaults.flatMap((fault) =>
      varied.has(fault) ? inEachVariant(planned("none", fault)) : [planned("none", fault)]
    ),
    // A check that cannot read must not say that nothing was done.
    ...doubtful.flatMap((fault) => inEachVariant({ ...planned(fault), refusesToRead: true })),
    ...[...stops, ...repeated].map((around) => ({ ...nothingWrong, ...around })),
    ...firstFaults.flatMap((fault) => repeated.map((around) => ({ ...planned(fault), ...around }))),
    ...firstFaults.flatMap((first) => faults.map((second) => planned(first, second))),
    ...stops.flatMap((around) => faults.map((fault) => ({ ...planned(fault), ...around })))
  ]
}

/** The faults that have several statuses, or several delays. */
const varied: ReadonlySet<Fault> = new Set(["refused", "acted_and_answered_500", "dropped_and_acted_later"])

/** The faults after which the service has acted, or will. */
const doubtful: ReadonlyArray<Fault> = [
  "acted_and_dropped",
  "dropped_and_acted_later",
  "acted_and_answered_500",
  "slow"
]

const inEachVariant = (plan: Plan): ReadonlyArray<Plan> =>
  Array.from({ length: variants }, (_, variant) => ({ ...plan, variant }))

// Each longer sequence has only few kinds of faults, which then come in many orders: swarm testing, by Groce et al. (2012).
const drawPlans = (runs: number, of: Playable): Effect.Effect<ReadonlyArray<Plan>> => {
  const arounds = [{}, ...stops, ...repetitions(of)]
  return Effect.forEach(Array.from({ length: runs }), () =>
    Effect.gen(function*() {
      const around = yield* oneOf(arounds)
      const length = yield* Random.nextIntBetween(3, 6)
      const kinds = yield* several(faults, 3)
      return { ...nothingWrong, faults: yield* several(kinds, length), ...around }
    }))
}

const several = <A>(all: ReadonlyArray<A>, length: number): Effect.Effect<ReadonlyArray<A>> =>
  Effect.forEach(Array.from({ length }), () => oneOf(all))

const oneOf = <A>(all: ReadonlyArray<A>): Effect.Effect<A> =>
  Effect.map(Random.nextIntBetween(0, all.length - 1), (index) => all[index]!)
