/** The mutants that `pnpm mutants` tries: small changes of the library, each of which breaks a law. */

export interface Mutant {
  /** What the changed library does wrong. */
  readonly name: string
  readonly file: string
  /** Occurs exactly once in the file. */
  readonly text: string
  readonly replacement: string
}

const call = "packages/core/src/internal/call"
const dispatch = "packages/core/src/internal/dispatch"
const policy = "packages/core/src/internal/policy"
const facts = "packages/core/src/CallFacts.ts"

export const mutants: ReadonlyArray<Mutant> = [
  {
    name: "an executed attempt does not clear later doubt",
    file: `${call}/callState.ts`,
    text: `own: certainty === "executed" || isCertain(state.own)`,
    replacement: `own: certainty === "executed"`
  },
  {
    name: "a tool with a key begins again although an inner effect would happen again",
    file: `${call}/frame.ts`,
    text: `if (sideEffect === "idempotent_by_key") return state.lasting === nothing ? undefined : "may_have_acted"`,
    replacement: `if (sideEffect === "idempotent_by_key") return undefined`
  },
  {
    name: "a handler begins on the tick of its deadline",
    file: `${call}/execution.ts`,
    text: `currentTimeMillisUnsafe() >= deadline`,
    replacement: `currentTimeMillisUnsafe() > deadline`
  },
  {
    name: "arguments that a fixer corrected keep the number of the refused ones",
    file: `${dispatch}/repeatedCall.ts`,
    text: `sent === undefined || sent.id !== id ? 1 : sent.number + 1`,
    replacement: `sent === undefined || sent.id !== id ? 1 : 1`
  },
  {
    name: "a resume forgets that an inner effect would happen again",
    file: `packages/core/src/Dispatch.ts`,
    text: `sideEffect.startsWith("idempotent") && intent?.lasting === undefined`,
    replacement: `sideEffect.startsWith("idempotent")`
  },
  {
    name: "the late end of an inner tool is dropped",
    file: `${call}/gateFrames.ts`,
    text: ` ||
      event._tag === "InnerEnded" && event.acts === true`,
    replacement: ``
  },
  {
    name: "a handler that may quote an inner tool is believed",
    file: `${call}/execution.ts`,
    text: `this.#refusesFirst || !mayQuote && isOwnWord(failure)`,
    replacement: `this.#refusesFirst || isOwnWord(failure)`
  },
  {
    name: "changed arguments get a new key although an earlier call is in doubt",
    file: `${dispatch}/repeatedCall.ts`,
    text: `failed?.refused !== undefined && !isInDoubt && isChanged`,
    replacement: `failed?.refused !== undefined && isChanged`
  },
  {
    name: "a running attempt adds no doubt",
    file: `${call}/callState.ts`,
    text: `const attempts = running > 0 && !isCertain(own) ? inDoubt(own) : own`,
    replacement: `const attempts = own`
  },
  {
    name: "a running inner tool adds no doubt",
    file: `${call}/callState.ts`,
    text: `return acting > 0 ? inDoubt(done) : done`,
    replacement: `return done`
  },
  {
    name: "a late attempt forgets the doubt of an earlier one",
    file: `${call}/callState.ts`,
    text: `: and(state.own, done),
    isRefused`,
    replacement: `: done,
    isRefused`
  },
  {
    name: "an inner effect that would happen again is not kept",
    file: `${call}/callState.ts`,
    text: `lasting: lasting === true ? and(state.lasting, done) : state.lasting`,
    replacement: `lasting: state.lasting`
  },
  {
    name: "a new attempt forgets what ran inside the earlier one",
    file: `${call}/callState.ts`,
    text: `own: and(state.own, state.inside),`,
    replacement: `own: state.own,`
  },
  {
    name: "a refusal is forgotten in the call",
    file: `${call}/callState.ts`,
    text: `isRefused: state.isRefused || refused === true,`,
    replacement: `isRefused: state.isRefused,`
  },
  {
    name: "an interrupted handler did nothing",
    file: `${call}/handlerEnding.ts`,
    text: `case "Interrupt":
      return open`,
    replacement: `case "Interrupt":
      return nothing`
  },
  {
    name: "an unreadable result is a refusal",
    file: `${call}/handlerEnding.ts`,
    text: `if (failure.side === "result") return open`,
    replacement: `if (failure.side === "result") return refusal`
  },
  {
    name: "a silent transient failure is a refusal",
    file: `${call}/handlerEnding.ts`,
    text: `return failure.outcome === undefined && isPermanent(failure) ? refusal : open`,
    replacement: `return failure.outcome === undefined ? refusal : open`
  },
  {
    name: "a tool without a key begins again beside a running attempt",
    file: `${call}/frame.ts`,
    text: `if (frame.isActing) return "still_running"`,
    replacement: `if (frame.hasLeftSome) return "still_running"`
  },
  {
    name: "the keys of inner tools do not depend on the call",
    file: `${call}/idempotencyKey.ts`,
    text: `digestOf("inside", outer, mark)`,
    replacement: `digestOf("inside", mark)`
  },
  {
    name: "the keys of inner tools are counted on through attempts",
    file: `${call}/liveState.ts`,
    text: `this.#counts?.clear()`,
    replacement: `void this.#counts`
  },
  {
    name: "equal inner tools of one attempt share a key",
    file: `${call}/frame.ts`,
    text: `return { path, mark: \`\${mark} \${live.next(mark)}\` }`,
    replacement: `return { path, mark }`
  },
  {
    name: "parallel runs count their inner tools together",
    file: `${call}/gateFrames.ts`,
    text: `this.#ownState = outer.live.beside()`,
    replacement: `this.#ownState = outer.live`
  },
  {
    name: "an inner tool without a key is not lasting",
    file: `${call}/innerFrames.ts`,
    text: `const isLasting = this.tool.sideEffect === "non_idempotent"`,
    replacement: `const isLasting = false`
  },
  {
    name: "an inner tool begins in an abandoned attempt",
    file: `${call}/innerFrames.ts`,
    text: `if (gate.isClosed || gate.isSpent) return "abandoned"`,
    replacement: `if (gate.isSpent) return "abandoned"`
  },
  {
    name: "an inner tool forgets that its key was sent",
    file: `${call}/innerFrames.ts`,
    text: `const isRepeated = tool.sideEffect === "idempotent_by_key" && wasSent(outer.whole.state)`,
    replacement: `const isRepeated = false`
  },
  {
    name: "a copy of an inner failure is believed",
    file: `${call}/framedRun.ts`,
    text: `outer.live.mayQuote = true`,
    replacement: `outer.live.mayQuote = false`
  },
  {
    name: "a service that refuses a key in use refuses the call",
    file: `${call}/execution.ts`,
    text: `const isKeyRefused = failure !== undefined &&`,
    replacement: `const isKeyRefused = failure === undefined &&`
  },
  {
    name: "an interrupted call in doubt is not reported",
    file: `${call}/interruptedCall.ts`,
    text: `Exit.hasInterrupts(exit) && isUnreportedDoubt(frame)`,
    replacement: `Exit.hasInterrupts(exit) && !isUnreportedDoubt(frame)`
  },
  {
    name: "a permit is free while an abandoned attempt still runs",
    file: `${policy}/bulkhead.ts`,
    text: `return remaining.length === 0
              ? release`,
    replacement: `return remaining.length >= 0
              ? release`
  },
  {
    name: "the gate of a policy that has ended stays open",
    file: `${policy}/policyFrame.ts`,
    text: `    this.close()
`,
    replacement: `    void this.close
`
  },
  {
    name: "a check that finds nothing is final",
    file: `${policy}/reconciliation.ts`,
    text: `finding._tag === "Nothing" && (isRunning || !isFinal)`,
    replacement: `finding._tag === "Nothing" && isRunning`
  },
  {
    name: "a timeout does not close its gate",
    file: `${policy}/abandonOnTimeout.ts`,
    text: `    late: () => {
      gate.close()
`,
    replacement: `    late: () => {
`
  },
  {
    name: "doubt is forgotten in the next run",
    file: facts,
    text: `if (failed !== undefined && failed.certainty !== "not_executed") {
    return Result.succeed({ ...fact, failed: { ...failed, executions: 1 } })`,
    replacement: `if (failed !== undefined && failed.certainty === "executed") {
    return Result.succeed({ ...fact, failed: { ...failed, executions: 1 } })`
  },
  {
    name: "a later refusal erases the doubt of an earlier call",
    file: facts,
    text: `const certainty = join(failed?.certainty ?? "not_executed", last)`,
    replacement: `const certainty = last`
  },
  {
    name: "a success keeps its number",
    file: facts,
    text: `{ number: number + 1, done }`,
    replacement: `{ number, done }`
  },
  {
    name: "the facts forget that an inner effect would happen again",
    file: facts,
    text: `...(intent.lasting === true ? { lasting: true } : {}),`,
    replacement: `...(intent.lasting === undefined ? {} : {}),`
  },
  {
    name: "an effect of an earlier run may be repeated",
    file: `${dispatch}/repeatedCall.ts`,
    text: `(repeats === undefined ? done.run < facts.run && sideEffect !== "idempotent" : !repeats)`,
    replacement: `(repeats === undefined ? false : !repeats)`
  },
  {
    name: "an effect that must not be repeated may be",
    file: `${dispatch}/repeatedCall.ts`,
    text: `sideEffect !== "idempotent" : !repeats)`,
    replacement: `sideEffect !== "idempotent" : false)`
  },
  {
    name: "a call in doubt without a key may be made again",
    file: `${dispatch}/repeatedCall.ts`,
    text: `return certainty === "not_executed" && refused !== call.arguments`,
    replacement: `return refused !== call.arguments`
  },
  {
    name: "a refused call without a key may be made again",
    file: `${dispatch}/repeatedCall.ts`,
    text: `return certainty === "not_executed" && refused !== call.arguments`,
    replacement: `return certainty === "not_executed"`
  },
  {
    name: "a keyed call with a lasting inner effect may be made again",
    file: `${dispatch}/repeatedCall.ts`,
    text: `lasting !== true && (first === call.arguments`,
    replacement: `(first === call.arguments`
  },
  {
    name: "changed arguments are sent under the key of a call in doubt",
    file: `${dispatch}/callAdmission.ts`,
    text: `const sent: Effect.Effect<{ readonly params: unknown }, ToolFailure> = text === undefined`,
    replacement: `const sent: Effect.Effect<{ readonly params: unknown }, ToolFailure> = text !== null`
  },
  {
    name: "the intent forgets that an inner effect would happen again",
    file: `${dispatch}/callAdmission.ts`,
    text: `...(lasting === nothing ? {} : { lasting: true }),`,
    replacement: `...(lasting === nothing ? {} : {}),`
  }
]
