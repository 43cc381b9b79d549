/** A journal in a file (one line when a step begins, one when it ends), and processes that stop inside a step. */
import type * as Journal from "@fallible/core/Journal"
import { Deferred, Effect, Schema } from "effect"
import { appendFileSync, existsSync, mkdtempSync, readFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"

/** The point where a process stops: the number of the step it begins, from 1, and whether that step has run by then. */
export interface Stop {
  readonly step: number
  readonly hasRun: boolean
}

const Line = Schema.Struct({ name: Schema.String, exit: Schema.optionalKey(Schema.Json) })

export class FileJournal {
  readonly #file = join(mkdtempSync(join(tmpdir(), "journal-")), "steps.jsonl")
  /** The steps that were lost, and for which a process ran the substitute (`step.lost`). */
  readonly lost: Array<string> = []
  /** The steps that the latest process began. */
  readonly begun: Array<string> = []

  #known() {
    const known = new Map<string, typeof Line.Type>()
    const text = existsSync(this.#file) ? readFileSync(this.#file, "utf8") : ""
    for (const line of text.split("\n")) {
      if (line === "") continue
      const read = Schema.decodeUnknownSync(Line)(JSON.parse(line))
      known.set(read.name, read)
    }
    return known
  }

  readonly #write = (line: typeof Line.Type) =>
    Effect.sync(() => {
      appendFileSync(this.#file, `${JSON.stringify(line)}\n`)
    })

  /** Runs a process that continues from the file. Returns `undefined` if it stops before the run ends. */
  process<A, E, R>(run: (journal: Journal.Journal) => Effect.Effect<A, E, R>, stop?: Stop) {
    return Effect.gen({ self: this }, function*() {
      const known = this.#known()
      const stopped = yield* Deferred.make<void>()
      this.begun.length = 0
      const step: Journal.Journal["step"] = (step, effect) => {
        const codec = Schema.toCodecJson(Schema.Exit(step.success, step.error, Schema.Defect()))
        const { exit, name } = known.get(step.name) ?? {}
        if (exit !== undefined) return Effect.suspend(() => Schema.decodeUnknownSync(codec)(exit))
        const isLost = name !== undefined && step.lost !== undefined
        if (isLost) this.lost.push(step.name)
        const halted = Effect.andThen(Deferred.succeed(stopped, undefined), Effect.never)
        const isLast = this.begun.push(step.name) === stop?.step
        const work = isLost ? step.lost ?? effect : effect
        return Effect.andThen(
          this.#write({ name: step.name }),
          isLast && !stop.hasRun ? halted : Effect.flatMap(Effect.exit(work), (exit) =>
            isLast
              ? halted
              : Effect.andThen(this.#write({ name: step.name, exit: Schema.encodeSync(codec)(exit) }), exit))
        )
      }
      return yield* Effect.raceFirst(Effect.exit(run({ step })), Effect.as(Deferred.await(stopped), undefined))
    })
  }
}
