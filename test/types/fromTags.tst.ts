import { PartialData, type SchemaMismatch, SemanticGarbage, Tool, ToolFailure, ToolUnavailable } from "@fallible/core"
import { type Cause, Data, Effect, Schema } from "effect"
import { describe, expect, test } from "tstyche"

class ServiceLocked extends Data.TaggedError("ServiceLocked")<{ readonly service: string; readonly by: string }> {}
class RoomTaken extends Schema.TaggedError<RoomTaken>()("RoomTaken", { room: Schema.String }) {}
class Plain extends Error {}

declare const book: Effect.Effect<number, ServiceLocked | RoomTaken>
declare const failing: <E>() => Effect.Effect<string, E>

const garbage = new SemanticGarbage({ code: "c", detail: "d" })
const unavailable = new ToolUnavailable({ code: "c", detail: "d", transient: false })

describe("ToolFailure.fromTags", () => {
  test("knows the errors from the Effect, and the failures from the functions", () => {
    const booked = book.pipe(Effect.mapError(ToolFailure.fromTags({
      ServiceLocked: (error) => {
        expect(error).type.toBe<ServiceLocked>()
        return unavailable
      },
      RoomTaken: (error) => {
        expect(error).type.toBe<RoomTaken>()
        return garbage
      }
    })))
    expect(booked).type.toBe<Effect.Effect<number, SemanticGarbage | ToolUnavailable>>()
    expect(Effect.mapError(book, ToolFailure.fromTags({ ServiceLocked: () => garbage, RoomTaken: () => garbage })))
      .type.toBe<Effect.Effect<number, SemanticGarbage>>()
  })

  test("works at the end of a generator, and in a longer pipe", () => {
    const handler = Effect.fnUntraced(
      function*(by: string) {
        return yield* new ServiceLocked({ service: "db", by })
      },
      Effect.mapError(
        ToolFailure.fromTags({ ServiceLocked: ({ by }) => new SemanticGarbage({ code: "c", detail: by }) })
      )
    )
    expect(handler).type.toBe<(by: string) => Effect.Effect<never, SemanticGarbage>>()
    const piped = book.pipe(
      Effect.map(String),
      Effect.mapError(
        ToolFailure.fromTags({
          ServiceLocked: ({ by }) => new SemanticGarbage({ code: "c", detail: by }),
          RoomTaken: () => garbage
        })
      ),
      Effect.map((text) => text.length)
    )
    expect(piped).type.toBe<Effect.Effect<number, SemanticGarbage>>()
  })

  test("knows the errors also if the type of the result is written out", () => {
    const booked = (): Effect.Effect<number, ToolFailure.ToolFailure> =>
      book.pipe(Effect.mapError(ToolFailure.fromTags({
        ServiceLocked: ({ by }) => new SemanticGarbage({ code: "c", detail: by }),
        RoomTaken: () => garbage
      })))
    expect(booked).type.toBe<() => Effect.Effect<number, ToolFailure.ToolFailure>>()
    const map: (error: ServiceLocked | Plain) => ToolFailure.ToolFailure = ToolFailure.fromTags({
      ServiceLocked: ({ by }) => new SemanticGarbage({ code: "c", detail: by })
    })
    expect(map).type.toBeCallableWith(new Plain())
  })

  test("needs a function for every tag, and for no other", () => {
    // @ts-expect-error Property 'RoomTaken' is missing
    book.pipe(Effect.mapError(ToolFailure.fromTags({ ServiceLocked: () => garbage })))
    const convert = (map: (error: ServiceLocked | RoomTaken) => ToolFailure.ToolFailure) => map
    // @ts-expect-error Property 'RoomTaken' is missing
    convert(ToolFailure.fromTags({ ServiceLocked: () => garbage }))
    convert(ToolFailure.fromTags({
      ServiceLocked: () => garbage,
      RoomTaken: () => garbage,
      // @ts-expect-error No error needs a function for the tag 'RoomLocked'.
      RoomLocked: () => garbage
    }))
  })

  test("needs functions that return one of the four failures", () => {
    const convert = (map: (error: ServiceLocked) => ToolFailure.ToolFailure) => map
    // @ts-expect-error Type 'string' is not assignable to type 'ToolFailure<unknown> | Unwritten'.
    convert(ToolFailure.fromTags({ ServiceLocked: () => "no" }))
    // @ts-expect-error Type 'ServiceLocked' is not assignable to type 'ToolFailure<unknown> | Unwritten'
    convert(ToolFailure.fromTags({ ServiceLocked: (error) => error }))
  })

  test("leaves the four failures as they are, and needs no function for them", () => {
    const mapped = failing<ServiceLocked | PartialData<number> | SchemaMismatch>().pipe(
      Effect.mapError(ToolFailure.fromTags({ ServiceLocked: () => garbage }))
    )
    expect(mapped).type.toBe<Effect.Effect<string, SemanticGarbage | PartialData<number> | SchemaMismatch>>()
    const own = failing<ToolUnavailable>().pipe(Effect.mapError(ToolFailure.fromTags({})))
    expect(own).type.toBe<Effect.Effect<string, ToolUnavailable>>()
  })

  test("leaves errors without a tag to ToolFailure.from", () => {
    const mapped = failing<ServiceLocked | Plain>().pipe(
      Effect.mapError(ToolFailure.fromTags({
        ServiceLocked: () => new PartialData({ code: "c", detail: "d", data: 1 })
      }, { refuses: [Plain] }))
    )
    expect(mapped).type.toBe<
      Effect.Effect<string, PartialData<number> | SchemaMismatch | SemanticGarbage | ToolUnavailable>
    >()
    const unknown = failing<Cause.UnknownError>().pipe(Effect.mapError(ToolFailure.fromTags({})))
    expect(unknown).type.toBe<Effect.Effect<string, SchemaMismatch | SemanticGarbage | ToolUnavailable>>()
    const any = failing<{ readonly _tag: string }>().pipe(Effect.mapError(ToolFailure.fromTags({})))
    expect(any).type.toBe<Effect.Effect<string, SchemaMismatch | SemanticGarbage | ToolUnavailable>>()
  })

  test("takes ToolFailure.from as a function", () => {
    const mapped = failing<ServiceLocked | Cause.NoSuchElementError>().pipe(
      Effect.mapError(ToolFailure.fromTags({ ServiceLocked: () => garbage, NoSuchElementError: ToolFailure.from }))
    )
    expect(mapped).type.toBe<Effect.Effect<string, SchemaMismatch | SemanticGarbage | ToolUnavailable>>()
  })

  test("makes the handler of a tool", () => {
    const tool = Tool.make(
      "book",
      { description: "", success: Schema.Finite },
      () =>
        book.pipe(Effect.mapError(ToolFailure.fromTags({ ServiceLocked: () => unavailable, RoomTaken: () => garbage })))
    )
    expect(tool).type.toBe<Tool.Tool<"book", {}, number, SemanticGarbage | ToolUnavailable>>()
  })
})

describe("ToolFailure.from", () => {
  test("takes the classes of tagged errors", () => {
    expect(ToolFailure.from).type.toBeCallableWith(new Error(), { tell: [ServiceLocked], refuses: [RoomTaken] })
    expect(Tool.promise).type.toBeCallableWith(
      "book",
      { description: "", success: Schema.String, tell: [ServiceLocked, Plain], refuses: [RoomTaken] },
      async () => ""
    )
    expect(ToolFailure.from).type.not.toBeCallableWith(new Error(), { tell: [String] })
  })
})
