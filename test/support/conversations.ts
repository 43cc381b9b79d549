/**
 * Conversations: a user wants some effects, a model calls tools for them over real HTTP, their service has faults, users
 * leave and come back, processes stop, and people find out what became of a call. Virtual time passes only while the
 * network is idle.
 *
 * No effect may happen more often than it is meant. It is also counted how often the effects that are meant happen, since
 * a library that closes every tool would do nothing twice.
 *
 * Two limits are no faults. Who does one thing with two tools does it twice. Without an identity, a call with another note
 * is another effect once the first call has its answer.
 */
import { Agent, AgentFailure, Policy, Transcript } from "@fallible/core"
import type * as Answer from "@fallible/core/Answer"
import * as CallFacts from "@fallible/core/CallFacts"
import * as Journal from "@fallible/core/Journal"
import { Effect, Exit, Result, Schedule, Schema } from "effect"
import { FetchHttpClient } from "effect/http"
import * as fc from "fast-check"
import {
  isSuccess,
  type Move,
  notes,
  resultsIn,
  scriptOf,
  type Speaker,
  spellings,
  type Wanted
} from "./conversationModel.ts"
import { type Account, afterwards, type Fault, faults, intentOf, Service } from "./conversationService.ts"
import { type KindName, kindOf, kinds, styles, toolkitOf, type Toolset } from "./conversationTools.ts"
import { FileJournal, type Stop } from "./fileJournal.ts"
import { ollama, openAi, serving } from "./models.ts"
import { stored } from "./storedFacts.ts"
import { playedOver, Wire } from "./wire.ts"

// -----------------------------------------------------------------------------
// A conversation
// -----------------------------------------------------------------------------

/** A run of the agent after the first one. */
interface Visit {
  /** Whether the program first forgets the facts. The run must be refused. */
  readonly forgetsFacts: boolean
  /** Whether the program starts the run twice at the same time. One of the two must be refused. */
  readonly isDouble: boolean
  /** Whether the user leaves when a question is asked. */
  readonly leaves: boolean
  /** Whether the program resumes a run that its user has left, although later runs have begun. */
  readonly resumesOld: boolean
}

export interface Scenario extends Toolset, Speaker {
  readonly kind: KindName
  readonly policies: keyof typeof policies
  /** Who settles doubts: an operator whom the agent asks, the program between two runs, or nobody but the tools. */
  readonly person: "operator" | "program" | "nobody"
  /** Whether the operator answers in other words than yes or no, at first. */
  readonly isVague: boolean
  readonly provider: "Chat Completions" | "Ollama"
  readonly faults: ReadonlyArray<Fault | undefined>
  readonly lostLooks: ReadonlyArray<boolean>
  readonly visits: ReadonlyArray<Visit>
  /** The points where processes stop, in order. */
  readonly stops: ReadonlyArray<Stop>
}

const policies = {
  none: [],
  timeout: [Policy.timeout("1 second")],
  retry: [Policy.timeout("1 second"), Policy.retry(Schedule.recurs(2))],
  standard: Policy.standard({ attemptTimeout: "1 second", totalTimeout: "5 seconds" })
}

const visit: fc.Arbitrary<Visit> = fc.record({
  forgetsFacts: fc.boolean(),
  isDouble: rarely(),
  leaves: fc.boolean(),
  resumesOld: fc.boolean()
})

function rarely(): fc.Arbitrary<boolean> {
  return fc.constantFrom(false, false, false, true)
}

const move: fc.Arbitrary<Move> = fc.record({
  does: fc.oneof(
    { weight: 4, arbitrary: fc.constant("call") },
    {
      weight: 3,
      arbitrary: fc.constantFrom("check", "check and call", "call and check", "both orders", "switch", "stop")
    }
  ),
  isTwice: rarely(),
  isForgetful: fc.boolean(),
  order: fc.nat(1),
  spelling: fc.nat(spellings - 1),
  note: fc.nat(notes.length - 1)
})

