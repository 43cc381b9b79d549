/**
 * Random histories of runs whose calls need approvals: what a model calls, what handlers do, what people reply, and what attackers
 * change. An oracle knows what people have approved, and checks each execution of a handler by it.
 */
import { assert } from "@effect/vitest"
import {
  Agent,
  type AgentFailure,
  Policy,
  SchemaMismatch,
  SemanticGarbage,
  Tool,
  ToolCall,
  Toolkit,
  ToolUnavailable,
  Transcript
} from "@fallible/core"
import type * as Answer from "@fallible/core/Answer"
import * as Approver from "@fallible/core/Approver"
import * as CallFacts from "@fallible/core/CallFacts"
import * as Claims from "@fallible/core/Claims"
import * as Question from "@fallible/core/Question"
import { ScriptedModel } from "@fallible/testing"
import { Clock, Effect, Exit, Fiber, Layer, Logger, Schema } from "effect"
import { TestClock } from "effect/testing"
import * as fc from "fast-check"
import { digestOfCall } from "../../packages/core/src/internal/dispatch/approvalStage.ts"
import { asJson, fromJson } from "./approving.ts"

// -----------------------------------------------------------------------------
// A history
// -----------------------------------------------------------------------------

const names = ["pay", "send"] as const

const people = ["Ada", "Ben"] as const

const Payment = Schema.Struct({ to: Schema.String, amount: Schema.Finite })

type Payment = typeof Payment.Type

/** Payments above this amount are rejected by a handler that rejects. */
const most = 3

const payment = fc.record({ to: fc.constantFrom(...people), amount: fc.integer({ min: 1, max: most + 1 }) })

/** How the same arguments are written. Only a fixer can read the last ones. */
const spellings: ReadonlyArray<(payment: Payment) => string> = [
  ({ amount, to }) => JSON.stringify({ to, amount }),
  ({ amount, to }) => JSON.stringify({ amount, to }),
  ({ amount, to }) => JSON.stringify({ to, amount: `${amount}` }),
  ({ amount, to }) => `{to: '${to}', amount: ${amount},}`,
  ({ amount, to }) => `${to} gets ${amount}`
]

const isReadable = ({ spelling }: Call) => spelling < spellings.length - 1

const call = fc.record({
  tool: fc.constantFrom("pay", ...names),
  payment,
  spelling: fc.nat(spellings.length - 1)
})

type Call = typeof call extends fc.Arbitrary<infer A> ? A : never

/** What an execution does, in order. */
const deeds = ["works", "works", "works", "does nothing", "refuses", "is lost", "breaks"] as const

/** How a suspension is attacked, before it has its replies. */
const attacks = [
  "none",
  "none",
  "none",
  "wrong digest",
  "wrong id",
  "a reply in words",
  "stale",
  "expired",
  "other arguments",
  "other corrected arguments",
  "another digest",
  "another digest in both places",
  "consistent",
  "questions swapped",
  "outcomes swapped",
  "all swapped",
  "a reply moved",
  "a reply of nobody",
  "another id"
] as const

const step = fc.record({
  attack: fc.constantFrom(...attacks),
  /** What is decided on the open questions, in order. */
  decisions: fc.array(fc.constantFrom("approve", "approve", "approve", "edit", "deny", "wait"), {
    minLength: 1,
    maxLength: 4
  }),
  edited: payment,
  isTwice: fc.constantFrom(false, false, false, true),
  inWords: fc.constantFrom("yes", "no", "perhaps"),
  index: fc.nat(3)
})

type Step = typeof step extends fc.Arbitrary<infer A> ? A : never

const denying: Step = {
  attack: "none",
  decisions: ["deny"],
  edited: { to: "Ada", amount: 1 },
  isTwice: false,
  inWords: "no",
  index: 0
}

