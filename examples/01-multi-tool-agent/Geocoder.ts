/**
 * Where a city is: a service that can be down, and what is remembered of its answers.
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

const located = (city: City): Place => ({ city, zone: city.zone })

/** Always there. */
export const layer: Layer.Layer<Geocoder> = Layer.succeed(Geocoder, {
  locate: (city) => Effect.succeed(located(city))
})

/**
 * In an outage: 60 % of the look-ups are refused. Which ones depends on the seed, on the city, and on
 * how often that city was asked for, and on nothing else; so the same seed gives the same run.
 */
export const layerOutage = (seed: string): Layer.Layer<Geocoder> =>
  Layer.effect(
    Geocoder,
    Effect.sync(() => {
      const asked = new Map<string, number>()
      return Geocoder.of({
        locate: (city) =>
          Effect.suspend(() => {
            const times = (asked.get(city.name) ?? 0) + 1
            asked.set(city.name, times)
            return Effect.flatMap(
              Random.withSeed(Random.next, `${seed}/${city.name}/${times}`),
              (chance) => chance < 0.6 ? Effect.fail(refused) : Effect.succeed(located(city))
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

/** What is left of earlier answers: some cities, and how old each one is. */
const remembered: ReadonlyMap<string, Duration.Duration> = new Map([
  ["London", Duration.hours(3)],
  ["Tokyo", Duration.hours(5)],
  ["Paris", Duration.days(2)],
  ["New York", Duration.minutes(40)]
])

export const rememberedNames: ReadonlyArray<string> = Array.from(remembered.keys())

export const recall = (city: City): { readonly place: Place; readonly age: Duration.Duration } | undefined => {
  const age = remembered.get(city.name)
  return age === undefined ? undefined : { place: located(city), age }
}
