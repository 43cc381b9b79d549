/*
 * What the running code belongs to. An `AsyncLocalStorage` carries it through promises, timers and fibers, where the
 * runtime has one.
 */
import { type SeenRequest, WireRecord } from "./wireRecord.ts"

/**
 * An attempt, a fiber that may become one, or one request of the context's `fetch`. `null` for code whose requests say
 * nothing about an attempt, such as a request to a model.
 */
export type Place = WireRecord | Slot | OwnRequest | null

/** The place of a fiber that is started before its attempt begins. */
export class Slot {
  record: WireRecord | undefined = undefined
  /** The attempt around the fiber. */
  readonly outer = recordHere()
}

/** A request that is already noted. The first request that the runtime reports inside is the same one. */
export class OwnRequest {
  readonly record: WireRecord
  readonly requests: ReadonlyArray<SeenRequest>
  isReported = false

  constructor(record: WireRecord, requests: ReadonlyArray<SeenRequest>) {
    this.record = record
    this.requests = requests
  }
}

export interface Storage {
  readonly run: <A>(place: Place, run: () => A) => A
  readonly getStore: () => Place | undefined
}

let storage: Storage | undefined = undefined

/** Sets what carries the places. */
export const carryBy = (carrier: Storage): void => {
  storage = carrier
}

/** Runs code, whose requests are then noted in the record. */
export const within = <A>(place: Place | undefined, run: () => A): A =>
  place === undefined || storage === undefined || storage.getStore() === place ? run() : storage.run(place, run)

/** Runs code whose requests say nothing about the attempt that it belongs to. */
export const runUnwatched = <A>(run: () => A): A => isInside() ? within(null, run) : run()

/** True if the requests of the running code say nothing about the attempt that it belongs to. */
export const isUnwatched = (): boolean => storage?.getStore() === null

/** True if the running code belongs to an attempt whose requests are watched. */
export const isInside = (): boolean => recordHere() !== undefined

/** Returns the place of the running code, if the runtime can tell. */
export const here = (): Place | undefined => storage?.getStore() ?? undefined

/** Returns the record of the attempt that the running code belongs to, if the runtime can tell. */
export const recordHere = (): WireRecord | undefined => recordOf(here())

/**
 * Returns the record of the attempt around the one that begins here, if the runtime can tell.
 *
 * @param own the slot of the attempt that begins
 */
export const recordAround = (own: Slot | undefined): WireRecord | undefined => {
  const place = here()
  return place instanceof Slot && place === own ? place.outer : recordOf(place)
}

export const recordOf = (place: Place | undefined): WireRecord | undefined => {
  if (place === undefined || place === null) return undefined
  if (place instanceof WireRecord) return place
  return place instanceof Slot ? place.record ?? place.outer : place.record
}
