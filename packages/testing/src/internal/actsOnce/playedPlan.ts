/*
 * Plays one plan of a check: an agent with the tool, a scripted model, and the fake service.
 */
import { Agent, type AgentFailure, Observer, type Tool, ToolCall, Toolkit } from "@fallible/core"
import type * as Answer from "@fallible/core/Answer"
import * as Journal from "@fallible/core/Journal"
import * as Rendering from "@fallible/core/Rendering"
import * as Cause from "effect/Cause"
import * as Deferred from "effect/Deferred"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Logger from "effect/Logger"
import * as Option from "effect/Option"
import * as Random from "effect/Random"
import type * as Stream from "effect/Stream"
import { TestClock } from "effect/testing"
import type { Options } from "../../ActsOnce.ts"
import * as ScriptedModel from "../../ScriptedModel.ts"
import { differences } from "./otherWords.ts"
import type { Again, Plan, Stop } from "./plan.ts"
import { maxAtOnce, type SeenKeys, Service } from "./plannedService.ts"
import { heard, Process, type Written } from "./playedProcess.ts"
import { PlayedSequence, type WronglyTold } from "./playedSequence.ts"
import { passTime, passTimeUntilDone } from "./virtualTime.ts"

/** A check, and the arguments that its model uses in turn. */
export interface Game<T extends Tool.Any, R, Provided> {
  readonly options: Options<T, R, Provided>
  /** The spellings that the user gave. */
  readonly spellings: ReadonlyArray<object>
  /** The spellings in other words, if a plan has them. */
  readonly words: ReadonlyArray<object>
  /** Whether the tool's `identity` ignores that the words are other ones. */
  readonly ignoresWords: boolean
}

export interface Played {
  readonly plan: Plan
  readonly tool: Tool.Any
  readonly acted: number
  readonly sequence: ReadonlyArray<string>
  /** The first result that the model received. */
  readonly told: string
  /** What the service answered after it last acted. */
  readonly answered: unknown
  /** The first request that found nothing. */
  readonly nothingFound: string | undefined
  /** What the service has seen of idempotency keys. */
  readonly keys: SeenKeys
  readonly ignoresWords: boolean
  /** The first error that a function of the options threw. */
  readonly mistake: string | undefined
  /** The first defect that was reported, or a question that nobody answered. */
  readonly defect: string | undefined
  /** What the tool did, if it did not come to an end. */
  readonly unended: string | undefined
  /** Whether a check of the tool has found out what happened. */
  readonly hasSettled: boolean
  /** Why a check of the tool failed, though it was answered. */
  readonly failedLook: string | undefined
  /** A call that was told as not executed, although its service had acted. */
  readonly wronglyTold: WronglyTold | undefined
  /** Whether the model received a success. */
  readonly isDone: boolean
  /** Whether the call was in doubt at the end. */
  readonly isInDoubt: boolean
}

/** How many questions a tool may ask. A tool that does not take the reply asks for ever. */
const maxQuestions = 100

const replyTo = (question: string, reply: Options<Tool.Any>["reply"]): string => {
  const text: unknown = typeof reply === "function" ? reply(question) : reply
  if (typeof text !== "string") {
    throw new TypeError(`A reply must be a string; got ${text === null ? "null" : typeof text}.`)
  }
  return text
}

// Names the jobs of this process. Two jobs of one name would share what the library remembers of a scope.
let jobs = 0