export const history = fc.record({
  turns: fc.array(fc.array(call, { minLength: 1, maxLength: 4 }), { minLength: 1, maxLength: 2 }),
  runs: fc.constantFrom(1, 1, 2),
  sideEffect: fc.constantFrom("non_idempotent", "non_idempotent", "idempotent_by_key", "idempotent", "none"),
  identity: fc.constantFrom("none", "to", "all of it"),
  joins: fc.boolean(),
  fixes: fc.boolean(),
  rejects: fc.boolean(),
  retries: fc.boolean(),
  /** Payments above this amount need an approval. */
  above: fc.constantFrom(0, 0, 1),
  within: fc.boolean(),
  asks: fc.constantFrom(false, false, false, true),
  onDoubt: fc.constantFrom("refuse", "ask"),
  onDone: fc.constantFrom("refuse", "ask"),
  hasClaims: fc.boolean(),
  /** Whether somebody replies while the run waits. */
  hasApprover: fc.constantFrom(false, false, false, true),
  deeds: fc.array(fc.constantFrom(...deeds), { maxLength: 8 }),
  steps: fc.array(step, { minLength: 1, maxLength: 5 })
})

export type History = typeof history extends fc.Arbitrary<infer A> ? A : never

/** A history with each kind of attack, so that no sample lacks one. */
export const examples: ReadonlyArray<[History]> = Array.from(new Set(attacks)).flatMap((attack) =>
  [true, false].map((hasClaims): [History] => {
    const payments = [{ to: "Ada", amount: 1 }, { to: "Ben", amount: 2 }, { to: "Ada", amount: most + 1 }] as const
    const step: Step = {
      attack,
      decisions: ["wait", "edit", "approve"],
      edited: { to: "Ben", amount: most },
      isTwice: true,
      inWords: "yes",
      index: 0
    }
    return [{
      turns: [payments.map((payment, spelling) => ({ tool: "pay", payment, spelling }))],
      runs: 1,
      sideEffect: hasClaims ? "non_idempotent" : "idempotent_by_key",
      identity: "all of it",
      joins: true,
      fixes: false,
      rejects: true,
      retries: true,
      above: 0,
      within: true,
      asks: false,
      onDoubt: "refuse",
      onDone: "refuse",
      hasClaims,
      hasApprover: false,
      deeds: ["does nothing"],
      steps: [step, { ...step, decisions: ["deny", "approve"] }, { ...step, decisions: ["approve"] }]
    }]
  })
)

/** One turn of many calls. */
export const batch: fc.Arbitrary<History> = fc.record({
  one: history,
  calls: fc.array(call, { minLength: 1, maxLength: 8 })
}).map(({ calls, one }) => ({ ...one, turns: [calls], runs: 1 }))

// -----------------------------------------------------------------------------
// A world
// -----------------------------------------------------------------------------

/** One execution of a handler. */
interface Execution {
  readonly call: string
  readonly tool: string
  readonly payment: Payment
  readonly deed: (typeof deeds)[number] | "rejects"
  readonly key: string
  /** The number of the process. */
  readonly process: number
}

const failures = {
  "does nothing": new ToolUnavailable({ code: "busy", detail: "Busy.", transient: true, outcome: "not_executed" }),
  "refuses": new SemanticGarbage({ code: "declined", detail: "Declined.", outcome: "not_executed" }),
  "is lost": new ToolUnavailable({ code: "connection", detail: "Reset.", transient: true }),
  "rejects": new SchemaMismatch({ side: "arguments", code: "too_much", detail: "Too much." })
}

/** What a fixer makes of rejected arguments: the payment that was written in words, or one that is less. */
const fixed = ({ text }: { readonly text: string }) => {
  const amount = Number(/\d+/.exec(text)?.[0] ?? 1)
  return { to: /Ben/.test(text) ? "Ben" : "Ada", amount: amount > most ? amount - 1 : amount }
}

