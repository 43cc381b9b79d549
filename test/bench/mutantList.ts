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
const wire = "packages/core/src/internal/wire"
const dispatch = "packages/core/src/internal/dispatch"
const policy = "packages/core/src/internal/policy"
const agent = "packages/core/src/internal/agent"
const facts = "packages/core/src/CallFacts.ts"
const session = "packages/core/src/CallSession.ts"
const records = "packages/core/src/internal/dispatch/recordCalls.ts"

export const mutants: ReadonlyArray<Mutant> = [
  {
    name: "an executed attempt does not clear later doubt",
    file: `${call}/done.ts`,
    text: `const isCleared = effects === "done" || done.own === "done"`,
    replacement: `const isCleared = effects === "done"`
  },
  {
    name: "a tool with a key begins again although an inner effect would happen again",
    file: `${call}/mayBegin.ts`,
    text: `return isLasting(done) ? "may_have_acted" : undefined`,
    replacement: `return sideEffect === "none" && isLasting(done) ? "may_have_acted" : undefined`
  },
  {
    name: "a handler begins on the tick of its deadline",
    file: `${call}/refusal.ts`,
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
    file: `${call}/done.ts`,
    text: `return isCleared && !wasLasting`,
    replacement: `return isCleared`
  },
  {
    name: "the late end of an inner tool is dropped",
    file: `${call}/forward.ts`,
    text: `event._tag === "InnerEnded" && event.acts === true`,
    replacement: `false`
  },
  {
    name: "a handler that may quote an inner tool is believed",
    file: `${call}/execute.ts`,
    text: `quoted === undefined || hasRefused(record, this.#sole) ? "author" : "none"`,
    replacement: `"author"`
  },
  {
    name: "changed arguments get a new key although an earlier call is in doubt",
    file: `${dispatch}/repeatedCall.ts`,
    text: `failed?.refused !== undefined && !isInDoubt && isChanged`,
    replacement: `failed?.refused !== undefined && isChanged`
  },
  {
    name: "a running attempt adds no doubt",
    file: `${call}/done.ts`,
    text: `return acting > 0 || running > 0 && own !== "done" ? both(ended, "maybe") : ended`,
    replacement: `return acting > 0 || running < 0 ? both(ended, "maybe") : ended`
  },
  {
    name: "a running inner tool adds no doubt",
    file: `${call}/done.ts`,
    text: `return acting > 0 || running > 0 && own !== "done" ? both(ended, "maybe") : ended`,
    replacement: `return acting < 0 || running > 0 && own !== "done" ? both(ended, "maybe") : ended`
  },
  {
    name: "a late attempt forgets the doubt of an earlier one",
    file: `${call}/done.ts`,
    text: `const all = both(done.own, effects)`,
    replacement: `const all = effects`
  },
  {
    name: "an inner effect that would happen again is not kept",
    file: `${call}/done.ts`,
    text: `return lasting === true ? { ...known,`,
    replacement: `return lasting === undefined ? { ...known,`
  },
  {
    name: "a new attempt forgets what ran inside the earlier one",
    file: `${call}/done.ts`,
    text: `own: both(done.own, done.inside),`,
    replacement: `own: done.own,`
  },
  {
    name: "a refusal is forgotten in the call",
    file: `${call}/done.ts`,
    text: `isRefused: done.isRefused || refused === true,`,
    replacement: `isRefused: done.isRefused,`
  },
  {
    name: "an interrupted handler did nothing",
    file: `${call}/ending.ts`,
    text: `return reason._tag === "Die" && isSuspension(reason.defect) && reading.wire !== "acted" ? nothing : inDoubt`,
    replacement: `return reason._tag === "Interrupt" || isSuspension(reason.defect) ? nothing : inDoubt`
  },
  {
    name: "an unreadable result is a refusal",
    file: `${call}/ending.ts`,
    text: `return isRefusing && wire === "silent" ? unproved : inDoubt`,
    replacement: `return isOfResult(failure) ? refusal : isRefusing && wire === "silent" ? unproved : inDoubt`
  },
  {
    name: "a silent transient failure is a refusal",
    file: `${call}/ending.ts`,
    text: `return isRefusing && wire === "silent" ? unproved : inDoubt`,
    replacement: `return isRefusing ? unproved : refusal`
  },
  {
    name: "the keys of inner tools do not depend on the call",
    file: `${call}/idempotencyKey.ts`,
    text: `digestOf("inside", outer, mark)`,
    replacement: `digestOf("inside", mark)`
  },
  {
    name: "the keys of inner tools are counted on through attempts",
    file: `${call}/live.ts`,
    text: `this.#counts?.clear()`,
    replacement: `void this.#counts`
  },
  {
    name: "equal inner tools of one attempt share a key",
    file: `${call}/innerScope.ts`,
    text: `return { path, mark: \`\${mark} \${live.next(mark)}\` }`,
    replacement: `return { path, mark }`
  },
  {
    name: "an inner tool in doubt begins again as another effect",
    file: `${call}/openRuns.ts`,
    text: `if (!outer.hasOpenRuns) return undefined`,
    replacement: `if (outer !== undefined) return undefined`
  },
  {
    name: "a run that continues one in doubt begins without that doubt",
    file: `${call}/openRuns.ts`,
    text: `effects: isInDoubt ? "maybe" : "none",`,
    replacement: `effects: "none",`
  },
  {
    name: "a run that was refused is continued",
    file: `${call}/openRuns.ts`,
    text: `|| !ran.isPlaced || done.isRefused`,
    replacement: `|| !ran.isPlaced`
  },
  {
    name: "a run under one key settles the doubt about another",
    file: `${call}/done.ts`,
    text: `const isSettled = doubted.length === 0 && done.doubted.length > 0`,
    replacement: `const isSettled = key !== undefined`
  },
  {
    name: "parallel runs count their inner tools together",
    file: `${call}/scope.ts`,
    text: `this.#live = role === "run" ? parent?.live.beside() : undefined`,
    replacement: `this.#live = undefined`
  },
  {
    name: "an inner tool without a key is not lasting",
    file: `${call}/innerScope.ts`,
    text: `const isLasting = tool.sideEffect === "non_idempotent" ||`,
    replacement: `const isLasting =`
  },
  {
    name: "an inner tool begins in an abandoned attempt",
    file: `${call}/mayBegin.ts`,
    text: `if (scope.phase === "closed") return "abandoned"`,
    replacement: `if (scope.wasLeft) return "abandoned"`
  },
  {
    name: "an attempt that a check has settled does not hear of what a queue sends late",
    file: `${call}/execute.ts`,
    text: `else scope.record.live.lost = record`,
    replacement: ""
  },
  {
    name: "an inner tool forgets that its key was sent",
    file: `${call}/innerScope.ts`,
    text: `const isRepeated = tool.sideEffect === "idempotent_by_key" && wasSent(outer.record.state)`,
    replacement: `const isRepeated = false`
  },
  {
    name: "a copy of an inner failure is believed",
    file: `${call}/runAsCall.ts`,
    text: `live.quoted ??= "nothing"`,
    replacement: `void live`
  },
  {
    name: "a service that refuses a key in use refuses the call",
    file: `${call}/execute.ts`,
    text: `const isSentAgain = tool.sideEffect === "idempotent_by_key" && wasSent(ofCall)`,
    replacement: `const isSentAgain = false`
  },
  {
    name: "a sentence proves that nothing was done",
    file: `${call}/ending.ts`,
    text: `return isRefusing && wire === "silent" ? unproved : inDoubt`,
    replacement: `return isRefusing && wire === "silent" ? refusal : inDoubt`
  },
  {
    name: "a refusal by hand outweighs a request that acted",
    file: `${call}/ending.ts`,
    text: `if (wire === "acted" || isSentAgain && isConflict(failure)) return inDoubt`,
    replacement: `if (isSentAgain && isConflict(failure)) return inDoubt`
  },
  {
    name: "the refusal of an inner tool is that of the handler",
    file: `${call}/ending.ts`,
    text: `(reading.believes === "tools" || evidence?.tool === undefined)\n`,
    replacement: `true\n`
  },
  {
    name: "a sentence is a real refusal of a tool that refuses first",
    file: `${call}/ending.ts`,
    text: `evidence?.inferred?.redirected !== true && evidence?.inferred?.worded !== true &&`,
    replacement: `evidence?.inferred?.redirected !== true &&`
  },
  {
    name: "a request without an answer was not sent",
    file: `${wire}/wireRecord.ts`,
    text: `return hasFailed && !sent ? "unserved" : "acted"`,
    replacement: `return hasFailed ? "unserved" : "acted"`
  },
  {
    name: "a pending request is none",
    file: `${wire}/wireRecord.ts`,
    text: `return hasFailed && !sent ? "unserved" : "acted"`,
    replacement: `return !hasFailed || !sent ? "unserved" : "acted"`
  },
  {
    name: "a server error proves that nothing was done",
    file: `${wire}/wireRecord.ts`,
    text: `if (status < 400 || status === 408 || status >= 500) return "acted"`,
    replacement: `if (status < 400 || status === 408) return "acted"`
  },
  {
    name: "a conflict under a key that was sent before is a refusal",
    file: `${wire}/wireRecord.ts`,
    text: `return isSentAgain && (status === 409 || status === 422) ? "acted" : "refused"`,
    replacement: `return "refused"`
  },
  {
    name: "a socket of something else blinds nothing",
    file: `${wire}/wireRecord.ts`,
    text: `if (this.#isBlind || this.#sockets?.some((socket) => socket[isClaimed] !== true) === true) return "blind"`,
    replacement: `if (this.#isBlind) return "blind"`
  },
  {
    name: "a late request changes nothing for later calls",
    file: `${dispatch}/repeatedCall.ts`,
    text: `): Admission => {
  const facts = withLateDoubts(known)`,
    replacement: `): Admission => {
  const facts = known`
  },
  {
    name: "an interrupted call in doubt is not reported",
    file: `${call}/interruptedCall.ts`,
    text: `Exit.hasInterrupts(exit) && isUnreportedDoubt(scope)`,
    replacement: `Exit.hasInterrupts(exit) && !isUnreportedDoubt(scope)`
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
    name: "a worker runs the payments of all calls for one of them",
    file: `${policy}/policyCallers.ts`,
    text: `return isOfCall(caller.scope, here) ? undefined : caller`,
    replacement: `return undefined`
  },
  {
    name: "a worker runs one of two equal calls for the other",
    file: `${policy}/policyCallers.ts`,
    text: `others.some(({ scope }) => !isOfCall(scope, caller.scope))`,
    replacement: `others.length < 0`
  },
  {
    name: "two calls hand a policy one object",
    file: `${policy}/policyCallers.ts`,
    text: `const own = isPlain(params) ?`,
    replacement: `const own = params !== params ?`
  },
  {
    name: "a doubt that a program has settled comes back",
    file: `${dispatch}/lateDoubt.ts`,
    text: `isHandedOn === true && fact.settled !== undefined`,
    replacement: `fact.settled === undefined`
  },
  {
    name: "a new late doubt is taken for a settled one",
    file: `${dispatch}/lateDoubt.ts`,
    text: `isHandedOn === true && fact.settled !== undefined`,
    replacement: `fact.settled !== undefined`
  },
  {
    name: "a job that is delivered twice has one number",
    file: "packages/core/src/internal/agent/scopeRuns.ts",
    text: `(last?.run ?? -1) + 1`,
    replacement: `last?.run ?? 0`
  },
  {
    name: "an agent that is run again opens its closed tool",
    file: `${dispatch}/callAdmission.ts`,
    text: `const isReworded = facts !== undefined &&`,
    replacement: `const isReworded = facts === undefined &&`
  },
  {
    name: "a call in doubt is sent under another key",
    file: `${dispatch}/callAdmission.ts`,
    text: `open !== undefined && isOtherKey ?`,
    replacement: `open !== undefined && isOtherKey === undefined ?`
  },
  {
    name: "a policy begins what its handler left in doubt",
    file: `${call}/openRuns.ts`,
    text: `? run.tool === tool.name &&`,
    replacement: `? run.place === place &&`
  },
  {
    name: "a doubt settled inside stays outside",
    file: `${call}/innerScope.ts`,
    text: `if (open === undefined) return
  around`,
    replacement: `if (open !== undefined) return
  around`
  },
  {
    name: "a doubt settled inside settles the others",
    file: `${call}/done.ts`,
    text: `const isLastingSettled = lastingDoubts.length === 0 &&`,
    replacement: `const isLastingSettled =`
  },
  {
    name: "a value that a policy made settles a doubt",
    file: `${policy}/policyRun.ts`,
    text: `!this.#answers.has(exit.value)) scope.live.isOwnAnswer = true`,
    replacement: `!this.#answers.has(exit.value)) scope.live.isOwnAnswer = false`
  },
  {
    name: "a check settles for the first of two tools",
    file: `${dispatch}/settlement.ts`,
    text: `others.length > 0) return undefined`,
    replacement: `others.length < 0) return undefined`
  },
  {
    name: "spaces make another text of arguments",
    file: `${dispatch}/repeatedCall.ts`,
    text: `attempt(() => canonical(JSON.parse(text))) ?? text`,
    replacement: `text`
  },
  {
    name: "two questions about doubts read the same",
    file: `${dispatch}/settlement.ts`,
    text: ` (Doubt \${id})`,
    replacement: ""
  },
  {
    name: "the scope of a policy that has ended stays open",
    file: `${policy}/policyRun.ts`,
    text: `    scope.close()
`,
    replacement: `    void scope.close
`
  },
  {
    name: "a check that finds nothing is final",
    file: `${policy}/reconciliation.ts`,
    text: `finding._tag === "Nothing" && (isRunning || !isFinal)`,
    replacement: `finding._tag === "Nothing" && isRunning`
  },
  {
    name: "doubt is forgotten in the next run",
    file: records,
    text: `if (failed !== undefined && failed.certainty !== "not_executed") {
    return Result.succeed({ ...fact, failed: { ...failed, executions: 1 } })`,
    replacement: `if (failed !== undefined && failed.certainty === "executed") {
    return Result.succeed({ ...fact, failed: { ...failed, executions: 1 } })`
  },
  {
    name: "a success keeps its number",
    file: records,
    text: `{ ...written, ...settled, number: number + 1, done }`,
    replacement: `{ ...written, ...settled, number, done }`
  },
  {
    name: "the facts forget that an inner effect would happen again",
    file: records,
    text: `...(intent.lasting === true ? { lasting: true } : {}),`,
    replacement: `...(intent.lasting === undefined ? {} : {}),`
  },
  {
    name: "an effect of an earlier run may be repeated",
    file: `${dispatch}/repeatedCall.ts`,
    text: `done.run >= run && !wasFound`,
    replacement: `!wasFound`
  },
  {
    name: "an effect that must not be repeated may be",
    file: `${dispatch}/repeatedCall.ts`,
    text: `const mayRepeat = repeats ?? (`,
    replacement: `const mayRepeat = repeats || (`
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
    text: `...(isLasting(state.done) || state.done.wasLasting ? { lasting: true } : {}),`,
    replacement: `...(isLasting(state) ? {} : {}),`
  },
  {
    name: "a handler begins in an abandoned run",
    file: `${call}/scope.ts`,
    text: `this.phase = "closed"`,
    replacement: `this.phase = "over"`
  },
  {
    name: "a resume forgets that the call took effect",
    file: `${call}/done.ts`,
    text: `const all = both(both(attempts, sources), earlier)`,
    replacement: `const all = both(attempts, sources)`
  },
  {
    name: "a keyed tool begins again while an inner tool still acts",
    file: `${call}/done.ts`,
    text: `lasting !== "none" || acting > 0`,
    replacement: `lasting !== "none"`
  },
  {
    name: "a dispatched call begins although the attempt around it was abandoned",
    file: `${call}/mayBegin.ts`,
    text: `scope = scope.around) {`,
    replacement: `scope = scope.parent) {`
  },
  {
    name: "a stored failure loses its evidence",
    file: "packages/core/src/ToolFailure.ts",
    text: `outcome: Schema.optionalKey(Certainty),
  evidence: Schema.optionalKey(Evidence)`,
    replacement: `outcome: Schema.optionalKey(Certainty)`
  },
  {
    name: "a hard doubt closes no tool",
    file: `${dispatch}/repeatedCall.ts`,
    text: `return isIdentified(tool) ? undefined : closing(facts, tool, id)`,
    replacement: `return undefined`
  },
  {
    name: "a soft doubt closes a tool",
    file: `${dispatch}/repeatedCall.ts`,
    text: `failed.doubt !== "soft" && id !== ownId`,
    replacement: `id !== ownId`
  },
  {
    name: "a doubt closes a tool for the same call",
    file: `${dispatch}/repeatedCall.ts`,
    text: `failed.doubt !== "soft" && id !== ownId`,
    replacement: `failed.doubt !== "soft"`
  },
  {
    name: "a call whose arguments are lost closes nothing",
    file: `${dispatch}/repeatedCall.ts`,
    text: `if (failed !== undefined) return [lost, failed]`,
    replacement: `void lost`
  },
  {
    name: "a doubt closes a tool that can tell its calls apart",
    file: `${dispatch}/repeatedCall.ts`,
    text: `return isIdentified(tool) ? undefined : closing(facts, tool, id)`,
    replacement: `return closing(facts, tool, id)`
  },
  {
    name: "a doubt closes an idempotent tool",
    file: `${dispatch}/repeatedCall.ts`,
    text: `if (facts.failures === 0 || tool.sideEffect === "idempotent") return undefined`,
    replacement: `if (facts.failures === 0) return undefined`
  },
  {
    name: "a doubt closes other tools",
    file: `${dispatch}/repeatedCall.ts`,
    text: `if (failed?.tool === name && failed.certainty`,
    replacement: `if (failed?.certainty`
  },
  {
    name: "an effect that a check has found may be repeated in its run",
    file: `${dispatch}/repeatedCall.ts`,
    text: `done.run >= run && !wasFound`,
    replacement: `(wasFound || done.run >= run)`
  },
  {
    name: "an effect of an earlier call that Tool.reconcile has found may be repeated",
    file: `${policy}/reconciliation.ts`,
    text: `scope.record.repeatsDoubt && executions === corrected`,
    replacement: `false`
  },
  {
    name: "the effect of a call that has run counts as that of the earlier one",
    file: `${policy}/reconciliation.ts`,
    text: `scope.record.repeatsDoubt && executions === corrected`,
    replacement: `scope.record.repeatsDoubt`
  },
  {
    name: "a call whose process ended finds the effect of an earlier one",
    file: `${policy}/reconciliation.ts`,
    text: `scope.record.repeatsDoubt && executions === corrected`,
    replacement: `executions === corrected`
  },
  {
    name: "a text that a fixer has corrected is another call the next time",
    file: `${dispatch}/repeatedCall.ts`,
    text: `if (fact.written?.includes(written) !== true) continue`,
    replacement: `if (fact.written?.includes("") !== true) continue`
  },
  {
    name: "a text that a fixer has corrected is done again in a later run",
    file: `${dispatch}/repeatedCall.ts`,
    text: `if (refusal !== undefined) return { refusal }`,
    replacement: `if (refusal !== undefined) return {}`
  },
  {
    name: "a call in doubt that is only checked runs again",
    file: `${dispatch}/repeatedCall.ts`,
    text: `isOnlyChecked: true`,
    replacement: `isOnlyChecked: false`
  },
  {
    name: "equal calls of an idempotent tool are joined",
    file: `${dispatch}/equalCalls.ts`,
    text: `joins !== false && !isIdempotent(sideEffect)`,
    replacement: `joins !== false && sideEffect !== "none"`
  },
  {
    name: "equal calls of a tool with keys are not joined",
    file: `${dispatch}/equalCalls.ts`,
    text: `joins !== false && !isIdempotent(sideEffect)`,
    replacement: `joins !== false && sideEffect === "non_idempotent" && isIdempotent("none")`
  },
  {
    name: "calls of a tool that joins none are joined",
    file: `${dispatch}/equalCalls.ts`,
    text: `joins !== false && !`,
    replacement: `(joins || !joins) && !`
  },
  {
    name: "equal calls run at the same time",
    file: `${dispatch}/concurrentCalls.ts`,
    text: `other < index && isEqual(other)`,
    replacement: `other < 0 && isEqual(other)`
  },
  {
    name: "calls of one text run at the same time",
    file: `${dispatch}/equalCalls.ts`,
    text: `[written, id, `,
    replacement: `[id, `
  },
  {
    name: "an identity lets calls of two tools run at the same time",
    file: `${dispatch}/concurrentCalls.ts`,
    text: `(one === other || one.concurrent === true && other.concurrent === true)`,
    replacement: `(one !== undefined)`
  },
  {
    name: "calls run at the same time although a fixer may make them equal",
    file: `${dispatch}/concurrentCalls.ts`,
    text: `fixers.length === 0 && (concurrent`,
    replacement: `fixers.length >= 0 && (concurrent`
  },
  {
    name: "a call begins although one that runs with it has asked the user",
    file: `${dispatch}/concurrentCalls.ts`,
    text: `isHeldBack ||= holdsBack(outcome)`,
    replacement: `isHeldBack ||= false`
  },
  {
    name: "calls that may continue an open run in other words run at the same time",
    file: `${dispatch}/concurrentCalls.ts`,
    text: `inOrder || fiber.getRef(current).hasOpenRuns`,
    replacement: `inOrder`
  },
  {
    name: "a call that has waited knows only the facts before its group",
    file: "packages/core/src/internal/agent/turnCalls.ts",
    text: `=== "none" ? begin() : Effect.suspend(begin)`,
    replacement: `=== "none" ? begin() : begin()`
  },
  {
    name: "all calls that a doubt holds back ask about it",
    file: "packages/core/src/internal/agent/turnCalls.ts",
    text: `run.onDoubt === "ask" && factsBefore.failures > 0`,
    replacement: `run.onDoubt === "ask" && factsBefore.failures > 99`
  },
  {
    name: "equal calls of one turn are not joined",
    file: `${dispatch}/callAdmission.ts`,
    text: `if (!wasAdmitted && this.#joins()) return joinedCall`,
    replacement: `void this.#joins`
  },
  {
    name: "the same text is not joined before a fixer reads it",
    file: `${dispatch}/callAdmission.ts`,
    text:
      `if (turn !== undefined && isJoinable(this.#tool) && this.#join(turn.find(isSame))) return { refusal: joinedCall }`,
    replacement: `void isSame`
  },
  {
    name: "the same text of another tool is joined",
    file: `${dispatch}/callAdmission.ts`,
    text: `call.name === name && call.arguments === written`,
    replacement: `call.arguments === written`
  },
  {
    name: "an answer of a fallback settles a doubt",
    file: `${dispatch}/knownFacts.ts`,
    text: `executions > 0 && attempts === executions && source?.age === undefined && !live.isOwnAnswer &&
  handled.toArray().every(({ by }) => by === "retry")`,
    replacement: `executions > 0 && source?.age === undefined`
  },
  {
    name: "an old answer settles a doubt",
    file: `${dispatch}/knownFacts.ts`,
    text: `executions > 0 && attempts === executions && source?.age === undefined && !live`,
    replacement: `attempts === executions && !live`
  },
  {
    name: "the end of a call in doubt is not noted",
    file: `${dispatch}/callAdmission.ts`,
    text: `if (outcome.doubt !== undefined) this.#noteDoubtAge(intent)`,
    replacement: `void outcome.doubt`
  },
  {
    name: "a check in doubt that found nothing settles nothing",
    file: `${dispatch}/callAdmission.ts`,
    text: `this.#repeats?.certainty !== "unknown" || certainty !== "not_executed"`,
    replacement: `this.#repeats?.certainty !== "unknown" || certainty !== "executed"`
  },
  {
    name: "a check that finds nothing settles without a promise",
    file: `${dispatch}/settlement.ts`,
    text: `settle === undefined ? Infinity :`,
    replacement: `settle === undefined ? 0 :`
  },
  {
    name: "a check settles before its time",
    file: `${dispatch}/settlement.ts`,
    text: `Duration.toMillis(settle) - (age ?? 0)`,
    replacement: `Duration.toMillis(settle) - Infinity + (age ?? 0)`
  },
  {
    name: "a check that finds the effect has to wait",
    file: `${dispatch}/settlement.ts`,
    text: `const rest = certainty === "executed" ?`,
    replacement: `const rest = settles.final && certainty === "executed" ?`
  },
  {
    name: "a final check has to wait",
    file: `${dispatch}/settlement.ts`,
    text: `if (final) return age === undefined || age < 0 ? Infinity : 0`,
    replacement: ""
  },
  {
    name: "a check settles the doubts of tools that do not name it",
    file: `${dispatch}/settlement.ts`,
    text: `tool.check === check ? [tool.name] : []`,
    replacement: `tool.check === undefined ? [] : [tool.name]`
  },
  {
    name: "a person settles a doubt by more than one word",
    file: `${dispatch}/settlement.ts`,
    text: `.replace(/[.!]+$/, "")`,
    replacement: `.replace(/[^a-z].*$/, "")`
  },
  {
    name: "a call in doubt has ended although its handler still runs",
    file: `${dispatch}/doubtAge.ts`,
    text: `if (end?.runs === undefined || end.runs()) return`,
    replacement: `if (end?.runs === undefined) return`
  },
  {
    name: "another process knows when a call in doubt has ended",
    file: `${dispatch}/doubtAge.ts`,
    text: `if (end === undefined) noteEnd(scope, id, begun, undefined)`,
    replacement: `if (end === undefined) return Infinity`
  },
  {
    name: "a second doubt about a call ends with the first one",
    file: `${dispatch}/doubtAge.ts`,
    text: `ends.set(nameOf(scope, id), { at, runs })`,
    replacement: `if (ends.get(nameOf(scope, id)) === undefined) ends.set(nameOf(scope, id), { at, runs })`
  },
  {
    name: "a repeated call that is only checked forgets that the earlier one still runs",
    file: `${dispatch}/callAdmission.ts`,
    text: `this.#call.alsoRuns = runningOf(scope, this.#intended.id)`,
    replacement: `void runningOf`
  },
  {
    name: "a handler that repeats a run forgets that the earlier one still runs",
    file: `${call}/openRuns.ts`,
    text: `scope.alsoRuns = runs`,
    replacement: `void runs`
  },
  {
    name: "the time to settle begins before the end of the handler",
    file: `${dispatch}/doubtAge.ts`,
    text: `end.at = now
`,
    replacement: `void now
`
  },
  {
    name: "a late request does not begin the time to settle anew",
    file: `${dispatch}/callAdmission.ts`,
    text: `this.#noteDoubtAge({ id })
`,
    replacement: `
`
  },
  {
    name: "what an inner tool still does is not waited for",
    file: `${dispatch}/callAdmission.ts`,
    text: `const runs = whetherRunning(this.#call)`,
    replacement: `const runs = this.#call.hasLeftSome ? whetherRunning(this.#call) : undefined`
  },
  {
    name: "a person is asked about a call that still runs",
    file: `${dispatch}/knownFacts.ts`,
    text: `|| runningOf(facts.scope ?? "", id)?.() === true`,
    replacement: `|| runningOf(facts.scope ?? "", id) === null`
  },
  {
    name: "a person's yes holds for one of the calls that were held back",
    file: `${dispatch}/callAdmission.ts`,
    text: `outcome.settled?.some(mayBeThis) === true`,
    replacement: `outcome.settled?.some(mayBeThis) === null`
  },
  {
    name: "a check finds the effect of an earlier call, and settles a later one",
    file: `${dispatch}/settlement.ts`,
    text: `if (certainty === "executed" && done !== undefined) return undefined`,
    replacement: ""
  },
  {
    name: "a doubt that is settled as not executed gets a new key",
    file: facts,
    text: `{ ...rest, number: number + 1, done } : { ...rest, number }`,
    replacement: `{ ...rest, number: number + 1, done } : { ...rest, number: number + 1 }`
  },
  {
    name: "a doubt that is settled as executed keeps its key",
    file: facts,
    text: `{ ...rest, number: number + 1, done } : { ...rest, number }`,
    replacement: `{ ...rest, number, done } : { ...rest, number }`
  },
  {
    name: "a doubt that is settled as executed is not done",
    file: facts,
    text: `{ ...rest, number: number + 1, done } : { ...rest, number }`,
    replacement: `{ ...rest, number: number + 1 } : { ...rest, number }`
  },
  {
    name: "a doubt can be settled again",
    file: facts,
    text: `  return failed?.certainty === "unknown"
    ? Result`,
    replacement: `  return failed?.certainty !== "not_executed"
    ? Result`
  },
  {
    name: "a soft doubt after a hard one is soft",
    file: records,
    text: `(failed === undefined || failed.certainty === "not_executed" || failed.doubt === "soft")`,
    replacement: `(failed === undefined || failed.tool === name)`
  },
  {
    name: "a hard doubt after a soft one is soft",
    file: records,
    text: `(last !== "unknown" || outcome.doubt === "soft")`,
    replacement: `(last === "unknown" || outcome.doubt === "soft")`
  },
  {
    name: "only the latest text that a fixer has corrected is known",
    file: records,
    text: `[...(before ?? []).filter((text) => text !== written), written]`,
    replacement: `[written]`
  },
  {
    name: "a final check settles while the handler still runs",
    file: `${dispatch}/settlement.ts`,
    text: `age === undefined || age < 0 ? Infinity : 0`,
    replacement: `0`
  },
  {
    name: "a call that was held back runs after a yes",
    file: `${dispatch}/callAdmission.ts`,
    text: `(this.#call.acts ? this.#doneMeanwhile(turn) : undefined)`,
    replacement: `undefined`
  },
  {
    name: "an identity tells a call apart from one whose arguments are lost",
    file: `${dispatch}/callAdmission.ts`,
    text: `settlement.id === anyCallOf(name) || `,
    replacement: ""
  },
  {
    name: "a second question forgets what the first reply has settled",
    file: `${dispatch}/callAdmission.ts`,
    text: `onDoubt === "ask", before?.settled)`,
    replacement: `onDoubt === "ask")`
  },
  {
    name: "a transcript without facts begins",
    file: "packages/core/src/internal/agent/runInput.ts",
    text: `if (forgotten.length > 0) return`,
    replacement: `if (forgotten.length > 99) return`
  },
  {
    name: "two runs of one scope run at the same time",
    file: "packages/core/src/internal/agent/scopeRuns.ts",
    text: `open.has(scope) ? "running" :`,
    replacement: `open.has("") ? "running" :`
  },
  {
    name: "a run is resumed after a later one has begun",
    file: "packages/core/src/internal/agent/scopeRuns.ts",
    text: `isLatest ? undefined : "later_run"`,
    replacement: `isLatest ? undefined : undefined`
  },
  {
    name: "a result that is not of the schema's type settles a doubt",
    file: `${dispatch}/performCall.ts`,
    text: `return settles === undefined || !isEncoded || notes.length > 0`,
    replacement: `return settles === undefined`
  },
  {
    name: "a journal that is interrupted counts as one that fails",
    file: "packages/core/src/internal/agent/journalStep.ts",
    text: `if (Exit.isFailure(exit) && Cause.hasInterruptsOnly(exit.cause)) {`,
    replacement: `if (Exit.isFailure(exit) && exit.cause.reasons.length > 99) {`
  },
  {
    name: "a step has a result although a step inside was interrupted",
    file: "packages/core/src/internal/agent/journalStep.ts",
    text: `inside.isInterrupted`,
    replacement: `false as boolean`
  },
  {
    name: "a call begins although its journal has failed",
    file: "packages/core/src/internal/agent/turnCalls.ts",
    text: `run.halt?.fault === undefined`,
    replacement: `run.halt?.fault !== null`
  },
  {
    name: "a journal that fails inside a call does not halt the run around it",
    file: "packages/core/src/internal/agent/enclosingStep.ts",
    text: `this.#around?.halt.fail(fault)`,
    replacement: ""
  },
  {
    name: "a call that a failed journal held back is not in doubt",
    file: "packages/core/src/internal/agent/turnCalls.ts",
    text: `toolkitOf(toolkit, call).tools.get(call.name)?.sideEffect !== "none",`,
    replacement: `false,`
  },
  {
    name: "two runs inside one step have the same names",
    file: "packages/core/src/internal/agent/enclosingStep.ts",
    text: `(this.#runs.get(id) ?? 0) + 1`,
    replacement: `1`
  },
  {
    name: "an interrupted call is in no facts that are handed over",
    file: "packages/core/src/internal/agent/runProgress.ts",
    text: `facts = afterCall(this.#run, facts, call, outcome)`,
    replacement: ""
  },
  {
    name: "the arguments of a misspelt tool are shown",
    file: "packages/core/src/internal/arguments/secretArguments.ts",
    text: `masks.get(tool) : () => mask`,
    replacement: `masks.get(tool) : undefined`
  },
  {
    name: "a check that succeeds with a failure passes the value",
    file: "packages/core/src/Guard.ts",
    text: `return isFound(found) ? Effect.fail(found)`,
    replacement: `return isFound(found) ? Effect.succeed(value)`
  },
  {
    name: "the page after the last one is told as empty",
    file: `${dispatch}/resultNotes.ts`,
    text: `if (next !== undefined && isFurther(next.name, given)) return Effect.undefined`,
    replacement: ""
  },
  {
    name: "a field that a tool declares is told as its failure",
    file: "packages/core/src/internal/result/reportedFailure.ts",
    text: `(sideEffect === "none" || choices.includes(value))`,
    replacement: `choices.includes(value)`
  },
  {
    name: "an effect is repeated because its answer says that waiting helps",
    file: "packages/core/src/internal/result/reportedFailure.ts",
    text: `if (sideEffect !== "none" || !isPassing`,
    replacement: `if (!isPassing`
  },
  {
    name: "what time may change counts as a loop",
    file: "packages/core/src/internal/agent/loopJudgement.ts",
    text: `? "waiting"`,
    replacement: `? "repeat"`
  },
  {
    name: "calls between two looks count as a loop",
    file: "packages/core/src/internal/agent/loopGuard.ts",
    text: `turn - state.waiting < maxRound`,
    replacement: `turn - state.waiting < 0`
  },
  {
    name: "a round of calls counts as often as it has calls",
    file: "packages/core/src/internal/agent/loopGuard.ts",
    text: `(judgement.entry.sets && judgement.gap > 1 ? 0.5 : 1) / judgement.gap`,
    replacement: `1`
  },
  {
    name: "a cycle of idempotent tools is not noticed",
    file: "packages/core/src/internal/agent/loopJudgement.ts",
    text: `const sets = tool?.sideEffect === "idempotent"`,
    replacement: `const sets = false`
  },
  {
    name: "the throw of a coin is told to stop",
    file: "packages/core/src/internal/agent/loopGuard.ts",
    text: `entry.times < warnAt + patience && mayVary(call.name, tool?.description)`,
    replacement: `entry.times < 0`
  },
  {
    name: "a look waits no longer than the one before",
    file: "packages/core/src/internal/agent/loopGuard.ts",
    text: `firstWait * 1.5 ** (times - 1)`,
    replacement: `firstWait`
  },
  {
    name: "what is not missing is read again",
    file: "packages/core/src/internal/agent/rereads.ts",
    text: `(missingCodes.has(failure.code) || missing.test(failure.detail.slice(0, 500)))`,
    replacement: `failure.code !== ""`
  },
  {
    name: "what another tool was given is taken for what was made",
    file: "packages/core/src/internal/agent/rereads.ts",
    text: `given.has(leaf) && by.some((word) => words.includes(word))`,
    replacement: `given.has(leaf)`
  },
  {
    name: "the failures of a tool that reads count for ever",
    file: "packages/core/src/internal/agent/rereads.ts",
    text: `time.used - at < forgottenAfter`,
    replacement: `time.used - at < Infinity`
  },
  {
    name: "a sentence makes a tool that acts run again",
    file: "packages/core/src/internal/failure/fromDescription.ts",
    text: `if (reads && soon !== undefined) {`,
    replacement: `if (soon !== undefined) {`
  },
  {
    name: "a tool that asks to wait for ever is never refused",
    file: "packages/core/src/internal/dispatch/repeatedCall.ts",
    text: `? 3 * usual`,
    replacement: `? Infinity`
  },
  {
    name: "approvals: a digest leaves out the arguments",
    file: `${dispatch}/approvalStage.ts`,
    text: `salt, tool.name, intended.arguments, attempt`,
    replacement: `salt, tool.name, attempt`
  },
  {
    name: "approvals: a digest leaves out the intent",
    file: `${dispatch}/approvalStage.ts`,
    text: `intended.arguments, attempt(() => intended.id) ?? "")`,
    replacement: `intended.arguments)`
  },
  {
    name: "approvals: a decision counts for other arguments",
    file: `${dispatch}/approvalStage.ts`,
    text: `reply.id === id && reply.decided?.digest === digest`,
    replacement: `reply.id === id && reply.decided !== undefined`
  },
  {
    name: "approvals: a decision counts for another call",
    file: `${dispatch}/approvalStage.ts`,
    text: `reply.id === id && reply.decided?.digest === digest`,
    replacement: `reply.decided?.digest === digest`
  },
  {
    name: "approvals: a call that was denied in the run asks again",
    file: `${dispatch}/approvalStage.ts`,
    text: `return denied?.run === facts.run ? denied : undefined`,
    replacement: `return denied?.run === facts.run ? undefined : denied`
  },
  {
    name: "approvals: a predicate that fails needs no approval",
    file: `${dispatch}/approvalStage.ts`,
    text: `so it is asked for\`, cause), true)`,
    replacement: `so it is asked for\`, cause), false)`
  },
  {
    name: "approvals: a predicate has all the time",
    file: `${dispatch}/approvalStage.ts`,
    text: `Duration.isFinite(left) ? Effect.timeout(self, left) : self`,
    replacement: `Duration.isFinite(left) ? self : self`
  },
  {
    name: "approvals: a denied call runs",
    file: `${dispatch}/approvalStage.ts`,
    text: `return decided.approved ? Effect.void : Effect`,
    replacement: `return decided.digest !== "" ? Effect.void : Effect`
  },
  {
    name: "approvals: a question shows what is made up",
    file: `${dispatch}/approvalStage.ts`,
    text: `textToShow(tool, params, text) ??`,
    replacement: `attempt(() => JSON.stringify(params)) ??`
  },
  {
    name: "approvals: a call that may only ask runs",
    file: `${dispatch}/callAdmission.ts`,
    text: `if (this.#asksOnly) return Effect.fail(DispatchFailure.notRun(this.#tool.name))`,
    replacement: ""
  },
  {
    name: "approvals: what is approved is not refused by what was done since",
    file: `${dispatch}/callAdmission.ts`,
    text: `before?.intent !== undefined && before.asks?.kind !== "approval"`,
    replacement: `before?.intent !== undefined`
  },
  {
    name: "approvals: an approval also counts for doing it again",
    file: `${dispatch}/approvalStage.ts`,
    text: `const what = again === undefined ? "once" : "again"`,
    replacement: `const what = again === null ? "again" : "once"`
  },
  {
    name: "approvals: a call that waits forgets the arguments of an earlier call",
    file: `${dispatch}/callQuestions.ts`,
    text: `shown.text === undefined || shown.text === text ? salted`,
    replacement: `shown.text !== "" ? salted`
  },
  {
    name: "approvals: only the first call of a turn asks",
    file: `${agent}/turnCalls.ts`,
    text: `if (!mayAsk(tool)) return Effect.succeed(heldBack)`,
    replacement: `if (mayAsk(tool) || index >= 0) return Effect.succeed(heldBack)`
  },
  {
    name: "approvals: a call that a limit refuses asks first",
    file: `${agent}/turnCalls.ts`,
    text: `        turn: ended,\n        refusal,\n`,
    replacement: `        turn: ended,\n        refusal: undefined,\n`
  },
  {
    name: "approvals: a call that waits is not counted in its order",
    file: `${agent}/turnCalls.ts`,
    text: `    limitRefusal(call, index, toolOf(call))
    return Effect.succeed(outcome)`,
    replacement: `    return Effect.succeed(outcome)`
  },
  {
    name: "approvals: a call that is held back loses its reply",
    file: `${agent}/turnCalls.ts`,
    text: `if (earlier !== undefined && !isNotRun(earlier)) return Effect.succeed(earlier)`,
    replacement: ""
  },
  {
    name: "approvals: equal calls of a turn all ask",
    file: `${agent}/turnCalls.ts`,
    text: `isJoinable(tool) && intent !== undefined && other.intent?.id === intent.id`,
    replacement: `isJoinable(tool) && intent !== undefined && other.intent === intent`
  },
  {
    name: "approvals: a denial leaves no fact",
    file: `${dispatch}/recordCalls.ts`,
    text: `return outcome.decided?.approved === false`,
    replacement: `return outcome.decided?.approved === undefined && outcome.decided !== undefined`
  },
  {
    name: "approvals: a reply goes to the first open question",
    file: `${agent}/takenReplies.ts`,
    text: `outcome._tag === "Suspended" && outcome.asks.id === reply.id)`,
    replacement: `outcome._tag === "Suspended" && !isAnswered(outcome))`
  },
  {
    name: "approvals: a decision needs no digest",
    file: `${agent}/takenReplies.ts`,
    text: `return reply.digest === question.digest`,
    replacement: `return reply.digest !== undefined`
  },
  {
    name: "approvals: a late approval counts",
    file: `${agent}/takenReplies.ts`,
    text: `const isLate = isOver(question, now)`,
    replacement: `const isLate = isOver(question, -1)`
  },
  {
    name: "approvals: nobody decides on what nobody has decided in time",
    file: `${agent}/takenReplies.ts`,
    text: `isOver(question, now) && replies`,
    replacement: `isOver(question, -1) && replies`
  },
  {
    name: "approvals: a time that is over must be admitted",
    file: `${agent}/takenReplies.ts`,
    text: `index < replies.length ? mayReply`,
    replacement: `index >= 0 ? mayReply`
  },
  {
    name: "approvals: anything that is not false admits",
    file: `${agent}/takenReplies.ts`,
    text: `return Effect.succeed(may === true)`,
    replacement: `return Effect.succeed(may !== false)`
  },
  {
    name: "approvals: replies are taken as they are",
    file: `${agent}/takenReplies.ts`,
    text: `attempt(() => Option.getOrUndefined(decodeReplies(given)))`,
    replacement: `Option.isSome(decodeReplies(given)) ? given as never : undefined`
  },
  {
    name: "approvals: any text with a yes approves",
    file: `${agent}/takenReplies.ts`,
    text: `/^\\s*yes\\s*[.!]?\\s*$/i`,
    replacement: `/yes/i`
  },
  {
    name: "approvals: a shortened text is taken for the whole",
    file: `${agent}/takenReplies.ts`,
    text: `return isMasked || /… `,
    replacement: `return isMasked || /^$/.test(value) && /… `
  },
  {
    name: "approvals: a mask is taken for a secret",
    file: `${agent}/takenReplies.ts`,
    text: `isSecret && value === "<redacted>"`,
    replacement: `isSecret && value === ""`
  },
  {
    name: "approvals: changed arguments have the decision on those that were shown",
    file: `${agent}/takenReplies.ts`,
    text: `decided: { approved: true, digest, edited: true`,
    replacement: `decided: { approved: true, digest: before.asks.digest ?? "", edited: true`
  },
  {
    name: "approvals: a suspension may have another id",
    file: `${agent}/judgedSuspension.ts`,
    text: `id !== suspensionId(runId, turn, outcomes)`,
    replacement: `id === ""`
  },
  {
    name: "approvals: a question may name another tool",
    file: `${agent}/judgedSuspension.ts`,
    text: `outcome.asks.tool === call.name`,
    replacement: `outcome.asks.tool !== ""`
  },
  {
    name: "approvals: a question may show other arguments",
    file: `${agent}/judgedSuspension.ts`,
    text: `return asks.arguments === undefined || attempt`,
    replacement: `return asks.arguments !== "" || attempt`
  },
  {
    name: "approvals: the arguments of a question are not checked",
    file: `${agent}/judgedSuspension.ts`,
    text: `!== asks.digest) return "digest"`,
    replacement: `=== "") return "digest"`
  },
  {
    name: "approvals: a suspension can be resumed at any time",
    file: `${agent}/judgedSuspension.ts`,
    text: `expires !== undefined && now > expires`,
    replacement: `expires !== undefined && now < 0`
  },
  {
    name: "approvals: claims are ignored",
    file: `${agent}/claimed.ts`,
    text: `if (claims === undefined) return Effect.undefined`,
    replacement: `if (claims === undefined || suspension.id !== "") return Effect.undefined`
  },
  {
    name: "approvals: claims that fail let a run go on",
    file: `${agent}/claimed.ts`,
    text: `refuse("it could not be claimed. Try again later")`,
    replacement: `undefined`
  },
  {
    name: "approvals: the time of an approver counts",
    file: `${agent}/answeredInPlace.ts`,
    text: `run.time.waited(Duration.toMillis(elapsed))`,
    replacement: `run.time.waited(0 * Duration.toMillis(elapsed))`
  },
  {
    name: "approvals: an approver is not asked about the check of an answer",
    file: `${agent}/loop.ts`,
    text: `run.approver === undefined || !mayBeAnswered(run, checked.outcomes)`,
    replacement: `run.approver === undefined || mayBeAnswered(run, checked.outcomes)`
  },
  {
    name: "approvals: an approval that waited too long counts",
    file: `${agent}/takenReplies.ts`,
    text: `return !isOver(asks, now) ? outcome : {`,
    replacement: `return now <= Infinity ? outcome : {`
  },
  {
    name: "approvals: what shall be done again is approved twice after a question",
    file: `${dispatch}/approvalStage.ts`,
    text: `again === undefined ? decisionOn(call,`,
    replacement: `again === null ? decisionOn(call,`
  },
  {
    name: "sessions: an interrupted call leaves no doubt",
    file: session,
    text: `onInterrupted: record`,
    replacement: `onInterrupted: undefined`
  },
  {
    name: "sessions: what another session of the scope did is not known",
    file: session,
    text: `return this.#seen < this.#known.recorded`,
    replacement: `return this.#seen > this.#known.recorded`
  },
  {
    name: "sessions: two of one scope act at once",
    file: session,
    text: `some(({ session }) => session !== this)`,
    replacement: `some(({ session }) => session === undefined)`
  },
  {
    name: "sessions: equal calls of a turn run twice",
    file: session,
    text: `isJoinable(tool)) turn.ended.push`,
    replacement: `!isJoinable(tool)) turn.ended.push`
  },
  {
    name: "sessions: a call that still runs is in no doubt",
    file: session,
    text: `outcome !== undefined && outcome.certainty !== "not_executed"`,
    replacement: `outcome !== undefined && outcome.certainty === "executed"`
  },
  {
    name: "sessions: stored facts are taken as they are",
    file: session,
    text: `if (!isFacts(facts)) return`,
    replacement: `if (facts === null) return`
  },
  {
    name: "sessions: what is decoded already is decoded again",
    file: "packages/core/src/internal/dispatch/performCall.ts",
    text: `again === undefined && decoded !== undefined`,
    replacement: `again === undefined && decoded === null`
  },
  {
    name: "sessions: no call needs an approval",
    file: session,
    text: `needed.length > 0)`,
    replacement: `needed.length < 0)`
  },
  {
    name: "results: what a failed attempt told counts",
    file: `${call}/note.ts`,
    text: `&& source === undefined && told === undefined`,
    replacement: `&& source === undefined`
  },
  {
    name: "results: the model reads the value that it is told something else for",
    file: `${call}/readIn.ts`,
    text: `told === undefined ? value : told`,
    replacement: `value`
  },
  {
    name: "client tools: those of a turn are asked one after the other",
    file: `${agent}/turnCalls.ts`,
    text: ` || tool?.client === true`,
    replacement: ``
  },
  {
    name: "client tools: words are a result",
    file: `${agent}/takenReplies.ts`,
    text: `if (question.kind === "client") {`,
    replacement: `if (question.kind === undefined) {`
  }
]
