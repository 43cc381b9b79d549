import { assert, describe, it } from "@effect/vitest"
import { Dispatch, Rendering, SemanticGarbage, Tool, Toolkit } from "@fallible/core"
import { Effect, Schema } from "effect"

describe("x", () => {
  it.effect("y", () =>
    Effect.gen(function*() {
      const t = Tool.make("a", { description: "", success: Schema.String, sideEffect: "none" }, () =>
        Effect.fail(new SemanticGarbage({ code: "c", detail: "d", alternatives: ["x"] })))
      const call = { id: "1", name: "a" }
      const o = yield* Dispatch.call(Toolkit.make(t), call)
      console.log(Rendering.json(o, call), Rendering.prose(o, call))
      const d = Tool.make("a", { description: "", success: Schema.String, sideEffect: "none" }, () =>
        Effect.interrupt)
      const o2 = yield* Dispatch.call(Toolkit.make(d), call)
      console.log(o2)
      assert.strictEqual(o._tag, "Failed")
    }))
})
