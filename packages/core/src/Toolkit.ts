/**
 * A set of tools with distinct names: the tools that an agent may call, and their definitions for the
 * model.
 *
 * @since 0.1.0
 */
import { inspect } from "@fallible/arguments"
import { dual } from "effect/Function"
import type * as JsonSchema from "effect/JsonSchema"
import { type Pipeable, Prototype as PipeablePrototype } from "effect/Pipeable"
import * as Predicate from "effect/Predicate"
import * as Arguments from "./Arguments.ts"
import type { Explanation, Warning } from "./Explanation.ts"
import { whyUnusable } from "./internal/arguments/jsonSchema.ts"
import { type EscalatedBy, type Fixers, fixingFor, type NeededBy } from "./internal/fixing/fixerOption.ts"
import { withFixer } from "./internal/tool/toolParts.ts"
import { kind } from "./internal/value/text.ts"
import type * as Policy from "./Policy.ts"
import * as Tool from "./Tool.ts"

/**
 * A set of tools. `T` is the union of their types.
 *
 * @category models
 * @since 0.1.0
 */
export interface Toolkit<out T extends Tool.Any = Tool.Any> extends Pipeable {
  /** The tools by name, in the order in which they were given. */
  readonly tools: ReadonlyMap<string, T>
  /** The tools' definitions for the model, in the same order. */
  readonly definitions: ReadonlyArray<Definition>
}

/**
 * A tool's definition, as a model sees it.
 *
 * @category models
 * @since 0.1.0
 */
export interface Definition {
  readonly name: string
  readonly description: string
  /** A JSON Schema of an object that allows no other properties. */
  readonly parameters: JsonSchema.JsonSchema
}

/**
 * The union of the failures of a toolkit's tools.
 *
 * @category utility types
 * @since 0.1.0
 */
export type Failure<K extends Toolkit> = K extends Toolkit<infer T> ? Tool.Failure<T> : never

/**
 * The services that a toolkit's tools require.
 *
 * @category utility types
 * @since 0.1.0
 */
export type Requirements<K extends Toolkit> = K extends Toolkit<infer T> ? Tool.Requirements<T> : never

/**
 * Creates a toolkit from tools.
 *
 * Throws if two tools have the same name. Also throws if a tool's parameters are not an object, or are a union at the
 * top level, or if their schema is not supported.
 *
 * @example
 * ```ts
 * import { Tool, Toolkit } from "@fallible/core"
 * import { Effect, Schema } from "effect"
 *
 * const ping = Tool.make("ping", { description: "Answers", success: Schema.String }, () => Effect.succeed("pong"))
 * const toolkit = Toolkit.make(ping)
 * Array.from(toolkit.tools.keys()) // => ["ping"]
 * ```
 *
 * @category constructors
 * @since 0.1.0
 */
export const make = <const Tools extends ReadonlyArray<Tool.Any>>(...tools: Tools): Toolkit<Tools[number]> => {
  const byName = new Map<string, Tools[number]>()
  for (const tool of tools) {
    if (!Predicate.hasProperty(tool, "run")) {
      const advice = Array.isArray(tool) ? " Pass the tools one by one: Toolkit.make(...tools)." : ""
      throw new TypeError(`A toolkit must be made of tools; got ${kind(tool)}.${advice}`)
    }
    if (byName.has(tool.name)) {
      throw new TypeError(`Two tools of a toolkit are named '${tool.name}'. Rename one of them.`)
    }
    byName.set(tool.name, tool)
  }
  return Object.assign(Object.create(PipeablePrototype), { tools: byName, definitions: tools.map(define) })
}

const define = (tool: Tool.Any): Definition => {
  const parameters = Arguments.jsonSchema(tool.parameters)
  const why = whyUnusable(parameters)
  if (why !== undefined) throw new TypeError(`The parameters of '${tool.name}' ${why}`)
  const { refused: [refused] } = inspect(parameters)
  if (refused !== undefined) {
    throw new TypeError(`The parameters of '${tool.name}' cannot be used: ${refused.path.join("/")}: ${refused.why}.`)
  }
  return { name: tool.name, description: tool.description, parameters }
}

/**
 * A toolkit without tools.
 *
 * @category constructors
 * @since 0.1.0
 */
export const empty: Toolkit<never> = make()

/**
 * Merges several toolkits into one. Throws if two tools have the same name.
 *
 * @category combining
 * @since 0.1.0
 */
export const merge = <const Kits extends ReadonlyArray<Toolkit>>(...toolkits: Kits): Toolkit<ToolsOf<Kits[number]>> =>
  make(...toolkits.flatMap(toolsOf<Kits[number]>))

/**
 * Adds default policies to all tools. A default is skipped for a tool that already has a policy of the same
 * kind. The others are placed in the standard order (`Policy.order`).
 *
 * When to use: for policies that all tools of a service share. `Policy.standard()` suits most tools.
 * Precedence: the tool's own policies, then an agent's (`Agent.make`), then the toolkit's defaults.
 *
 * @example
 * ```ts
 * import { Policy, RetryPolicy, Tool, Toolkit } from "@fallible/core"
 * import { Effect, Schema } from "effect"
 *
 * const ping = Tool.make("ping", { description: "Answers", success: Schema.String }, () => Effect.succeed("pong"))
 * const toolkit = Toolkit.make(ping).pipe(
 *   Toolkit.withDefaults([Policy.timeout("5 seconds"), Policy.retry(RetryPolicy.transient)])
 * )
 * toolkit.tools.get("ping")?.policies.length // => 2
 * ```
 *
 * @category combining
 * @since 0.1.0
 */
