/*
 * Logs what a provider's package says that it ignored.
 */
import * as ModelProblem from "@fallible/core/ModelProblem"
import * as Effect from "effect/Effect"
import { written } from "./untyped.ts"

/** The warnings of a model. Each is logged once. */
export class Warnings {
  readonly #server: ModelProblem.Server
  readonly #model: string
  readonly #known = new Set<string>()

  constructor(server: ModelProblem.Server, model: string) {
    this.#server = server
    this.#model = model
  }

  log(warnings: unknown): Effect.Effect<void> {
    if (!Array.isArray(warnings) || warnings.length === 0) return Effect.void
    const texts = new Set(warnings.slice(0, most).map((warning) => ModelProblem.quote(this.#server, written(warning))))
    const fresh = Array.from(texts).filter((text) => !this.#known.has(text)).slice(0, most - this.#known.size)
    for (const text of fresh) this.#known.add(text)
    return Effect.forEach(
      fresh,
      (text) => Effect.logWarning(`${this.#server.name} (${this.#model}): ${text}`),
      { discard: true }
    )
  }
}

/** A package may make up a new warning for each request. */
const most = 100
