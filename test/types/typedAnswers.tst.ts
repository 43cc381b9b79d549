import { Agent, type AgentFailure, type Model, SemanticGarbage, Tool, Toolkit, ToolUnavailable } from "@fallible/core"
import type * as AgentEvent from "@fallible/core/AgentEvent"
import * as Answer from "@fallible/core/Answer"
import * as Parameters from "@fallible/core/Parameters"
import { toStandardJsonSchema } from "@valibot/to-json-schema"
import { type } from "arktype"
import { Context, Effect, Schema, type Stream } from "effect"
import { describe, expect, test } from "tstyche"
import * as v from "valibot"
import * as z from "zod"

class Calendar extends Context.Service<Calendar, { readonly isFree: (days: number) => Effect.Effect<boolean> }>()(
  "Calendar"
) {}
class Clinic extends Context.Service<Clinic, { readonly name: string }>()("Clinic") {}

const Days = Schema.Struct({ days: Schema.Int })
type Days = typeof Days.Type

const visit = Tool.make(
  "visit",
  { description: "Visits", success: Schema.String, sideEffect: "none" },
  () => Clinic.use(({ name }) => Effect.succeed(name))
)
const toolkit = Toolkit.make(visit)
const typed = Agent.make({ toolkit: Toolkit.empty, output: Days })
const untyped = Agent.make({ toolkit: Toolkit.empty })

type AnswerOf<A extends { readonly run: (question: string) => Effect.Effect<unknown, unknown, unknown> }> =
  Effect.Success<ReturnType<A["run"]>>

type Ended<E> = Extract<E, { readonly _tag: "RunEnded" }>

declare const suspension: AgentFailure.Suspension
declare const postponement: AgentFailure.Postponement