const names = Object.keys(kinds).filter((name): name is KindName => name in kinds)

const speakers = fc.record({
  isCareful: rarely(),
  language: fc.nat(5),
  moves: fc.array(move, { minLength: 1, maxLength: 8 }),
  patience: fc.integer({ min: 1, max: 5 })
})

const wants = (kind: KindName): fc.Arbitrary<ReadonlyArray<Wanted>> => {
  const times = kindOf(kind).mayMeanTwo === true ? fc.constantFrom<1 | 2>(1, 2) : fc.constant<1>(1)
  return fc.tuple(times, fc.boolean()).map(([times, isMore]) => [
    { order: "o-7", times },
    ...(isMore ? [{ order: "o-8", times: 1 } as const] : [])
  ])
}

const faultsOf = (maxLength: number) =>
  fc.array(
    fc.oneof({ weight: 5, arbitrary: fc.constantFrom(...faults) }, { weight: 1, arbitrary: fc.constant(undefined) }),
    { maxLength }
  )

const scenarioOf = (kind: KindName): fc.Arbitrary<Scenario> =>
  fc.record({
    kind: fc.constant(kind),
    style: fc.constantFrom(...styles),
    asks: rarely(),
    isFixed: fc.boolean(),
    wants: wants(kind),
    speaker: speakers,
    policies: fc.constantFrom("none", "timeout", "retry", "standard"),
    person: fc.constantFrom("operator", "program", "nobody"),
    isVague: rarely(),
    provider: fc.constantFrom("Chat Completions", "Ollama"),
    faults: faultsOf(4),
    lostLooks: fc.array(rarely(), { maxLength: 4 }),
    visits: fc.array(visit, { maxLength: 3 }),
    stops: fc.oneof(
      { weight: 4, arbitrary: fc.constant([]) },
      {
        weight: 1,
        arbitrary: fc.array(fc.record({ step: fc.integer({ min: 1, max: 6 }), hasRun: fc.boolean() }), {
          minLength: 1,
          maxLength: 2
        })
      }
    )
  }).map(({ speaker, ...scenario }) => ({ ...scenario, ...speaker }))

export const scenario: fc.Arbitrary<Scenario> = fc.constantFrom(...names).chain(scenarioOf)

export const described = (scenario: Scenario) => JSON.stringify(scenario)

/** A scenario that was printed by `described`. */
export const asScenario = (text: string) => JSON.parse(text) as Scenario

// -----------------------------------------------------------------------------
// A play
// -----------------------------------------------------------------------------

export interface Played {
  readonly account: Account
  /** What the library should have refused. */
  readonly wrong: ReadonlyArray<string>
  /** What the model was told, at the end. */
  readonly messages: ReadonlyArray<Transcript.Message>
  /** Whether a run was resumed after a later one had begun. Both know the same effect then. */
  readonly isForked: boolean
}

type Ended = Answer.Answer | AgentFailure.AgentFailure

// A "yes" opens the tool. A weak model then says the same in other words, as it does after an answer, and a tool without an
// identity cannot tell. So the operator says it in other words there.
const isHeard = ({ isCareful, kind }: Scenario): boolean => {
  const { identity, words } = kindOf(kind)
  return isCareful || identity === "order" || identity === "all" && words === "none"
}

const isRefused = (ended: Ended): boolean => "_tag" in ended && ended._tag === "RunRefused"

const storedTranscript = (transcript: Transcript.Transcript) =>
  Schema.decodeUnknownSync(Transcript.schema)(
    JSON.parse(JSON.stringify(Schema.encodeSync(Transcript.schema)(transcript)))
  )

const storedSuspension = (suspension: AgentFailure.Suspension) => {
  const codec = Schema.toCodecJson(AgentFailure.Suspension)
  return Schema.decodeUnknownSync(codec)(JSON.parse(JSON.stringify(Schema.encodeSync(codec)(suspension))))
}

