import { Agent, Policy, SemanticGarbage, Tool, Toolkit, ToolUnavailable } from "@fallible/core"
import { Effect, Schema } from "effect"
const t = Tool.make(
  "x",
  { description: "", success: Schema.String },
  () => new ToolUnavailable({ code: "c", detail: "d", transient: true })
)
const never = Tool.make("x", { description: "", success: Schema.String }, () => Effect.succeed(""))
export const a = Agent.make({ toolkit: Toolkit.make(t), limit: { turns: 3 } })
export const a2 = Agent.make({ toolkit: Toolkit.make(t), limits: { turn: 3 } })
export const a3 = Agent.make({ toolkit: t })
export const b = t.pipe(Tool.retry({ attempts: 3 }))
export const c = Policy.make({
  kind: "custom",
  name: "c",
  description: "c",
  wrap: (run) => (p) => Effect.catch(run(p), () => Effect.fail(new SemanticGarbage({ code: "c", detail: "d" })))
})
export const d = t.pipe(Tool.catchTag("SemanticGarbage", () => Effect.succeed("")))
export const e = never.pipe(Tool.catchTag("ToolUnavailable", () => Effect.succeed("")))
export const f = t.pipe(Tool.fallback("x"))
export const g = t.pipe(Tool.timeout("5 secs"))