const worldOf = (one: History) => {
  const executions: Array<Execution> = []
  const remaining = [...one.deeds]
  const processes = { count: 0 }
  const { sideEffect } = one
  const identity = one.identity === "to"
    ? { identity: ({ to }: Payment) => to }
    : one.identity === "all of it" || sideEffect === "idempotent_by_key"
    ? { identity: "all" } as const
    : {}
  const toolNamed = (name: (typeof names)[number]) => {
    const made = Tool.make(
      name,
      { description: "", parameters: Payment, success: Schema.String, sideEffect, joins: one.joins, ...identity },
      (payment) =>
        Effect.gen(function*() {
          if (one.asks) yield* ToolCall.ask("Are you sure?")
          const { id: call, idempotencyKey: key } = yield* ToolCall.current
          const deed = one.rejects && payment.amount > most ? "rejects" : remaining.shift() ?? "works"
          const number = executions.push({ call, tool: name, payment, deed, key, process: processes.count })
          if (deed === "breaks") throw new TypeError("A bug.")
          return deed === "works" ? `did ${number}` : yield* failures[deed]
        })
    ).pipe(Tool.approve(({ amount }) => amount > one.above, one.within ? { within: "1 minute" } : {}))
    return one.fixes ? Tool.fix(made, fixed) : made
  }
  const agent = Agent.make({
    toolkit: Toolkit.make(toolNamed("pay"), toolNamed("send")),
    onDoubt: one.onDoubt,
    onDone: one.onDone,
    ...(one.retries ? { policies: Policy.standard() } : {})
  })
  return { agent, executions, processes }
}

const modelOf = ({ turns }: History) =>
  ScriptedModel.layer(({ messages }) => {
    const asked = messages.findLastIndex(({ role }) => role === "user")
    const turn = turns[messages.slice(asked).filter(({ role }) => role === "assistant").length]
    return turn === undefined
      ? ScriptedModel.text("Done.")
      : {
        text: "",
        calls: turn.map(({ payment, spelling, tool }, index) => ({
          id: `${index}`,
          name: tool,
          arguments: spellings[spelling]!(payment)
        }))
      }
  })

// -----------------------------------------------------------------------------
// What people have approved
// -----------------------------------------------------------------------------

/** What a person has approved: these arguments, for this call. */
interface Approved {
  readonly call: string
  readonly payment: Payment
  /** Whether it was approved to do it again. */
  readonly isAgain: boolean
}

/** What is known of one way through a history. */
interface Known {
  readonly approved: ReadonlyArray<Approved>
  readonly executed: ReadonlyArray<Execution>
  readonly given: ReadonlyArray<Question.Reply>
}

const isSame = (one: Payment, other: Payment) => one.to === other.to && one.amount === other.amount

const callOf = ({ id }: Question.Question) => id.replace(/\/question\/\d+$/, "")

const paymentIn = (question: Question.Question): Payment =>
  Schema.decodeUnknownSync(Payment)(JSON.parse(question.arguments ?? assert.fail("Nothing is shown.")))

/** Checks a question against what the model wrote. */
const checkQuestion = (one: History, { approved }: Known, question: Question.Question): void => {
  const place = /\/turn\/(\d+)\/call\/(\d+)\//.exec(question.id)
  const planned = one.turns[Number(place?.[1]) - 1]?.[Number(place?.[2]) - 1] ?? assert.fail(question.id)
  assert.strictEqual(question.tool, planned.tool)
  if (question.kind !== "approval") return
  const shown = paymentIn(question)
  if (one.sideEffect === "idempotent_by_key") return
  const isWritten = (amount: number) => isSame(shown, { ...planned.payment, amount })
  const isOwn = isWritten(planned.payment.amount) || one.fixes && isWritten(planned.payment.amount - 1)
  const isEdited = approved.some(({ call, payment }) =>
    call === callOf(question) &&
    (isSame(payment, shown) || one.fixes && isSame({ ...payment, amount: payment.amount - 1 }, shown))
  )
  assert.isTrue(isOwn || isEdited, `${question.text} was not what was written`)
}

const runIn = ({ call }: Execution) => call.split("/")[0]