/** How many runs a careful model has: enough for each fault, each lost look and each time to settle. */
const patient = 12

const conversation = (scenario: Scenario, url: string, account: Account, fetch: typeof globalThis.fetch) =>
  Effect.gen(function*() {
    const { isCareful, person, visits, wants } = scenario
    const wrong: Array<string> = []
    const agent = Agent.make({
      toolkit: toolkitOf(scenario, url, fetch),
      policies: policies[scenario.policies],
      limits: { elapsed: "2 minutes", turns: 10 },
      onDoubt: person === "operator" ? "ask" : "refuse"
    })
    const stops = [...scenario.stops]
    const log = (line: string) => account.log.push(line)
    let isVague = scenario.isVague

    /** Runs the agent in as many processes as necessary. */
    const inProcesses = <E extends AgentFailure.AgentFailure, R>(
      file: FileJournal,
      run: Effect.Effect<Answer.Answer, E, R>
    ) =>
      stops.length === 0 && file.begun.length === 0 ? Effect.exit(run) : Effect.gen(function*() {
        for (;;) {
          const exit = yield* file.process(
            (journal) => Effect.provideService(run, Journal.current, journal),
            stops.shift()
          )
          if (exit !== undefined) return exit
          log("  its process stops, and another one goes on")
        }
      })

    const foundBy = (transcript: Transcript.Transcript, intent: string) => {
      const known = resultsIn(Array.from(transcript)).filter((result) =>
        isSuccess(result) && intentOf(result.tool, result.order) === intent
      )
      return account.found(intent, known.length)
    }

    // An honest operator looks at the service, and waits if it has not finished.
    const replyTo = ({ question, transcript }: AgentFailure.RunSuspended): string => {
      if (question.startsWith("Shall")) return "yes"
      if (isVague) {
        isVague = false
        return "Maybe, I would have to ask."
      }
      const [, tool = ""] = /^(\w+) was called with /.exec(question) ?? []
      const found = tool === "" ? undefined : foundBy(transcript, intentOf(tool, question))
      if (found === "executed") return isHeard(scenario) ? "yes" : "It has, so do not do it again."
      return found === undefined ? "I cannot tell yet." : "no"
    }

    const endOf = Effect.fnUntraced(function*<E extends AgentFailure.AgentFailure>(
      exit: Exit.Exit<Answer.Answer, E>
    ) {
      const ended: Ended = Exit.isSuccess(exit) ? exit.value : yield* Effect.flip(exit)
      log(`  it ends: ${"_tag" in ended ? `${ended._tag}: ${ended.detail}` : ended.text}`)
      return ended
    })

    const left: Array<AgentFailure.RunSuspended> = []

    /** Answers the questions of a run until it ends, or its user leaves. */
    const answered = Effect.fnUntraced(function*(file: FileJournal, ended: Ended, leaves: boolean) {
      let last = ended
      for (let questions = 0; "_tag" in last && last._tag === "RunSuspended" && questions < 8; questions++) {
        if (leaves) {
          log("  the user leaves")
          left.push(last)
          return last
        }
        const suspension = storedSuspension(last.suspension)
        const reply = replyTo(last)
        log(`  "${last.question}" "${reply}"`)
        last = yield* endOf(yield* inProcesses(file, agent.resume(suspension, reply)))
      }
      return last
    })

    const visited = Effect.fnUntraced(function*(question: string, options: Agent.RunOptions, visit: Visit | undefined) {
      log(`run: ${question}`)
      const file = new FileJournal()
      const run = agent.run(question, options)
      const exits = visit?.isDouble === true && stops.length === 0
        ? yield* Effect.all([Effect.exit(run), Effect.exit(run)], { concurrency: 2 })
        : [yield* inProcesses(file, run)]
      const ends = (yield* Effect.forEach(exits, endOf)).filter((ended) => !isRefused(ended))
      if (ends.length !== 1) wrong.push(`${ends.length} runs of ${exits.length} were not refused`)
      const [ended] = ends
      return ended === undefined ? undefined : yield* answered(file, ended, visit?.leaves === true)
    })

    const isReached = () => wants.every(({ order, times }) => account.countOf(intentOf("pay", order)) >= times)

    const settledByProgram = (facts: CallFacts.CallFacts, transcript: Transcript.Transcript) => {
      const told: Array<string> = []
      let settled = facts
      for (const { arguments: args, id, tool } of CallFacts.inDoubt(facts)) {
        const intent = args === undefined ? undefined : intentOf(tool, args)
        const certainty = intent === undefined ? undefined : foundBy(transcript, intent)
        if (certainty === undefined) continue
        settled = Result.getOrThrow(CallFacts.settle(settled, id, { certainty, by: "the program" }))
        told.push(`${intent} ${certainty === "executed" ? "has happened" : "has not happened"}`)
      }
      return { settled, told }
    }

    const begin = "Pay what I want."
    let last: Ended | undefined = yield* visited(begin, { scope: url, facts: CallFacts.empty }, visits[0])
    let isForked = false
    const later = isCareful ? Array.from({ length: patient }, (_, index) => visits[index]) : visits
    for (const visit of later) {
      if (last === undefined || isCareful && isReached()) break
      // Longer than any time to settle.
      yield* Effect.sleep("15 seconds")
      let facts = stored(last.facts)
      const transcript = storedTranscript(last.transcript)
      let question = "And now? Try again if it is safe."
      if (person === "program") {
        const { settled, told } = settledByProgram(facts, transcript)
        facts = stored(settled)
        question = [...told, question].join(". ")
      }
      const hasCalls = Array.from(transcript).some((message) =>
        message.role === "assistant" && message.calls.some(({ name }) => name === "pay" || name === "transfer")
      )
      if (visit?.forgetsFacts === true && hasCalls) {
        log("run: without facts")
        const refused = yield* endOf(yield* Effect.exit(agent.run(question, { transcript })))
        if (!isRefused(refused)) wrong.push("a run without its facts was not refused")
      }
      last = yield* visited(question, { facts, transcript }, visit)
      const [old] = left
      if (visit?.resumesOld === true && old !== undefined && last !== undefined) {
        left.shift()
        const isLater = last.facts.run > old.facts.run
        const reply = replyTo(old)
        log(`an old run is resumed: "${old.question}" "${reply}"`)
        const resumed = yield* endOf(yield* Effect.exit(agent.resume(storedSuspension(old.suspension), reply)))
        if (!isRefused(resumed) && isLater) isForked = true
        else if (!isRefused(resumed)) last = resumed
        if (isForked && kindOf(scenario.kind).sideEffect === "non_idempotent") {
          wrong.push("a run was resumed after a later one")
        }
      }
    }
    return { wrong, messages: last === undefined ? [] : Array.from(last.transcript), isForked }
  }).pipe(
    Effect.provide(
      serving(scenario.provider === "Ollama" ? ollama : openAi)((request, index) => {
        const { log } = account
        const results = resultsIn(request.messages)
        const seen = results.slice(results.length - trailing(request.messages))
        for (const { text, tool } of seen) log.push(`  ${tool} says ${text}`)
        const script = scriptOf(scenario)
        const reply = typeof script === "function" ? script(request, index) : script[index]!
        if ("calls" in reply) {
          for (const { arguments: args, name } of reply.calls) log.push(`  the model calls ${name} ${args}`)
        }
        return reply
      })
    )
  )