describe("a typed answer", () => {
  test("has a value of the output's type, however the run began", () => {
    expect<Answer.Answer<Days>["value"]>().type.toBe<Days>()
    expect(typed.run("?")).type.toBe<Effect.Effect<Answer.Answer<Days>, AgentFailure.AgentFailure, Model.Model>>()
    expect(typed.resume(suspension, "yes")).type.toBe<
      Effect.Effect<Answer.Answer<Days>, AgentFailure.AgentFailure, Model.Model>
    >()
    expect(typed.resume(postponement)).type.toBe<
      Effect.Effect<Answer.Answer<Days>, AgentFailure.AgentFailure, Model.Model>
    >()
    expect(typed.stream("?")).type.toBe<
      Stream.Stream<AgentEvent.AgentEvent<Answer.Answer<Days>>, AgentFailure.Failed, Model.Model>
    >()
    expect<Ended<AgentEvent.AgentEvent<Answer.Answer<Days>>>["answer"]["value"]>().type.toBe<Days>()
    expect<AnswerOf<typeof typed>["value"]>().type.toBe<Days>()
  })

  test("may be of any type", () => {
    expect<Answer.Answer<string>["value"]>().type.toBe<string>()
    expect<Answer.Answer<null>["value"]>().type.toBe<null>()
    expect<Answer.Answer<unknown>["value"]>().type.toBe<unknown>()
    expect<Answer.Answer<"a" | "b">["value"]>().type.toBe<"a" | "b">()
    expect(Agent.make({ toolkit, output: Schema.Array(Schema.Date) })).type.toBe<
      Agent.Agent<typeof visit, never, Answer.Answer<ReadonlyArray<Date>>>
    >()
  })

  test("has no value without an output", () => {
    expect<Answer.Answer>().type.not.toHaveProperty("value")
    expect<AnswerOf<typeof untyped>>().type.not.toHaveProperty("value")
    expect<Effect.Success<ReturnType<typeof untyped.resume>>>().type.not.toHaveProperty("value")
    expect<Ended<AgentEvent.AgentEvent>["answer"]>().type.not.toHaveProperty("value")
  })

  test("is an answer", () => {
    expect<Answer.Answer<Days>>().type.toBeAssignableTo<Answer.Answer>()
    expect<Answer.Answer>().type.not.toBeAssignableTo<Answer.Answer<Days>>()
    expect<AgentEvent.AgentEvent<Answer.Answer<Days>>>().type.toBeAssignableTo<AgentEvent.AgentEvent>()
  })

  test("has the type of what a library's schema returns", () => {
    const trip = z.object({ city: z.string().transform((name) => ({ name })), nights: z.number().default(1) })
    expect(Agent.make({ toolkit, output: trip })).type.toBe<
      Agent.Agent<typeof visit, never, Answer.Answer<{ city: { name: string }; nights: number }>>
    >()
    expect(Agent.make({ toolkit, output: z.string() })).type.toBe<
      Agent.Agent<typeof visit, never, Answer.Answer<string>>
    >()
    expect(Agent.make({ toolkit, output: type({ city: "string" }) })).type.toBe<
      Agent.Agent<typeof visit, never, Answer.Answer<{ city: string }>>
    >()
    expect(Agent.make({ toolkit, output: toStandardJsonSchema(v.object({ city: v.string() })) })).type.toBe<
      Agent.Agent<typeof visit, never, Answer.Answer<{ city: string }>>
    >()
    expect(Agent.make({ toolkit, output: Parameters.fromJsonSchema({ type: "object" }) })).type.toBe<
      Agent.Agent<typeof visit, never, Answer.Answer<Schema.JsonObject>>
    >()
    expect(Agent.make({ toolkit, output: Parameters.fromJsonSchema<{ city: string }>({ type: "object" }) })).type.toBe<
      Agent.Agent<typeof visit, never, Answer.Answer<{ city: string }>>
    >()
  })

  test("needs a schema with a JSON Schema", () => {
    expect(Agent.make).type.not.toBeCallableWith({ toolkit, output: v.object({ city: v.string() }) })
    expect(Agent.make).type.not.toBeCallableWith({ toolkit, output: { type: "object" } })
    expect(Agent.make).type.not.toBeCallableWith({ toolkit, output: "string" })
  })

  test("is stored and read with its type", () => {
    expect(Answer.schemaFor(Days)).type.toBe<Schema.Codec<Answer.Answer<Days>, Schema.JsonObject>>()
    expect(Answer.schemaFor(z.object({ nights: z.number().default(1) }))).type.toBe<
      Schema.Codec<Answer.Answer<{ nights: number }>, Schema.JsonObject>
    >()
  })
})

describe("the check of an answer", () => {
  test("gets the value, and its services are the agent's", () => {
    const checked = Agent.make({
      toolkit,
      output: Days,
      checkOutput: (value) => {
        expect(value).type.toBe<Days>()
        return Calendar.use(({ isFree }) => isFree(value.days)).pipe(
          Effect.flatMap((free) =>
            free ? Effect.void : Effect.fail(new SemanticGarbage({ code: "busy", detail: "Busy." }))
          )
        )
      }
    })
    expect(checked).type.toBe<Agent.Agent<typeof visit, Calendar, Answer.Answer<Days>>>()
    expect<Agent.Requirements<typeof checked>>().type.toBe<Model.Model | Clinic | Calendar>()
    expect<Agent.Requirements<typeof typed>>().type.toBe<Model.Model>()
  })

  test("gets what a library's schema returns", () => {
    Agent.make({
      toolkit,
      output: z.object({ at: z.string().transform((text) => new Date(text)), nights: z.number().default(1) }),
      checkOutput: (value) => {
        expect(value).type.toBe<{ at: Date; nights: number }>()
        return undefined
      }
    })
  })

  test("returns a failure or nothing, or an Effect of these", () => {
    const failure = new SemanticGarbage({ code: "bad", detail: "Bad." })
    expect(Agent.make).type.toBeCallableWith({ toolkit, output: Days, checkOutput: () => failure })
    expect(Agent.make).type.toBeCallableWith({ toolkit, output: Days, checkOutput: () => undefined })
    expect(Agent.make).type.toBeCallableWith({ toolkit, output: Days, checkOutput: () => Effect.succeed(failure) })
    expect(Agent.make).type.toBeCallableWith({
      toolkit,
      output: Days,
      checkOutput: ({ days }: Days) =>
        days > 3 ? Effect.fail(new ToolUnavailable({ code: "down", detail: "Down.", transient: true })) : undefined
    })
    expect(Agent.make).type.not.toBeCallableWith({ toolkit, output: Days, checkOutput: () => true })
    expect(Agent.make).type.not.toBeCallableWith({ toolkit, output: Days, checkOutput: async () => undefined })
    expect(Agent.make).type.not.toBeCallableWith({
      toolkit,
      output: Days,
      checkOutput: () => Effect.fail(new Error("no"))
    })
    expect(Agent.make).type.not.toBeCallableWith({ toolkit, output: Days, checkOutput: Number.isInteger })
  })
})