// True if an earlier run has done the same, and this one has not. What is in doubt is sent again under its key.
const isDoneBefore = (one: History, executed: ReadonlyArray<Execution>, execution: Execution): boolean => {
  // With an identity that leaves out the amount, another payment may have been the one to do again.
  if (one.sideEffect === "none" || one.sideEffect === "idempotent" || one.identity === "to") return false
  const toTheSame = executed.filter(({ payment: { to }, tool }) =>
    tool === execution.tool && to === execution.payment.to
  )
  if (toTheSame.some(({ deed }) => deed === "is lost" || deed === "breaks")) return false
  const done = toTheSame.filter(({ deed, payment }) => deed === "works" && isSame(payment, execution.payment))
  return done.length > 0 && done.every((other) => runIn(other) !== runIn(execution))
}

/** Adds executions. Each of them has an approval of its own, unless it is a retry below the model. */
const withExecutions = (
  one: History,
  { approved, executed, given }: Known,
  latest: ReadonlyArray<Execution>,
  seen: Seen,
  isStopped: boolean
): Known =>
  latest.reduce(({ executed }: Known, execution) => {
    const { call, payment } = execution
    const isOf = (other: Pick<Approved, "call" | "payment">) => other.call === call && isSame(other.payment, payment)
    const approvals = approved.filter(isOf).length
    const isNeeded = payment.amount > one.above
    if (isNeeded) assert.isAtLeast(approvals, 1, `${call} ran with ${JSON.stringify(payment)}, which nobody approved`)
    if (isDoneBefore(one, executed, execution)) {
      const isWanted = one.onDone === "ask" && approved.some((decision) => isOf(decision) && decision.isAgain)
      assert.isTrue(isWanted, `${call} did again what nobody wanted again`)
      seen("done again")
    }
    const before = executed.filter(isOf)
    // Only what certainly did nothing, or does nothing if it is done twice, is retried below the model.
    const isSafe = one.sideEffect !== "non_idempotent"
    const retried = [...before, execution].filter(({ process }, index, all) => {
      const earlier = all[index - 1]
      return earlier !== undefined && (one.retries || isStopped) && (earlier.process === process || isStopped) &&
        (earlier.deed === "does nothing" || isSafe && (earlier.deed === "is lost" || isStopped))
    })
    if (retried.length > 0) seen("retried below the model")
    const times = before.length + 1 - retried.length
    assert.isAtMost(times, Math.max(1, approvals), `${call} ran twice with one approval`)
    return { approved, given, executed: [...executed, execution] }
  }, { approved, executed, given })

// -----------------------------------------------------------------------------
// What the model is told
// -----------------------------------------------------------------------------

/** Checks that each call has one result, in order, and that the results of calls that ran are theirs. */
export const checkResults = (
  one: History,
  { transcript }: Pick<Answer.Answer, "transcript">,
  executions: ReadonlyArray<Execution>,
  executed: ReadonlyArray<Execution>,
  seen: Seen,
  isStopped: boolean
): void => {
  const messages = Transcript.toArray(transcript)
  let turn = 0
  for (const [index, message] of messages.entries()) {
    if (message.role !== "assistant" || message.calls.length === 0) continue
    const run = Math.floor(turn / one.turns.length) + 1
    const place = `run ${run}/turn/${turn % one.turns.length + 1}`
    turn++
    const planned = one.turns[(turn - 1) % one.turns.length]!
    assert.strictEqual(message.calls.length, planned.length)
    const results = messages.slice(index + 1, index + 1 + planned.length).map((result) =>
      result.role === "tool" ? result : assert.fail(`${result.role} is between the calls and their results`)
    )
    assert.deepStrictEqual(results.map(({ callId }) => callId), message.calls.map(({ id }) => id))
    assert.notStrictEqual(messages[index + 1 + planned.length]?.role, "tool")
    for (const [at, { text }] of results.entries()) {
      const own = executed.findLast(({ call }) => call === `${place}/call/${at + 1}`)
      const told = Number(/did (\d+)/.exec(text)?.[1])
      // A process that stops may lose a result.
      if (own?.deed === "works" && !isStopped) {
        assert.strictEqual(executions[told - 1], own, `${place} lost the result of call ${at + 1}`)
      } else if (!isStopped && !text.includes("already")) {
        // The result of an equal call of the same turn, or none.
        const other = executions[told - 1]
        if (other !== undefined) assert.isTrue(other.call.startsWith(`${place}/`), `${text} is of another turn`)
      }
      if (text.includes("not_approved")) seen("told of a denial")
      assert.notInclude(text, "Waiting for the user")
    }
  }
}