const trailing = (messages: ReadonlyArray<Transcript.Message>) =>
  messages.length - 1 - messages.findLastIndex(({ role }) => role !== "tool")

/** Plays all scenarios at once. */
export const play = (scenarios: ReadonlyArray<Scenario>): Effect.Effect<ReadonlyArray<Played>> => {
  const plans = scenarios.map(({ faults, kind, lostLooks }) => ({
    faults,
    lostLooks,
    honoursKeys: kindOf(kind).sideEffect === "idempotent_by_key"
  }))
  return Effect.gen(function*() {
    const wire = new Wire()
    const service = new Service(wire, plans)
    const exits = yield* playedOver(wire, service.server, scenarios, (one, url) =>
      Effect.gen(function*() {
        service.after = yield* afterwards
        return yield* conversation(one, url, service.accountAt(url), yield* FetchHttpClient.Fetch)
      }))
    return exits.map((exit, index): Played => {
      const account = service.accounts[index]!
      return Exit.isSuccess(exit)
        ? { account, ...exit.value }
        : { account, wrong: [`the conversation broke: ${String(exit)}`], messages: [], isForked: false }
    })
  })
}

// -----------------------------------------------------------------------------
// The laws
// -----------------------------------------------------------------------------

/** Returns what is wrong with a play, or `undefined`. */
export const faultOf = (scenario: Scenario, played: Played): string | undefined => {
  const { account, isForked, messages, wrong } = played
  if (wrong.length > 0) return wrong.join("; ")
  const successes = resultsIn(messages).filter(isSuccess)
  for (const tool of ["pay", "transfer"]) {
    for (const { order, times } of scenario.wants) {
      const intent = intentOf(tool, order)
      const count = account.countOf(intent)
      if (count > times) return `${intent} happened ${count} times, and was meant ${times === 1 ? "once" : "twice"}`
      const told = successes.filter((result) => result.order === order && result.tool === tool).length
      if (told > count && !isForked) return `${intent} happened ${count} times, and was told ${told} times`
    }
  }
  const mustReach = scenario.isCareful && (isSettled(scenario) || isUndisturbed(scenario))
  return mustReach && !isReached(scenario, played) ? "a careful model did not get there" : undefined
}