export const play = <T extends Tool.Any, R, Provided>(
  { ignoresWords, options, spellings, words }: Game<T, R, Provided>,
  plan: Plan
): Effect.Effect<Played, never, Exclude<Tool.Requirements<T> | R, Provided>> =>
  Effect.gen(function*() {
    const { again, calls = Infinity, isReworded, repeatsSuccess, stop, twice, variant = 0 } = plan
    const sequence = new PlayedSequence()
    const lateBy = Duration.toMillis(lateByOf(options))
    const settings = { ...options, goesByKeys: options.keys === "honoured", lateBy }
    const service = new Service({ ...plan, variant }, settings, sequence)
    const fake = yield* service.made
    const tool = options.tool(fake)
    if (options.keys === undefined) service.goesByKeys = tool.sideEffect === "idempotent_by_key"
    const successes = new Set<string>()
    const isSuccess = (text: string) => successes.has(text)
    // A process remembers nothing of the one before it.
    const newAgent = () =>
      Agent.make({
        toolkit: Toolkit.make(options.tool(fake)),
        policies: options.policies ?? [],
        limits: { turns: 20, elapsed: "1 hour" },
        rendering: (outcome, call) => {
          const text = Rendering.json(outcome, call)
          if (outcome._tag === "Completed") successes.add(text)
          return text
        }
      })
    type NewAgent = ReturnType<typeof newAgent>
    const results: Array<string> = []
    const nextCall = callsInTurn(isReworded || twice === "reworded" ? words : spellings)
    const script: ScriptedModel.Script = ({ messages }) => {
      const run = messages.slice(messages.findLastIndex(({ role }) => role === "user") + 1)
      results.splice(0, Infinity, ...run.flatMap((message) => message.role === "tool" ? [message.text] : []))
      const turns = run.filter(({ role }) => role === "assistant").length
      const success = results.findIndex(isSuccess)
      const isDone = success === -1
        ? turns >= Math.min(options.calls ?? 3, calls)
        : !repeatsSuccess || success < results.length - 1
      if (isDone) return ScriptedModel.text("Done.")
      const { args, other } = nextCall()
      const changed = other === "" ? "" : `, ${other}`
      const how = success >= 0 ? ` again after its success${changed}` : changed === "" ? "" : ` again${changed}`
      const called = `The model calls ${tool.name}${how}.`
      if (twice === undefined) {
        sequence.announce([called])
        return ScriptedModel.call(tool.name, args)
      }
      const second = twice === "reworded" ? nextCall() : { args: twice === "same" ? args : reordered(args), other: "" }
      sequence.announce([called, secondCalls[twice](second.other)])
      return ScriptedModel.calls([tool.name, args], [tool.name, second.args])
    }
    const { reply } = options
    let question: string | undefined
    let questions = 0
    const answered = (
      process: Process,
      agent: NewAgent,
      events: ReturnType<NewAgent["stream"]>
    ): Effect.Effect<Answer.Answer | undefined, AgentFailure.AgentFailure, Stream.Services<typeof events>> =>
      Effect.flatMap(heard(process, events), (last) => {
        if (last?._tag === "RunPostponed") return Effect.fail(last.waiting)
        if (last?._tag !== "RunSuspended") return Effect.succeed(last?._tag === "RunEnded" ? last.answer : undefined)
        const { waiting } = last
        question ??= waiting.question
        if (reply === undefined || ++questions > maxQuestions) return Effect.fail(waiting)
        const text = service.asked("reply", () => replyTo(waiting.question, reply))
        process.questions++
        return answered(process, agent, agent.resumeStream(waiting.suspension, text))
      })
    const run = (process: Process, begun: Agent.RunOptions = {}) =>
      Effect.suspend(() => {
        const agent = newAgent()
        const layer = options.layer?.(fake)
        const running = Effect.exit(answered(process, agent, agent.stream("Go.", begun))).pipe(
          Effect.provide(ScriptedModel.layer(script)),
          Effect.provideService(Journal.current, process),
          Effect.provideService(ToolCall.baseFetch, fake.fetch)
        )
        return layer === undefined ? asProvided<Provided>()(running) : Effect.provide(running, layer)
      })
    const id = `job ${++jobs}`
    const job = Effect.gen(function*() {
      const stopped = yield* Deferred.make<void>()
      const begin = (name: string, journal: Written = new Map(), stop?: Stop) =>
        new Process({ name, id, journal, stop, stopped, sequence })
      if (again !== undefined) {
        const named = again === "delivered_again" ? { id } : undefined
        const first = yield* run(begin("first"), named)
        const next = named ?? (results.some(isSuccess) ? undefined : keptOf(first, again))
        if (next === undefined) return first
        sequence.tell(secondRuns[again])
        const second = yield* run(begin("second"), next)
        // A run without the facts of its transcript is refused, which is safe.
        return again === "with_transcript" && isRefused(second) ? first : second
      }
      const journal: Written = new Map()
      const exit = yield* Effect.raceFirst(
        run(begin("only", journal, stop)),
        Effect.as(Deferred.await(stopped), undefined)
      )
      // The second process continues from the steps that the first has recorded.
      return exit ?? (yield* run(begin("only", journal)))
    })
    let defect: string | undefined
    const reporter: NonNullable<Observer.Observer["onDefect"]> = (message, cause) =>
      Effect.sync(() => {
        defect ??= `${message}: ${String(Cause.squash(cause))}`
      })
    const done = yield* passTimeUntilDone(
      Observer.observe(job, { onDefect: reporter }),
      () => service.isFlooded
    )
    // Lets the service finish what it still has to do.
    for (let time = 0; time < lateBy; time += lateBy / 4) yield* passTime(Math.ceil(lateBy / 2))
    const facts = done === undefined ? undefined : endOf(done)?.facts
    return {
      plan,
      tool,
      acted: service.acted,
      sequence: sequence.linesWithTold,
      wronglyTold: sequence.wronglyTold,
      hasSettled: sequence.hasSettled,
      failedLook: plan.refusesToRead ? undefined : sequence.failedLook,
      told: results[0] ?? "",
      answered: service.answered,
      nothingFound: service.nothingFound,
      keys: { ...service.keys, ignored: service.keys.ignored && options.keys === undefined },
      ignoresWords,
      mistake: service.mistake,
      defect: question === undefined || reply !== undefined
        ? defect
        : `It asked the user, so set the option 'reply'. The question: ${question}`,
      unended: service.isFlooded
        ? `it sent ${maxAtOnce.toLocaleString("en")} requests while no time passed`
        : questions > maxQuestions
        ? `it asked the user more than ${maxQuestions} times: ${question}`
        : done === undefined
        ? "it was still running after 3 hours of virtual time"
        : undefined,
      isDone: results.some(isSuccess),
      isInDoubt: Array.from(facts?.intents ?? []).some(([, { failed }]) => failed?.certainty === "unknown")
    }
  }).pipe(
    Random.withSeed("acts once"),
    Observer.observe({ onLateResult: () => Effect.void }),
    Effect.provide(Logger.layer([])),
    // The test clock warns if time does not pass. Here, time does pass, and a long wait for the warning would
    // delay the check.
    Effect.provide(TestClock.layer({ warningDelay: "1 millis" }))
  )

