import type { Intent } from "../../ToolOutcome.ts"
import { digestOf } from "../call/idempotencyKey.ts"
import { type Identified, type Identity, identityOf, textAgain } from "./argumentIdentity.ts"

/**
 * The intent of a call (the effect that it is meant to have), given its current arguments. All parts
 * of it are computed on first use.
 */
export class Intended {
  /** The arguments as text, if a model or a fixer wrote them. */
  readonly text: string | undefined
  /** The intent with which this call was admitted before a fixer corrected its arguments, if any. */
  readonly sent: Sent | undefined
  readonly params: unknown
  readonly #tool: Identified
  #cached: Identity | undefined = undefined
  #id: string | undefined = undefined

  constructor(tool: Identified, params: unknown, text: string | undefined, sent?: Sent) {
    this.#tool = tool
    this.params = params
    this.text = text
    this.sent = sent
  }

  get #identity(): Identity {
    return this.#cached ??= identityOf(this.#tool, this.params, this.text)
  }

  /** True if the arguments do not say which effect is intended. */
  get isEmpty(): boolean {
    return this.#identity.effect === undefined
  }

  /** The digest of the intended effect, which is the same for all calls with this intent. */
  get id(): string {
    return this.#id ??= intentIdOf(this.#tool.name, this.#identity.effect ?? "")
  }

  /** The intended effect itself; `undefined` if the arguments do not say which. */
  get effect(): string | undefined {
    return this.#identity.effect
  }

  /** The digest of all arguments. */
  get arguments(): string {
    const { effect, whole } = this.#identity
    return effect === whole ? this.id : digestOf("intent", this.#tool.name, whole)
  }

  /** The text of the arguments for repeating the call; `undefined` if they contain a secret. */
  get again(): string | undefined {
    return textAgain(this.#tool, this.params, this.text)
  }

  /** True if an idempotency key can be made from this intent. */
  get isFit(): boolean {
    return this.#identity.isFit
  }

  /** True if the `id` has been computed. */
  get isKnown(): boolean {
    return this.#id !== undefined
  }
}

/** Returns the id of the intent to have an effect by a tool. */
export const intentIdOf = (tool: string, effect: string): string => digestOf("intent", tool, effect)

/** Returns the id that stands for any call to a tool. It is used if the intent of a call is unknown. */
export const anyCallOf = (tool: string): string => digestOf("intent", tool)

/** Returns the intent of a call whose arguments are unknown. */
export const anyIntentOf = (tool: string): Intent => ({ id: anyCallOf(tool), arguments: "" })

/** The id of an intent, and the number of the idempotency key that was sent for this intent. */
export interface Sent {
  readonly id: string
  readonly number: number
}