// -----------------------------------------------------------------------------
// Attacks
// -----------------------------------------------------------------------------

/** What attacks change of a stored suspension. */
interface Stored {
  id: string
  questions: Array<StoredQuestion>
  reply: { calls: Array<{ name: string; arguments: string }> }
  outcomes: Array<{
    _tag: string
    id: string
    asks: StoredQuestion
    arguments?: string
    question: string
    replies: Array<object>
  }>
}

interface StoredQuestion {
  id: string
  arguments: string
  digest: string
}

// What was decoded has all that an attack reads.
const asStored = (json: unknown) => json as Stored

/** Changes a stored suspension. Returns `false` if it has nothing to change. */
const changes = {
  "other arguments": ({ outcomes, reply }, at, { other }) => {
    delete outcomes[at]!.arguments
    reply.calls[at]!.arguments = JSON.stringify(other)
    return true
  },
  "other corrected arguments": ({ outcomes }, at, { other }) => {
    outcomes[at]!.arguments = JSON.stringify(other)
    return true
  },
  "another digest": ({ questions }, _, { asked, digest }) => {
    questions[asked]!.digest = digest
    return true
  },
  "another digest in both places": ({ outcomes, questions }, at, { asked, digest }) => {
    questions[asked]!.digest = outcomes[at]!.asks.digest = digest
    return true
  },
  "consistent": ({ outcomes, questions, reply }, at, { asked, digest, other }) => {
    delete outcomes[at]!.arguments
    reply.calls[at]!.arguments = JSON.stringify(other)
    for (const question of [questions[asked]!, outcomes[at]!.asks]) {
      Object.assign(question, { digest, arguments: JSON.stringify(other) })
    }
    return true
  },
  "questions swapped": (stored) => {
    stored.questions = stored.questions.toReversed()
    return stored.questions.length > 1
  },
  "outcomes swapped": (stored) => {
    stored.outcomes = stored.outcomes.toReversed()
    return stored.questions.length > 1
  },
  "all swapped": (stored) => {
    stored.questions = stored.questions.toReversed()
    stored.outcomes = stored.outcomes.toReversed()
    return stored.questions.length > 1
  },
  "a reply moved": ({ outcomes }, at) => {
    const other = outcomes.find(({ _tag, replies }, index) =>
      _tag === "Suspended" && index !== at && replies.length > 0
    )
    if (other === undefined) return false
    outcomes[at]!.replies.push(...other.replies)
    return true
  },
  "a reply of nobody": ({ outcomes, questions }, at, { asked }) => {
    const { asks: { digest, id: to }, id, question, replies } = outcomes[at]!
    replies.push({ id, question, reply: "yes", to, decided: { approved: true, digest } })
    questions.splice(asked, 1)
    return questions.length > 0
  },
  "another id": (stored) => {
    stored.id = "other"
    return true
  }
} satisfies Record<
  string,
  (
    stored: Stored,
    at: number,
    target: { readonly asked: number; readonly other: Payment; readonly digest: string }
  ) => boolean
>

const isChange = (attack: string): attack is keyof typeof changes => Object.hasOwn(changes, attack)

