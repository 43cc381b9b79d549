/**
 * Calls of the clinical assistant's tools, in two worlds: one without files and network, and the real one.
 */
import { NodeFileSystem } from "@effect/platform-node"
import { Agent, Dispatch, ToolUnavailable } from "@fallible/core"
import * as HttpFailure from "@fallible/core/HttpFailure"
import * as Rendering from "@fallible/core/Rendering"
import type * as ToolOutcome from "@fallible/core/ToolOutcome"
import * as Cache from "@fallible/examples/02-clinical-assistant/Cache"
import * as Database from "@fallible/examples/02-clinical-assistant/Database"
import * as DrugApi from "@fallible/examples/02-clinical-assistant/DrugApi"
import * as DrugServer from "@fallible/examples/02-clinical-assistant/DrugServer"
import * as Planner from "@fallible/examples/02-clinical-assistant/Planner"
import { toolkit } from "@fallible/examples/02-clinical-assistant/tools"
import { findDrug, inHouse, interactionsAmong, patients } from "@fallible/examples/02-clinical-assistant/World"
import { Clock, Duration, Effect, Layer, Option } from "effect"
import { FetchHttpClient } from "effect/http"
import { completed } from "./fixing.ts"
import { atOnce } from "./models.ts"

/** Dispatches one call, as a model would make it. */
export const call = (name: string, args: object | string, place?: Dispatch.CallOptions) =>
  Dispatch.call(
    toolkit,
    { id: "1", name, arguments: typeof args === "string" ? args : JSON.stringify(args) },
    place
  )

export const patient = (patientId: string) => call("get_patient", { patientId })
export const facts = (name: string) => call("get_drug_facts", { name })
export const together = (...drugs: ReadonlyArray<string>) => call("check_interactions", { drugs })

export const told = (outcome: ToolOutcome.ToolOutcome): Record<string, unknown> =>
  JSON.parse(Rendering.json(outcome, { id: "1", name: "tool" }))

/** Returns the source of a result, its age, and its caveats. */
export const source = (outcome: ToolOutcome.ToolOutcome) => {
  const { caveats, source } = completed(outcome)
  return [source?.name, source?.age === undefined ? "fresh" : Duration.format(source.age), ...caveats]
}

export interface Played {
  readonly drug: Database.Database["Service"]["drug"]
  readonly patient: Database.Database["Service"]["patient"]
  readonly facts: DrugApi.DrugApi["Service"]["facts"]
  readonly interactions: DrugApi.DrugApi["Service"]["interactions"]
  readonly cache: Cache.State
}

/** A world without files and network. Sources are up unless `world` replaces them. Records each query and its time. */
export const played = (world: Partial<Played> = {}) => {
  const asked: Array<string> = []
  const recordQuery = <A, E>(query: string, answer: Effect.Effect<A, E>) =>
    Effect.flatMap(Clock.currentTimeMillis, (now) => {
      asked.push(`${now} ${query}`)
      return answer
    })
  const layer = Layer.mergeAll(
    Layer.succeed(Database.Database, {
      patient: (id) =>
        recordQuery(
          `database: ${id}`,
          world.patient?.(id) ?? Effect.succeed(Option.fromUndefinedOr(patients.find((one) => one.id === id)))
        ),
      drug: (name) =>
        recordQuery(
          `database: ${name}`,
          world.drug?.(name) ?? Effect.succeed(Option.fromUndefinedOr(inHouse.find((drug) => drug.name === name)))
        ),
      drugNames: Effect.succeed(inHouse.map(({ name }) => name))
    }),
    Layer.succeed(DrugApi.DrugApi, {
      facts: (name) => recordQuery(`api: ${name}`, world.facts?.(name) ?? Effect.succeed(findDrug(name)!)),
      interactions: (names) =>
        recordQuery(`api: ${names.join()}`, world.interactions?.(names) ?? Effect.succeed(interactionsAmong(names)))
    }),
    Cache.layer(world.cache ?? "empty")
  )
  return { asked, layer }
}

export interface States {
  readonly database?: Database.State
  readonly api?: DrugServer.State
  readonly cache?: Cache.State
  readonly seed?: string
}

/** The real services, wired as in the command. */
export const real = ({ api = "up", cache = "full", database = "up", seed = "1" }: States = {}) =>
  Layer.mergeAll(
    Database.layer(database).pipe(Layer.provide(NodeFileSystem.layer)),
    Cache.layer(cache),
    DrugApi.layer.pipe(Layer.provideMerge(DrugServer.layer(api, seed)), Layer.provide(FetchHttpClient.layer))
  )

export const asked = DrugServer.DrugServer.use(({ asked }) => asked)

export const down = new ToolUnavailable({ code: "connection", detail: "Refused.", transient: true })
export const answered = (status: number, retryAfter?: Duration.Input) =>
  HttpFailure.fromStatus(status, { method: "GET", ...(retryAfter === undefined ? {} : { retryAfter }) })

const agent = Agent.make({ toolkit })
export const ask = (question: string, states?: States) =>
  Effect.map(atOnce(agent.run(question)), ({ text }) => text).pipe(Effect.provide([Planner.layer, real(states)]))

export const mayTake = "Is it safe to give ibuprofen to patient P-1001?"
