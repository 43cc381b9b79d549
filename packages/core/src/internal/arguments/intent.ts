import type { Intent } from "../../ToolOutcome.ts"
import { digestOf } from "../call/idempotencyKey.ts"
import { type Identified, type Identity, identityOf, textAgain } from "./identity.ts"

/** What a call is meant to do, with the arguments that it has now. Nothing is worked out before somebody asks. */
export class Intended {
  /** The arguments as text, where a model or a fixer has written them. */
  readonly text: string | undefined
  /** What a key has been sent for in this call, before a fixer corrected that. */
  readonly sent: Sent | undefined
  readonly #tool: Identified
  readonly #params: unknown
  #identity: Identity | undefined = undefined
  #id: string | undefined = undefined

  constructor(tool: Identified, params: unknown, text: string | undefined, sent?: Sent) {
    this.#tool = tool
    this.#params = params
    this.text = text
    this.sent = sent
  }

  get #said(): Identity {
    return this.#identity ??= identityOf(this.#tool, this.#params, this.text)
  }

  /** Do the arguments say nothing of what is to be done? */
  get isEmpty(): boolean {
    return this.#said.effect === undefined
  }

  /** A name for what is to be done: the same for each call that means it. */
  get id(): string {
    return this.#id ??= digestOf("intent", this.#tool.name, this.#said.effect ?? "")
  }

  /** A name for all its arguments. */
  get arguments(): string {
    const { effect, whole } = this.#said
    return effect === whole ? this.id : digestOf("intent", this.#tool.name, whole)
  }

  /** Its arguments, as they are to be sent again; `undefined` where they hold a secret. */
  get again(): string | undefined {
    return textAgain(this.#tool, this.#params, this.text)
  }

  /** May a key be made of it? */
  get isFit(): boolean {
    return this.#said.isFit
  }

  /** Has anybody asked for its name? */
  get isKnown(): boolean {
    return this.#id !== undefined
  }
}

/** What stands for any call of a tool: nobody knows what one of them was meant to do. */
export const anyCallOf = (tool: string): string => digestOf("intent", tool)

/** What a call was meant to do of which nobody knows more. */
export const anyIntentOf = (tool: string): Intent => ({ id: anyCallOf(tool), arguments: "" })

/** What a key was sent for. */
export interface Sent {
  readonly id: string
  readonly number: number
}