// Returns the spellings in turn, and says how each differs from the one before.
const callsInTurn = (spellings: ReadonlyArray<object>) => {
  let made = 0
  let before: object | undefined
  return () => {
    const args = spellings[made++ % spellings.length] ?? {}
    const changes = differences(before ?? args, args)
    before = args
    return { args, other: changes === "" ? "" : `in other words: ${changes}` }
  }
}

const secondCalls: Readonly<Record<NonNullable<Plan["twice"]>, (other: string) => string>> = {
  same: () => "The provider sends the call twice.",
  reordered: () => "The provider sends the call twice, with its arguments in another order.",
  reworded: (other) => `The model makes the call twice in this turn, ${other}.`
}

const reordered = (args: object): object => Object.fromEntries(Object.entries(args).toReversed())

const secondRuns: Readonly<Record<Again, string>> = {
  delivered_again: "The job is delivered again.",
  with_facts: "The program runs the agent again, with its facts.",
  with_facts_and_transcript: "The program runs the agent again, with its facts and its transcript.",
  with_transcript: "The program runs the agent again, with its transcript, but without its facts."
}

/** How a run ended; without an answer, if nothing was heard of its end. */
type End = Exit.Exit<Answer.Answer | undefined, AgentFailure.AgentFailure>

// Both an answer and a failure have the facts and the transcript.
const endOf = (end: End) => Exit.isSuccess(end) ? end.value : Option.getOrUndefined(Exit.findErrorOption(end))

const isRefused = (end: End): boolean =>
  Exit.isFailure(end) && Option.exists(Exit.findErrorOption(end), ({ _tag }) => _tag === "RunRefused")

// Returns what a program has kept of a run for the next one.
const keptOf = (end: End, again: Again): Agent.RunOptions | undefined => {
  const ended = endOf(end)
  if (ended === undefined) return undefined
  const { facts, transcript } = ended
  return { ...(again === "with_transcript" ? {} : { facts }), ...(again === "with_facts" ? {} : { transcript }) }
}

// Without a layer, no services are provided.
const asProvided = <Provided>() => <A, E, R>(effect: Effect.Effect<A, E, R>) =>
  effect as Effect.Effect<A, E, Exclude<R, Provided>>

export const lateByOf = ({ lateBy = "1 minute" }: Pick<Options<Tool.Any>, "lateBy">): Duration.Duration =>
  Duration.fromInputUnsafe(lateBy)
