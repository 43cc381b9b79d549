/** Mistakes in the definition of a tool, a toolkit or an agent: each throws at once, and says what to write. */
import { assert, describe, it } from "@effect/vitest"
import { Agent, Policy, RetryPolicy, Tool, Toolkit } from "@fallible/core"
import { Effect, Result, Schema } from "effect"
import type { Untyped } from "../support/nonsense.ts"

const definition = { description: "Reads", success: Schema.String }
const handler = () => Effect.succeed("")
const tool = Tool.make("read", definition, handler)
const defined = (part: Untyped) => () => Tool.make("read", { ...definition, ...part }, handler)

const Id = Schema.Struct({ id: Schema.String })
const zodLike = { "~standard": { version: 1, vendor: "zod", validate: () => ({}) } }

const mistakes: ReadonlyArray<readonly [mistake: string, make: () => unknown, message: string]> = [
  [
    "a name with a space",
    () => Tool.make("get weather!", definition, handler),
    "A tool's name must have 1 to 64 letters, digits, '_' or '-', as model providers require; got \"get weather!\". " +
    "Rename it, for example to 'get_weather'."
  ],
  [
    "an empty name",
    () => Tool.make("", definition, handler),
    "A tool's name must have 1 to 64 letters, digits, '_' or '-', as model providers require; got \"\"."
  ],
  [
    "no definition",
    () => Tool.make("read", undefined as Untyped, handler),
    "The definition of 'read' must be an object such as { description, parameters, success }; got nothing."
  ],
  [
    "no definition of an async function",
    () => Tool.promise("read", undefined as Untyped, async () => ""),
    "The definition of 'read' must be an object such as { description, parameters, success }; got nothing."
  ],
  [
    "no description",
    defined({ description: undefined }),
    "The description of 'read' must be a string; got nothing. " +
    "Write one sentence: the model reads it to choose a tool."
  ],
  [
    "parameters that are a plain object",
    defined({ parameters: { id: Schema.String, page: Schema.Int } }),
    "The parameters of 'read' must be a Schema; got an object. Wrap it: Schema.Struct({ id: …, page: … })."
  ],
  [
    "parameters that are a plain object with many fields",
    defined({ parameters: { a: Schema.Int, b: Schema.Int, c: Schema.Int, d: Schema.Int } }),
    "The parameters of 'read' must be a Schema; got an object. Wrap it: Schema.Struct({ a: …, b: …, c: …, … })."
  ],
  [
    "parameters that are JSON Schema",
    defined({ parameters: { type: "object", properties: {} } }),
    "The parameters of 'read' must be a Schema; got an object. It is a JSON Schema: pass Parameters.fromJsonSchema(schema)."
  ],
  [
    "parameters of another library",
    defined({ parameters: zodLike }),
    "The parameters of 'read' must be a Schema; got an object. It is a schema of zod, which writes its JSON Schema since version 4.2. Update it."
  ],
  [
    "parameters that are a string",
    defined({ parameters: Schema.String }),
    "The parameters of 'read' have the type \"string\"; a model can only send an object. " +
    "Put the value in a field: Parameters.inField(\"value\", schema)."
  ],
  [
    "parameters that are an array",
    defined({ parameters: Schema.Array(Id) }),
    "The parameters of 'read' have the type \"array\"; a model can only send an object. " +
    "Put the value in a field: Parameters.inField(\"value\", schema)."
  ],
  [
    "parameters that are a union of objects",
    defined({ parameters: Schema.Union([Id, Schema.Struct({ name: Schema.String })]) }),
    "The parameters of 'read' are a union, which model providers refuse. " +
    "Put the union in a field: Parameters.inField(\"request\", schema)."
  ],
  [
    "a success that is missing",
    defined({ success: undefined }),
    "The success of 'read' must be a Schema; got nothing. Write it like Schema.Struct({ id: Schema.String })."
  ],
  [
    "a success that is a constructor",
    defined({ success: String }),
    "The success of 'read' must be a Schema; got a function. Write Schema.String."
  ],
  [
    "a side effect with a typing mistake",
    defined({ sideEffect: "idempotant" }),
    "A tool's sideEffect must be one of 'none', 'idempotent', 'idempotent_by_key', 'non_idempotent'; " +
    "got \"idempotant\". Did you mean 'idempotent'?"
  ],
  [
    "calls that run together, by a word",
    defined({ sideEffect: "idempotent", concurrent: "yes" }),
    "A tool's 'concurrent' must be a boolean; got \"yes\"."
  ],
  [
    "calls that run together although they only read",
    defined({ sideEffect: "none", concurrent: false }),
    "A tool with 'concurrent' must act, since read-only calls always run together; got \"none\"."
  ],
  [
    "a side effect that does not exist",
    defined({ sideEffect: "read_only" }),
    "A tool's sideEffect must be one of 'none', 'idempotent', 'idempotent_by_key', 'non_idempotent'; got \"read_only\"."
  ],
  [
    "an identity that is a name",
    defined({ identity: "order" }),
    "A tool's 'identity' must be a function or \"all\"; got \"order\"."
  ],
  [
    "keys without an identity",
    defined({ sideEffect: "idempotent_by_key" }),
    "'read' needs an 'identity': the arguments that identify the effect, such as ({ order }) => order, or \"all\" if none of them is free text."
  ],
  [
    "keys from a secret",
    defined({
      parameters: Schema.Struct({ pin: Schema.Redacted(Schema.String) }),
      sideEffect: "idempotent_by_key",
      identity: "all"
    }),
    "'read' needs an 'identity' without its secrets: the arguments that identify the effect, such as ({ order }) => order."
  ],
  [
    "an option with a typing mistake",
    defined({ sideEffects: "none" }),
    "Tool 'read' has no option 'sideEffects'. Did you mean 'sideEffect'?"
  ],
  [
    "an option of an async function with a typing mistake",
    () => Tool.promise("read", { ...definition, tells: [] } as Untyped, async () => ""),
    "Tool 'read' has no option 'tells'. Did you mean 'tell'?"
  ],
  [
    "an option of another library",
    () => RetryPolicy.make({ maxRetries: 3 } as Untyped),
    "RetryPolicy.make has no option 'maxRetries'. " +
    "Its options are 'attempts', 'base', 'cap', 'jitter', 'honourRetryAfter', 'retryTimeouts'."
  ],
  [
    "standard policies with a typing mistake",
    () => Policy.standard({ totalTimeOuts: "1 second" } as Untyped),
    "Policy.standard has no option 'totalTimeOuts'. Did you mean 'totalTimeout'?"
  ],
  [
    "a reconciliation with a typing mistake",
    () => tool.pipe(Tool.reconcile(() => Effect.succeedNone, { settled: "1 second" } as Untyped)),
    "Tool.reconcile has no option 'settled'. Did you mean 'settle'?"
  ],
  [
    "an agent's option with a typing mistake",
    () => Agent.make({ toolkit: Toolkit.empty, instruction: "Help" } as Untyped),
    "Agent.make has no option 'instruction'. Did you mean 'instructions'?"
  ],
  [
    "a tool in place of a fallback's function",
    () => tool.pipe(Tool.fallback(tool as Untyped)),
    "A fallback needs a function; got nothing. If a tool is the source, pass its 'run'."
  ],
  [
    "an option of a fallback with a typing mistake",
    () => tool.pipe(Tool.fallback(() => Effect.succeed(""), { names: "mirror" } as Untyped)),
    "Tool.fallback has no option 'names'. Did you mean 'name'?"
  ],
  [
    "a tool as another library defines it",
    () =>
      Tool.make(
        "read",
        { description: "Reads", inputSchema: Schema.Struct({}), execute: () => "" } as Untyped,
        () => Effect.succeed("")
      ),
    "Tool 'read' has no option 'inputSchema'. Its options are 'description', 'parameters', 'success', 'onMismatch', 'sideEffect', " +
    "'instead', 'check', 'settles', 'refusesFirst', 'acts', 'identity', 'repeats', 'joins', 'concurrent', 'failureLimit', 'volatile', 'poll', 'empty', 'failed', 'pages', " +
    "'asOf', 'freshness', 'invariants', 'size', 'uninterruptible'."
  ],
  [
    "a limit of another library",
    () => Agent.make({ toolkit: Toolkit.empty, limits: { maxTurns: 3 } } as Untyped),
    "The record of an agent's limits has no option 'maxTurns'. Did you mean 'turns'?"
  ],
  [
    "the standard policies, not called",
    () => Agent.make({ toolkit: Toolkit.empty, policies: Policy.standard as Untyped }),
    "Default policies must be a list; got a function. Did you forget to call it: Policy.standard()?"
  ],
  [
    "no handler",
    () => Tool.make("read", definition, undefined as Untyped),
    "The handler of 'read' must be a function; got nothing."
  ],
  [
    "a handler that is an Effect",
    () => Tool.make("read", definition, Effect.succeed("") as Untyped),
    "The handler of 'read' must be a function; got an Effect. Write a function that returns an Effect."
  ],
  [
    "a handler that is a promise",
    () => Tool.promise("read", definition, Promise.resolve("") as Untyped),
    "The handler of 'read' must be a function; got a promise. Write a function that returns a promise."
  ],
  [
    "a toolkit of a list of tools",
    () => Toolkit.make([tool] as Untyped),
    "A toolkit must be made of tools; got an array of 1. Pass the tools one by one: Toolkit.make(...tools)."
  ],
  [
    "a toolkit of a tool that was changed later",
    () => Toolkit.make({ ...tool, parameters: Schema.Int } as Untyped),
    "The parameters of 'read' have the type \"integer\"; a model can only send an object. " +
    "Put the value in a field: Parameters.inField(\"value\", schema)."
  ],
  [
    "an agent without options",
    () => Agent.make(undefined as Untyped),
    "An agent needs a Toolkit; got nothing. Write: Agent.make({ toolkit: Toolkit.make(…) })."
  ],
  [
    "an agent with a list of tools",
    () => Agent.make({ toolkit: [tool] as Untyped }),
    "An agent needs a Toolkit; got an array of 1. Write: Agent.make({ toolkit: Toolkit.make(…) })."
  ]
]

describe("a wrong definition throws, and says what to write", () => {
  it.each(mistakes)("%s", (_, make, message) => {
    assert.strictEqual(
      Result.getOrThrow(Result.flip(Result.try({ try: make, catch: String }))),
      `TypeError: ${message}`
    )
  })

  it("but not for objects with any keys, or with checks", () => {
    for (
      const parameters of [
        Schema.Record(Schema.String, Schema.String),
        Schema.Struct({ a: Schema.optionalKey(Schema.Int) }).check(Schema.makeFilter(() => true)),
        class Search extends Schema.Class<Search>("Search")({ id: Schema.String }) {}
      ]
    ) assert.strictEqual(defined({ parameters })().name, "read")
  })
})