/** Changes a stored suspension; returns `undefined` if there is nothing to change. */
const changedBy = (
  attack: keyof typeof changes,
  tools: ReadonlyMap<string, Tool.Any>,
  suspension: AgentFailure.Suspension,
  index: number
): unknown => {
  const open = suspension.questions.filter(({ kind }) => kind === "approval")
  const question = open[index % open.length]
  if (question === undefined) return undefined
  const asked = suspension.questions.indexOf(question)
  const at = suspension.outcomes.findIndex((outcome) => outcome._tag === "Suspended" && outcome.asks.id === question.id)
  const other = { to: "Eve", amount: 900 }
  const tool = tools.get(question.tool) ?? assert.fail(question.tool)
  const { again } = question
  const digest = digestOfCall(tool, { params: other, text: JSON.stringify(other), again })
  const json = asJson(suspension)
  return changes[attack](asStored(json), at, { asked, other, digest }) ? json : undefined
}

// -----------------------------------------------------------------------------
// A play
// -----------------------------------------------------------------------------

/** Counts what the histories of a sample have had. */
export type Seen = (what: string) => void

type Run = Effect.Effect<Answer.Answer, AgentFailure.AgentFailure>

type Ended = Exit.Exit<Answer.Answer, AgentFailure.AgentFailure>

/** Lets time pass until an Effect has ended. */
const inTime = <A, E>(self: Effect.Effect<A, E>) =>
  Effect.gen(function*() {
    const fiber = yield* Effect.forkChild(self, { startImmediately: true })
    while (fiber.pollUnsafe() === undefined) yield* TestClock.adjust("10 seconds")
    return yield* Fiber.join(fiber)
  })

const failureOf = (ended: Ended): AgentFailure.AgentFailure | undefined => {
  if (Exit.isSuccess(ended)) return undefined
  const [reason] = ended.cause.reasons
  return reason?._tag === "Fail" ? reason.error : assert.fail(String(ended.cause))
}

/** How a history is played. */
export interface Playing {
  /** Whether suspensions are attacked, and resumed twice. */
  readonly isAttacked: boolean
  /** Runs a part of a run; its processes may stop. */
  readonly within: (run: Run) => Effect.Effect<Ended>
  /** Whether processes may stop. */
  readonly stops: boolean
}

export const atOnce: Playing = { isAttacked: true, within: Effect.exit, stops: false }

