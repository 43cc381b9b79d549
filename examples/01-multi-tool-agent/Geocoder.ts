/**
 * A geocoder: a service that can be down, and a cache of its earlier answers.
 */
import { ToolUnavailable } from "@fallible/core"
import * as Context from "effect/Context"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Random from "effect/Random"
import type { City } from "./World.ts"

export interface Place {
  readonly city: City
  /** IANA time zone. */
  readonly zone: string
}

export class Geocoder extends Context.Service<Geocoder, {
  readonly locate: (city: City) => Effect.Effect<Place, ToolUnavailable>
}>()("example/Geocoder") {}

const placeOf = (city: City): Place => ({ city, zone: city.zone })

/** A geocoder that is always up. */
export const layer: Layer.Layer<Geocoder> = Layer.succeed(Geocoder, {
  locate: (city) => Effect.succeed(placeOf(city))
})

/**
 * A geocoder in an outage: it refuses 60 % of its look-ups. Which ones depends only on the seed, the city,
 * and how often that city was looked up. The same seed therefore gives the same run.
 */
export const layerOutage = (seed: string): Layer.Layer<Geocoder> =>
  Layer.effect(
    Geocoder,
    Effect.sync(() => {
      const lookUps = new Map<string, number>()
      return Geocoder.of({
        locate: (city) =>
          Effect.suspend(() => {
            const nth = (lookUps.get(city.name) ?? 0) + 1
            lookUps.set(city.name, nth)
            return Effect.flatMap(
              Random.withSeed(Random.next, `${seed}/${city.name}/${nth}`),
              (chance) => chance < 0.6 ? Effect.fail(refused) : Effect.succeed(placeOf(city))
            )
          })
      })
    })
  )

const refused = new ToolUnavailable({
  code: "connection",
  detail: "The geocoder refused the connection.",
  transient: true,
  outcome: "not_executed"
})

/** Cached cities, and the age of each entry. */
const remembered: ReadonlyMap<string, Duration.Duration> = new Map([
  ["London", Duration.hours(3)],
  ["Tokyo", Duration.hours(5)],
  ["Paris", Duration.days(2)],
  ["New York", Duration.minutes(40)]
])

export const rememberedNames: ReadonlyArray<string> = Array.from(remembered.keys())

export const recall = (city: City): { readonly place: Place; readonly age: Duration.Duration } | undefined => {
  const age = remembered.get(city.name)
  return age === undefined ? undefined : { place: placeOf(city), age }
}
