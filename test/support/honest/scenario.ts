/**
 * Scenarios in which caution may hurt: nothing is really wrong, or only slightly, and the work is honest. Each is played
 * by a plain loop and by an agent, with the same tools and the same model.
 */
import { Tool } from "@fallible/core"
import type { ScriptedModel } from "@fallible/testing"
import type * as FakeModelServer from "@fallible/testing/FakeModelServer"
import { Schema } from "effect"
import type * as Http from "node:http"
import type { PlainHandler } from "../plainLoop.ts"
import { World } from "../plainTools.ts"

/** The world of one scenario, whose tools take virtual time. */
export class HonestWorld extends World {
  /** Takes a number of virtual milliseconds. */
  readonly hold: (millis: number) => Promise<void>

  constructor(url: string, hold: (millis: number) => Promise<void>) {
    super(url, () => {})
    this.hold = hold
  }
}

/** What is asked of the service of a scenario. */
export interface Asked {
  readonly method: string
  readonly path: string
  /** How many requests with this method and this path there were, including this one. */
  readonly times: number
}

/** A model: a function of its messages. `index`, the number of its earlier replies, is for a model that just slips once. */
export type Model = (request: ScriptedModel.Recorded, index: number) => FakeModelServer.Move

export interface HonestScenario {
  readonly name: string
  readonly question: string
  readonly service?: (asked: Asked) => (response: Http.ServerResponse) => void
  readonly tools: (world: HonestWorld) => ReadonlyArray<PlainTool>
  readonly model: Model
  /** The number of model replies in the best case, which is that of the plain loop unless that ends wrongly. */
  readonly replies: number
  /** Matches the right answer. */
  readonly says: RegExp
  /** The side effects in the end. Default: none. */
  readonly done?: ReadonlyArray<string>
  /** Matches what may be neither answered nor read on the way. */
  readonly never?: RegExp
  /** Whether not even one more reply is fair, because there is nothing to be careful about. Default: `false`. */
  readonly isPlain?: boolean
  /** Set if the plain loop ends wrongly. */
  readonly plainIsWrong?: boolean
  /** Why the agent does not end well yet. Absent if it does. */
  readonly because?: string
  /** The virtual milliseconds in the best case. Default: they do not matter. */
  readonly time?: number
}

/** The scenarios of one kind. */
export interface HonestKind {
  readonly kind: string
  readonly scenarios: ReadonlyArray<HonestScenario>
}

// -----------------------------------------------------------------------------
// Tools
// -----------------------------------------------------------------------------

/** A tool of both: an async function with its definition, as a handler of the plain loop and as a tool of the library. */
export interface PlainTool extends PlainHandler {
  readonly tool: Tool.Any
}

/** What both know of a tool. Only the library reads `success`, `sideEffect` and `identity`. */
export interface PlainDefinition<Params> {
  readonly description: string
  readonly parameters?: Schema.Codec<Params>
  readonly success: Schema.Codec<unknown>
  /** Default: the tool acts. */
  readonly sideEffect?: "none" | "idempotent"
  readonly identity?: (params: Params) => unknown
}

/** Makes a tool of an async function. `times` counts how often it has run, including this time. */
export const plainTool = <Params = Readonly<Record<string, never>>>(
  world: HonestWorld,
  name: string,
  definition: PlainDefinition<Params>,
  handler: (params: Params, times: number) => unknown
): PlainTool => {
  const run = async (params: Params) => handler(params, world.begin(name))
  const { parameters = Schema.Struct({}) } = definition
  return {
    name,
    description: definition.description,
    parameters: Schema.toJsonSchemaDocument(parameters).schema,
    run: (args) => run(asParams<Params>(args)),
    // A type of parameters is known only to the caller.
    tool: Tool.promise(name, definition as PlainDefinition<unknown>, (params) => run(asParams<Params>(params)))
  }
}

// The plain loop believes its model, and the library has checked the arguments.
const asParams = <Params>(args: unknown) => args as Params

/** The definition of a tool that only reads. */
export const reads = <Params = Readonly<Record<string, never>>>(
  description: string,
  success: Schema.Codec<unknown>,
  parameters?: Schema.Codec<Params>
): PlainDefinition<Params> => ({
  description,
  success,
  sideEffect: "none",
  ...(parameters === undefined ? {} : { parameters })
})

/** The definition of a tool that acts. */
export const acts = <Params>(
  description: string,
  success: Schema.Codec<unknown>,
  parameters: Schema.Codec<Params>,
  more: Pick<PlainDefinition<Params>, "identity" | "sideEffect"> = {}
): PlainDefinition<Params> => ({ description, success, parameters, ...more })

/** The parameters of a tool, which are all texts. */
export const texts = <const Name extends string>(...names: ReadonlyArray<Name>): Schema.Codec<Record<Name, string>> =>
  asTexts<Name>(Schema.Struct(Object.fromEntries(names.map((name) => [name, Schema.String]))))

// The type of `Object.fromEntries` has lost the names.
const asTexts = <Name extends string>(schema: unknown) => schema as Schema.Codec<Record<Name, string>>
