/**
 * A fault of the tour: what goes wrong, the tools, and the model. Both loops get the same functions and the same model.
 * Each file of `faults` has the same order: the service, the tools, the model, and the fault.
 */
import { Agent, type AgentFailure, type Model, Policy, type Tool, Toolkit } from "@fallible/core"
import type * as AgentEvent from "@fallible/core/AgentEvent"
import * as Rendering from "@fallible/core/Rendering"
import type * as Duration from "effect/Duration"
import type * as Stream from "effect/Stream"
import type * as PlainLoop from "./PlainLoop.ts"
import type * as Service from "./Service.ts"
import type * as WeakModel from "./WeakModel.ts"

export interface Fault {
  readonly title: string
  /** Says what goes wrong, in a sentence or two. */
  readonly setUp: string
  readonly question: string
  readonly service: Service.Respond
  /** The functions of the tools, as a plain loop calls them. */
  readonly functions: (url: string) => Readonly<Record<string, PlainLoop.Handler>>
  /** Runs the agent that has the same functions as tools. */
  readonly run: (
    url: string,
    question: string
  ) => Stream.Stream<AgentEvent.AgentEvent, AgentFailure.AgentFailure, Model.Model>
  readonly model: WeakModel.Play
  /** The amounts that should be paid. Default: none. */
  readonly due?: ReadonlyArray<number>
  /** Says whether an answer is right. */
  readonly isRight: (answer: string | undefined) => boolean
  /** Another parser that plain loops use for arguments: it gets a run of its own. */
  readonly parser?: { readonly name: string; readonly parse: (text: string) => unknown }
  /** When the tour stops a plain loop that hangs. Default: never. */
  readonly patience?: Duration.Duration
}

/** Makes an agent like the first one of the README. Its model is a small one, which reads sentences rather than JSON. */
export const agent = <T extends Tool.Any>(...tools: ReadonlyArray<T>): Agent.Agent<T> =>
  Agent.make({
    toolkit: Toolkit.make(...tools),
    policies: Policy.standard(),
    rendering: Rendering.prose,
    limits: { turns }
  })

/** How often the model may reply, in both loops. */
export const turns = 10
