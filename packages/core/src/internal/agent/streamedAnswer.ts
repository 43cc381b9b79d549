import { preview } from "@fallible/arguments"
import type * as Schema from "effect/Schema"
import type { Part } from "../../Model.ts"
import { finalAnswerName, type Output, shownPart } from "./finalAnswer.ts"

/** The part of a typed answer that a model has written so far. */
export class StreamedAnswer {
  readonly #output: Output
  readonly #show: (soFar: Schema.Json) => void
  #text = ""
  /** The position of the call that gives the answer, if there is one. */
  #call: number | undefined
  /** The length of the text at which it is shown next. Each look reads all of the text. */
  #next = 1
  #shown = ""

  constructor(output: Output, show: (soFar: Schema.Json) => void) {
    this.#output = output
    this.#show = show
  }

  add(part: Extract<Part, { readonly _tag: "TextDelta" | "ArgumentsDelta" }>): void {
    if (part._tag === "ArgumentsDelta") {
      if (part.tool !== finalAnswerName || this.#call !== undefined && part.call !== this.#call) return
      // Words before the call are not the answer.
      if (this.#call === undefined) this.#text = ""
      this.#call = part.call
    } else if (this.#call !== undefined) return
    this.#text += part.text
    if (this.#text.length < this.#next) return
    this.#next = Math.ceil(this.#text.length * growth)
    const answer = shownPart(this.#output, asJson(preview(this.#text).soFar))
    if (answer === undefined) return
    const shown = JSON.stringify(answer)
    if (shown === "{}" || shown === this.#shown) return
    this.#shown = shown
    this.#show(answer)
  }
}

const growth = 1.05

// A preview is JSON, and has a type that no tool accepts.
const asJson = (soFar: unknown) => soFar as Schema.Json
