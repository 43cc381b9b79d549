/** A tool as a plain loop has it, and the same as a tool of this library. */
import { Tool, Toolkit } from "@fallible/core"
import { Schema } from "effect"

export interface PlainTool {
  readonly name: string
  readonly description: string
  readonly fields: Fields
  readonly success: Schema.ConstraintCodec<unknown, unknown>
  readonly acts: boolean
  /** The argument that identifies an effect. */
  readonly identity?: string
  readonly run: (args: Args) => Promise<unknown>
}

type Fields = Readonly<Record<string, Schema.ConstraintCodec<unknown, unknown>>>

/** The arguments that a model sent. A plain loop does not check them. */
export type Args = Readonly<Record<string, string>>

type Run = PlainTool["run"]
type More = Partial<Pick<PlainTool, "fields" | "success" | "identity">>

const made = (name: string, description: string, run: Run, more: More, acts: boolean): PlainTool => ({
  name,
  description,
  fields: {},
  success: Schema.Unknown,
  ...more,
  acts,
  run
})

/** Makes a tool that only reads. */
export const read = (name: string, description: string, run: Run, more: More = {}) =>
  made(name, description, run, more, false)

/** Makes a tool that acts. */
export const act = (name: string, description: string, run: Run, more: More = {}) =>
  made(name, description, run, more, true)

export const text = (...names: ReadonlyArray<string>): Fields =>
  Object.fromEntries(names.map((name) => [name, Schema.String]))

/** Makes this library's toolkit of plain tools. */
export const toolkitOf = (tools: ReadonlyArray<PlainTool>) =>
  Toolkit.make(...tools.map(({ acts, description, fields, identity, name, run, success }) =>
    Tool.promise(name, {
      description,
      parameters: Schema.Struct(fields),
      success,
      sideEffect: acts ? "non_idempotent" : "none",
      ...(identity === undefined ? {} : { identity: (args: object) => Reflect.get(args, identity) })
    }, (args) => run(asArgs(args)))
  ))

// The schemas of the scenarios have text fields only.
const asArgs = (args: object) => args as Args
