import { Failure } from "./failure.ts"

/**
 * How a handler leaves without failing. A tool's error channel holds the four failures alone, so a
 * question and a hard stop travel as defects that dispatch knows; no policy looks at defects.
 */
export class SuspendSignal
  extends Failure<{ readonly detail: string; readonly question: string; readonly key: string }>
{
  readonly _tag = "SuspendSignal"

  constructor(question: string, key: string) {
    super({ question, key, detail: `A tool asked the user, and no agent is there to pass it on: ${question}` })
  }
}

export class StopSignal extends Failure<{ readonly detail: string; readonly reason: string }> {
  readonly _tag = "StopSignal"

  constructor(reason: string) {
    super({ reason, detail: `A tool stopped the run: ${reason}` })
  }
}
