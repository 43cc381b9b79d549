/** Faults of models and their endpoints, the answer that an agent still gives, and its cost. */
import { ModelFailure, Tool } from "@fallible/core"
import { ScriptedModel } from "@fallible/testing"
import * as FakeModelServer from "@fallible/testing/FakeModelServer"
import { Schema } from "effect"
import { shapeOf } from "./errorShapes.ts"
import { answer, booking, city, heard, paid, paying, price, taken } from "./plainTools.ts"
import type { Scenario } from "./toolFaults.ts"

const busy = new ModelFailure({ code: "server_error", detail: "Busy.", transient: true, status: 503 })

export const modelFaults: ReadonlyArray<Scenario> = [
  // ---- faults of the model
  {
    name: "the model calls get_prise",
    service: () => answer({ price: 42 }),
    tools: (world) => [price(world)],
    model: (request, index) =>
      index === 0
        ? ScriptedModel.call("get_prise")
        : index === 1 && /get_price/.test(heard(request))
        ? ScriptedModel.call("get_price")
        : ScriptedModel.text(heard(request)),
    cost: "3/1",
    says: /42/
  },
  {
    name: "the model says town for city",
    tools: (world) => [
      Tool.promise("get_weather", {
        description: "The weather",
        parameters: city,
        success: Schema.String,
        sideEffect: "none"
      }, async ({ city }) => {
        world.begin("get_weather")
        return `Sunny in ${city}.`
      })
    ],
    model: (request, index) =>
      index === 0
        ? ScriptedModel.call("get_weather", { town: "Paris" })
        : index === 1 && /'city'/.test(heard(request))
        ? ScriptedModel.call("get_weather", { city: "Paris" })
        : ScriptedModel.text(heard(request)),
    cost: "3/1",
    says: /Sunny in Paris/
  },
  {
    name: "the model sends {room: 'B2',}",
    tools: booking(() => new Error(taken)),
    model: (request, index) =>
      index === 0 ? ScriptedModel.call("book_room", "{room: 'B2',}") : ScriptedModel.text(heard(request)),
    cost: "2/1",
    says: /B2 is booked/,
    done: ["booked B2"]
  },
  {
    name: "the model repeats what it is told not to",
    tools: paying(async (world) => {
      paid(world)
      throw shapeOf("axios reset POST")
    }),
    model: (_, index) => index < 4 ? ScriptedModel.call("pay", { order: "o-7" }) : ScriptedModel.text("I gave up."),
    cost: "5/1",
    says: /I gave up/,
    done: ["paid o-7"]
  },
  {
    name: "the model repeats the same successful call",
    service: () => answer({ price: 42 }),
    tools: (world) => [price(world)],
    model: (request, index) =>
      /already have/i.test(heard(request)) || index > 5
        ? ScriptedModel.text("42")
        : ScriptedModel.call("get_price"),
    cost: "4/3",
    says: /42/
  },
  // ---- faults of the model's endpoint
  {
    name: "the model's endpoint answers 503 twice",
    service: () => answer({ price: 42 }),
    tools: (world) => [price(world)],
    model: [busy, busy, ScriptedModel.call("get_price"), ScriptedModel.text("42")],
    cost: "2/1",
    says: /42/
  },
  {
    name: "the model's endpoint sends a cut-off body",
    service: () => answer({ price: 42 }),
    tools: (world) => [price(world)],
    model: [
      ScriptedModel.call("get_price"),
      FakeModelServer.drop(ScriptedModel.text("It is forty-two."), 100),
      ScriptedModel.text("42")
    ],
    cost: "3/1",
    says: /42/
  }
]