describe("an agent", () => {
  test("with an output is taken where any agent is", () => {
    expect(typed).type.toBeAssignableTo<Agent.Agent<Tool.Any, unknown, Answer.Answer<Days>>>()
    expect(typed).type.toBeAssignableTo<Agent.Agent<Tool.Any, unknown>>()
    expect(typed).type.toBeAssignableTo<Pick<Agent.Agent<Tool.Any, unknown>, "run">>()
    expect(untyped).type.not.toBeAssignableTo<Agent.Agent<Tool.Any, unknown, Answer.Answer<Days>>>()
    expect(untyped).type.toBeAssignableTo<Agent.Agent<Tool.Any, unknown>>()
  })
})

describe("a tool", () => {
  const definition = { description: "", success: Schema.String, sideEffect: "none" } as const

  test("takes its parameters' type from any library's schema", () => {
    Tool.make("t", { ...definition, parameters: Days }, (params) => {
      expect(params).type.toBe<Days>()
      return Effect.succeed("")
    })
    const parameters = z.object({ at: z.string().transform((text) => new Date(text)), nights: z.number().default(1) })
    Tool.make("t", { ...definition, parameters }, (params) => {
      expect(params).type.toBe<{ at: Date; nights: number }>()
      return Effect.succeed("")
    })
    Tool.make("t", { ...definition, parameters: type({ city: "string", "nights?": "number" }) }, (params) => {
      expect(params).type.toBe<{ city: string; nights?: number }>()
      return Effect.succeed("")
    })
    Tool.make(
      "t",
      { ...definition, parameters: toStandardJsonSchema(v.object({ city: v.string(), n: v.optional(v.number(), 1) })) },
      (params) => {
        expect(params).type.toBe<{ city: string; n: number }>()
        return Effect.succeed("")
      }
    )
    Tool.make(
      "t",
      { ...definition, parameters: Parameters.fromJsonSchema<{ city: string }>({ type: "object" }) },
      (p) => {
        expect(p).type.toBe<{ city: string }>()
        return Effect.succeed("")
      }
    )
    Tool.make("t", { ...definition, parameters: Parameters.fromJsonSchema({ type: "object" }) }, (params) => {
      expect(params).type.toBe<Schema.JsonObject>()
      return Effect.succeed("")
    })
    Tool.make(
      "t",
      { ...definition, parameters: Parameters.inField("q", z.union([z.string(), z.number()])) },
      (params) => {
        expect(params).type.toBe<string | number>()
        return Effect.succeed("")
      }
    )
  })

  test("needs a schema with a JSON Schema", () => {
    expect(Tool.make).type.not.toBeCallableWith(
      "t",
      { ...definition, parameters: v.object({ city: v.string() }) },
      () => Effect.succeed("")
    )
  })
})