export const withDefaults: {
  <R2 = never>(
    policies: ReadonlyArray<Policy.Policy<R2>>
  ): <T extends Tool.Any>(self: Toolkit<T>) => Toolkit<Tool.WithDefaults<T, R2>>
  <T extends Tool.Any, R2 = never>(
    self: Toolkit<T>,
    policies: ReadonlyArray<Policy.Policy<R2>>
  ): Toolkit<Tool.WithDefaults<T, R2>>
} = dual(2, <T extends Tool.Any, R2>(
  self: Toolkit<T>,
  policies: ReadonlyArray<Policy.Policy<R2>>
): Toolkit<Tool.WithDefaults<T, R2>> =>
  make(...Array.from(self.tools.values(), (tool) => Tool.withDefaults(tool, policies))))

/**
 * Adds fixers (functions that correct rejected arguments) to tools. Each tool gets the fixer given under its
 * name, or else the fixer given under `"*"`. A tool with its own fixers (`Tool.fix`) uses only those.
 *
 * When to use: for tools that you do not own, or for a fixer whose corrections suit all tools. For a tool that
 * also has a fixer from an agent (`Agent.make`), only the agent's fixer is used.
 *
 * Throws if `fixers` has a name that matches no tool.
 *
 * @param fixers by tool name: functions, or objects `{ fix, name, tries, time, on }`
 *
 * @example
 * ```ts
 * import { Dispatch, Tool, Toolkit } from "@fallible/core"
 * import { Effect, Schema } from "effect"
 *
 * const fetchPage = Tool.make("fetch_page", {
 *   description: "A page of the web",
 *   parameters: Schema.Struct({ url: Schema.String }),
 *   success: Schema.String,
 *   sideEffect: "none"
 * }, ({ url }) => Effect.succeed(`The page at ${url}.`))
 * const toolkit = Toolkit.make(fetchPage).pipe(
 *   Toolkit.withFixers({ fetch_page: ({ arguments: args }) => typeof args?.["link"] === "string" ? { url: args["link"] } : "" })
 * )
 *
 * const call = { id: "1", name: "fetch_page", arguments: "{\"link\":\"effect.website\"}" }
 * const outcome = Effect.runSync(Dispatch.call(toolkit, call))
 * outcome._tag === "Completed" ? outcome.value : outcome // => "The page at effect.website."
 * ```
 *
 * @category combining
 * @since 0.1.0
 */
export const withFixers: {
  <const F extends Fixers>(
    fixers: F
  ): <T extends Tool.Any>(self: Toolkit<T>) => Toolkit<Tool.WithFixers<T, NeededBy<F>, EscalatedBy<F>>>
  <T extends Tool.Any, const F extends Fixers<T["name"]>>(
    self: Toolkit<T>,
    fixers: F
  ): Toolkit<Tool.WithFixers<T, NeededBy<F>, EscalatedBy<F>>>
} = dual(2, <T extends Tool.Any, F extends Fixers>(
  self: Toolkit<T>,
  fixers: F
): Toolkit<Tool.WithFixers<T, NeededBy<F>, EscalatedBy<F>>> => {
  const fixingOf = fixingFor(fixers, Array.from(self.tools.keys()))
  return make(
    ...Array.from(
      self.tools.values(),
      (tool) => withFixer(asNeeding<T, F>(tool), fixingOf(tool.name), "toolkit")
    )
  )
})

// A tool also requires the services of its fixer. Only the tool's type says so: its `run` stays the same.
const asNeeding = <T extends Tool.Any, F>(tool: T) => tool as unknown as Tool.WithFixers<T, NeededBy<F>, EscalatedBy<F>>

/**
 * Explains the worst case of each tool of a toolkit, in the order of the tools. See `Tool.explain`. It also
 * warns if a tool's `check` or `instead` names a tool that the toolkit does not have.
 *
 * When to use: to see or to test the bounds of all tools together, with the toolkit's defaults. The policies of
 * an agent (`Agent.make`) are included only if they are also defaults of the toolkit.
 *
 * @example
 * ```ts
 * import { Policy, Tool, Toolkit } from "@fallible/core"
 * import { Duration, Effect, Schema } from "effect"
 *
 * const ping = Tool.make("ping", { description: "Answers", success: Schema.String }, () => Effect.succeed("pong"))
 * const toolkit = Toolkit.make(ping).pipe(Toolkit.withDefaults([Policy.timeout("5 seconds")]))
 *
 * Toolkit.explain(toolkit).map(({ time, tool }) => `${tool}: ${Duration.format(time.max)}`) // => ["ping: 5s"]
 * ```
 *
 * @category explaining
 * @since 0.1.0
 */
export const explain = (toolkit: Toolkit): ReadonlyArray<Explanation> =>
  Array.from(toolkit.tools.values(), (tool) => {
    const explanation = Tool.explain(tool)
    return { ...explanation, warnings: [...explanation.warnings, ...warningsOfNames(tool, toolkit)] }
  })

// A toolkit that has the named tool may still be merged with this one, so this is a warning and not an error.
const warningsOfNames = ({ check, instead, name }: Tool.Any, { tools }: Toolkit): ReadonlyArray<Warning> => {
  const references = [...(check === undefined ? [] : [["check", check]]), ...instead.map((other) => ["instead", other])]
  return references.filter(([, other = ""]) => !tools.has(other)).map(([field, other]) => ({
    code: "missing_tool",
    detail: `The '${field}' of ${name} names ${other}, which is not in the toolkit.`,
    hint: "Add that tool, or correct the name. Until then the model is not told about it."
  }))
}

type ToolsOf<K extends Toolkit> = K extends Toolkit<infer T> ? T : never

// Each value of the map has the type `ToolsOf<K>`, but the compiler cannot infer that from a conditional type.
const toolsOf = <K extends Toolkit>(toolkit: K) => Array.from(toolkit.tools.values()) as Array<ToolsOf<K>>