/** Whether all effects that were meant have happened, by the tool that the user wanted or by the other one. */
export const isReached = ({ wants }: Scenario, { account }: Played): boolean =>
  wants.every(({ order, times }) =>
    account.countOf(intentOf("pay", order)) + account.countOf(intentOf("transfer", order)) >= times
  )

/**
 * Whether something settles each doubt about a call whose arguments are known, so that a careful model reaches its end.
 * A tool that does not say that it repeats does not do so in a later run, so two effects may become one.
 */
export const isSettled = (scenario: Scenario): boolean => {
  const { faults, kind, person, stops, wants } = scenario
  const { settledBy, sideEffect } = kindOf(kind)
  const isSaid = person === "program" || person === "operator" && isHeard(scenario)
  // Under a key, only a success settles a doubt, and nobody is asked. The service keeps its refusals.
  const isKept = sideEffect === "idempotent_by_key" && faults.includes("refuses")
  return (isSaid || settledBy !== undefined || sideEffect === "idempotent_by_key") && !isKept &&
    stops.length === 0 && wants.every(({ times }) => times === 1)
}

/** Whether nothing happens to the calls, so that two effects that are meant are two. */
const isUndisturbed = ({ asks, faults, stops }: Scenario): boolean =>
  !asks && stops.length === 0 && faults.every((fault) => fault === undefined)

/** Whether one order was paid with two tools. */
export const isDoneByTwo = ({ wants }: Scenario, { account }: Played): boolean =>
  wants.some(({ order }) =>
    account.countOf(intentOf("pay", order)) > 0 && account.countOf(intentOf("transfer", order)) > 0
  )

/** Returns the smallest scenario found that still has a fault when it is played alone; `undefined` if it has none. */
export const shrunk = async (found: Scenario): Promise<Scenario | undefined> => {
  const isFine = async (one: Scenario) => {
    const [played] = await Effect.runPromise(play([one]))
    return played === undefined || faultOf(one, played) === undefined
  }
  const { counterexample } = await fc.check(fc.asyncProperty(scenarioOf(found.kind), isFine), {
    examples: [[found]],
    numRuns: 1,
    interruptAfterTimeLimit: 60_000
  })
  return counterexample?.[0]
}
