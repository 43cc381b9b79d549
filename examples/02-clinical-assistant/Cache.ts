/**
 * The cache that earlier sessions left: the facts of all drugs, as `get_drug_facts` stored them some time ago.
 */
import * as LastKnown from "@fallible/core/LastKnown"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import { Database } from "./Database.ts"
import { DrugApi } from "./DrugApi.ts"
import { getDrugFacts } from "./tools.ts"
import { drugs, findDrug, interactionsAmong } from "./World.ts"

export const states = ["full", "stale", "empty"] as const
export type State = (typeof states)[number]

const ages = { full: Duration.hours(3), stale: Duration.days(30) }

export const layer = (state: State): Layer.Layer<LastKnown.LastKnown> =>
  state === "empty" ? LastKnown.layerMemory() : Layer.effect(
    LastKnown.LastKnown,
    Effect.gen(function*() {
      const store = yield* LastKnown.LastKnown
      // The tool stores its own answers: run it once for each drug, with a store that backdates its entries.
      const backdated = LastKnown.LastKnown.of({
        get: store.get,
        set: (key, { at, value }) => store.set(key, { value, at: at - Duration.toMillis(ages[state]) })
      })
      yield* Effect.forEach(drugs, ({ name }) => getDrugFacts.run({ name }), { discard: true }).pipe(
        Effect.provideService(LastKnown.LastKnown, backdated),
        Effect.provide(healthyServices)
      )
      return store
    })
  ).pipe(Layer.provide(LastKnown.layerMemory()), Layer.orDie)

const healthyServices = Layer.merge(
  Layer.succeed(Database, {
    patient: () => Effect.succeedNone,
    drug: (name) => Effect.succeed(Option.fromUndefinedOr(findDrug(name))),
    drugNames: Effect.succeed([])
  }),
  Layer.succeed(DrugApi, {
    facts: () => Effect.die("Everything is in house."),
    interactions: (names) => Effect.succeed(interactionsAmong(names))
  })
)
