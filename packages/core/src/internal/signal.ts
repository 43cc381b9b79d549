/**
 * How a handler leaves without failing. A tool's error channel holds the four failures alone, so a
 * question and a hard stop travel as defects that dispatch knows; no policy looks at defects.
 */
export class SuspendSignal {
  readonly _tag = "SuspendSignal"
  readonly name = "SuspendSignal"
  readonly question: string
  constructor(question: string) {
    this.question = question
  }
  get message() {
    return `A tool asked the user, and no agent is there to pass it on: ${this.question}`
  }
}

export class StopSignal {
  readonly _tag = "StopSignal"
  readonly name = "StopSignal"
  readonly reason: string
  constructor(reason: string) {
    this.reason = reason
  }
  get message() {
    return `A tool stopped the run: ${this.reason}`
  }
}