/** Plays a history, and checks each execution and each result. */
export const play = (one: History, seen: Seen, { isAttacked, stops, within }: Playing = atOnce) =>
  Effect.gen(function*() {
    const world = worldOf(one)
    const { agent, executions, processes } = world
    const tools = new Map<string, Tool.Any>(
      names.map((name) => [
        name,
        { name, parameters: Payment, ...(one.identity === "to" ? { identity: ({ to }: Payment) => to } : {}) } as never
      ])
    )
    const model = modelOf(one)
    let steps = 0
    // Who changes arguments again and again to those that are rejected would never end.
    const nextStep = (): Step => steps < 15 ? one.steps[steps++ % one.steps.length]! : denying

    // Runs a part of a run, and adds what it has executed, and what was approved meanwhile.
    const part = (known: Known, run: ReturnType<typeof agent.resume>) =>
      Effect.gen(function*() {
        const begun = executions.length
        const approved = [...known.approved]
        const given = [...known.given]
        processes.count++
        const approver = Approver.layer((questions) =>
          Effect.map(Clock.currentTimeMillis, (now) => {
            const step = nextStep()
            if (step.inWords === "no") return []
            for (const question of questions) checkQuestion(one, { ...known, approved }, question)
            const replies = repliesTo(step, questions)
            approved.push(...approvedBy(questions, replies, now))
            given.push(...replies)
            seen("replies in place")
            return replies
          })
        )
        const layer = one.hasApprover ? Layer.merge(model, approver) : model
        const ended = yield* inTime(within(Effect.provide(run, layer)))
        const after = withExecutions(one, { ...known, approved, given }, executions.slice(begun), seen, stops)
        return { ended, known: after }
      })

    // Resumes with what must be refused, before anything runs.
    const refused = (what: string, suspension: AgentFailure.Suspension, replies: ReadonlyArray<Question.Reply>) =>
      Effect.gen(function*() {
        const begun = executions.length
        const ended = yield* inTime(Effect.exit(Effect.provide(agent.resume(suspension, replies), model)))
        const failure = failureOf(ended)
        if (failure?._tag !== "RunRefused") return assert.fail(`${what}: ${failure?._tag}`)
        // What was shown is not what is consistent now.
        if (what === "consistent") assert.match(failure.issues[0]?.path.join(".") ?? "", /^replies\.\d+\.digest$/)
        assert.strictEqual(executions.length, begun, `${what} ran something`)
        seen(what)
      })

    const attack = ({ attack, index }: Step, { given }: Known, suspension: AgentFailure.Suspension) =>
      Effect.gen(function*() {
        const approvals = suspension.questions.map((question) =>
          question.kind === "approval" ? Question.approve(question) : Question.reply(question, "yes")
        )
        const open = approvals.findIndex((reply) => "digest" in reply)
        const approval = approvals[open]
        if (isChange(attack)) {
          const changed = changedBy(attack, tools, suspension, index)
          if (changed === undefined) return
          const decoded = yield* Effect.exit(Effect.suspend(() => Effect.sync(() => fromJson(changed))))
          if (Exit.isSuccess(decoded)) yield* refused(attack, decoded.value, approvals)
          else seen(attack)
          return
        }
        if (approval === undefined || !("digest" in approval)) return
        if (attack === "wrong digest") {
          yield* refused(attack, suspension, approvals.with(open, { ...approval, digest: `${approval.digest}0` }))
          const other = approvals.find((reply) => "digest" in reply && reply.digest !== approval.digest)
          if (other !== undefined && "digest" in other) {
            yield* refused("the digest of another call", suspension, [{ ...approval, digest: other.digest }])
          }
        }
        if (attack === "wrong id") yield* refused(attack, suspension, [{ ...approval, id: `${approval.id}0` }])
        if (attack === "a reply in words") yield* refused(attack, suspension, [{ id: approval.id, reply: "yes" }])
        const earlier = given.find(({ id }) => suspension.questions.every((question) => question.id !== id))
        if (attack === "stale" && earlier !== undefined) yield* refused(attack, suspension, [earlier])
      })

    const repliesTo = ({ decisions, edited, inWords }: Step, questions: ReadonlyArray<Question.Question>) => {
      const replies = questions.flatMap((question, index): ReadonlyArray<Question.Reply> => {
        if (question.kind !== "approval") return [Question.reply(question, question.kind === "doubt" ? inWords : "yes")]
        const decision = decisions[index % decisions.length]
        if (decision === "approve") return [Question.approve(question, { by: "Grace" })]
        if (decision === "edit") return [Question.approve(question, { arguments: { ...edited } })]
        return decision === "deny" ? [Question.deny(question, { reason: "No." })] : []
      })
      if (replies.length < questions.length) seen("partly answered")
      return replies.length > 0 ? replies : questions.slice(0, 1).map((question) => Question.deny(question))
    }

    // What replies approve, if they come in time.
    const approvedBy = (
      questions: ReadonlyArray<Question.Question>,
      replies: ReadonlyArray<Question.Reply>,
      now: number
    ): ReadonlyArray<Approved> =>
      replies.flatMap((reply) => {
        const question = questions.find(({ id }) => id === reply.id) ?? assert.fail(reply.id)
        if (!("approved" in reply)) return []
        const isLate = question.expires !== undefined && now > question.expires
        seen(isLate ? "too late" : !reply.approved ? "denied" : reply.arguments === undefined ? "approved" : "edited")
        if (!reply.approved || isLate) return []
        const payment = reply.arguments === undefined
          ? paymentIn(question)
          : Schema.decodeUnknownSync(Payment)(reply.arguments)
        return [{
          call: callOf(question),
          payment,
          isAgain: question.again !== undefined && reply.arguments === undefined
        }]
      })

    const goOn = (
      known: Known,
      suspension: AgentFailure.Suspension
    ): Effect.Effect<{ readonly ended: Ended; readonly known: Known }> =>
      Effect.gen(function*() {
        const step = nextStep()
        const { questions } = suspension
        for (const question of questions) checkQuestion(one, known, question)
        if (isAttacked) yield* attack(step, known, suspension)
        if (step.attack === "expired" && one.within) yield* TestClock.adjust("2 minutes")
        const replies = repliesTo(step, questions)
        const now = yield* Clock.currentTimeMillis
        const decided = {
          ...known,
          approved: [...known.approved, ...approvedBy(questions, replies, now)],
          given: [...known.given, ...replies]
        }
        const { ended, known: after } = yield* part(decided, agent.resume(suspension, replies))
        if (step.isTwice && isAttacked) yield* again(decided, suspension, replies)
        return yield* ending(after, ended)
      })

    // The same replies once more. Only those that the claims or the scope do not refuse run.
    const again = (known: Known, suspension: AgentFailure.Suspension, replies: ReadonlyArray<Question.Reply>) =>
      Effect.gen(function*() {
        const begun = executions.length
        const { ended } = yield* part(known, agent.resume(suspension, replies))
        const isRefused = failureOf(ended)?._tag === "RunRefused"
        if (one.hasClaims) assert.isTrue(isRefused, "It was resumed twice")
        if (isRefused) assert.strictEqual(executions.length, begun)
        seen(isRefused ? "a second resume that is refused" : "a second resume that runs")
        // An identity that leaves out the amount gives one key to several payments: then it also counts how each of them ended.
        if (one.sideEffect !== "idempotent_by_key" || one.identity === "to") return
        // A service acts once under a key, so equal calls act no more often than if they had been resumed once.
        const acted = executions.filter(({ deed }) => deed === "works" || deed === "is lost" || deed === "breaks")
        for (const { payment, tool } of acted) {
          const equal = acted.filter((other) => other.tool === tool && isSame(other.payment, payment))
          const [keys, calls] = [new Set(equal.map(({ key }) => key)), new Set(equal.map(({ call }) => call))]
          assert.isAtMost(keys.size, calls.size, `${JSON.stringify(payment)} was sent under more keys than calls`)
        }
      })

    const ending = (known: Known, ended: Ended): Effect.Effect<{ readonly ended: Ended; readonly known: Known }> => {
      const failure = failureOf(ended)
      if (failure?._tag === "RunSuspended") return goOn(known, fromJson(asJson(failure.suspension)))
      if (failure !== undefined) assert.fail(`${failure._tag}: ${failure.detail}`)
      return Effect.succeed({ ended, known })
    }

    const answers: Array<Answer.Answer> = []
    let known: Known = { approved: [], executed: [], given: [] }
    const count = stops ? 1 : one.runs
    for (let number = 1; number <= count; number++) {
      const before = answers.at(-1)
      // A process knows the runs of its scopes, and refuses one that comes again.
      const scope = stops
        ? {}
        : before === undefined
        ? { scope: "scope", facts: CallFacts.empty }
        : { scope: "scope", facts: before.facts, transcript: before.transcript }
      const first = yield* part(known, agent.run("Go.", { id: `run ${number}`, ...scope }))
      const last = yield* ending(first.known, first.ended)
      if (Exit.isSuccess(last.ended)) answers.push(last.ended.value)
      known = last.known
    }
    if (executions.some(({ deed }) => deed === "rejects")) seen("a handler's rejection")
    if (one.fixes && one.turns.some((turn) => turn.some((call) => !isReadable(call)))) seen("a fixer's text")
    const answer = answers.at(-1)
    if (answer !== undefined) checkResults(one, answer, executions, known.executed, seen, stops)
  }).pipe(
    Effect.provide(one.hasClaims && isAttacked ? Claims.layerMemory : Layer.empty),
    Effect.provide(Logger.layer([])),
    Effect.provide(TestClock.layer())
  )
