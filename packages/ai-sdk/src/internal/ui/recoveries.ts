/*
 * What became of calls that met a failure, were repeated, or are in doubt.
 */
import type { CallEnded, FailureHandled } from "@fallible/core/ClientEvent"
import * as Duration from "effect/Duration"
import { handlingText, ownText, recoveredText } from "./sentences.ts"
import type { Recovery, UiChunk, UiOptions } from "./types.ts"

/** The recoveries of a run. */
export class Recoveries {
  /** The last failure of each running call that a policy or a fixer handled. */
  readonly #handled = new Map<string, Pick<FailureHandled, "by" | "code">>()
  readonly #ownText: (recovery: Recovery) => string | undefined

  constructor({ recoveries }: Pick<UiOptions, "recoveries">) {
    this.#ownText = ownText(recoveries)
  }

  handled(toolCallId: string, event: FailureHandled): UiChunk {
    const { attempt: attempts, by, code, tool, wait } = event
    this.#handled.set(toolCallId, { by, code })
    return this.#chunk({
      toolCallId,
      tool,
      status: "running",
      by,
      code,
      attempts,
      ...(wait === undefined ? {} : { wait: Duration.toMillis(wait) }),
      text: handlingText(event)
    })
  }

  /** Returns the recovery of a call that ended; `undefined` for most calls. */
  ended(toolCallId: string, event: CallEnded): UiChunk | undefined {
    const handled = this.#handled.get(toolCallId)
    if (event.outcome === "suspended") return undefined
    this.#handled.delete(toolCallId)
    if (handled === undefined && !isNotable(event)) return undefined
    const { attempts, certainty, outcome, tool } = event
    const by: Recovery["by"] = isJoined(event) ? "joined" : handled?.by
    const code = event.code ?? handled?.code
    const recovery: Omit<Recovery, "text"> = {
      toolCallId,
      tool,
      // What had been done before is no failure for those who wanted it done.
      status: outcome === "completed" || event.code === "already_done" ? "completed" : "failed",
      ...(by === undefined ? {} : { by }),
      ...(code === undefined ? {} : { code }),
      attempts,
      certainty
    }
    return this.#chunk({ ...recovery, text: recoveredText(recovery) })
  }

  #chunk(recovery: Recovery): UiChunk {
    const text = this.#ownText(recovery) ?? recovery.text
    return { type: "data-recovery", id: recovery.toolCallId, data: { ...recovery, text } }
  }
}

const isJoined = ({ joined, outcome }: CallEnded): boolean => joined === true && outcome === "completed"

// A denied call was not done, and a completed one was, unless it is in doubt. Of those that failed, some may have been done all
// the same.
const isNotable = (event: CallEnded): boolean =>
  isJoined(event) ||
  event.outcome === "completed" && event.certainty === "unknown" ||
  event.outcome === "failed" && (event.certainty !== "not_executed" || event.code === "already_done")
