/**
 * Runs of an agent whose tool pays over real connections, by handlers in many styles, and meets any fault. A bank keeps a
 * record of what it did, and all that is told of a call is compared with that record. Virtual time passes only while the
 * network is idle.
 */
import { NodeHttpClient } from "@effect/platform-node"
import { Agent, Observer, Policy, Toolkit } from "@fallible/core"
import type * as Answer from "@fallible/core/Answer"
import * as CallFacts from "@fallible/core/CallFacts"
import { ScriptedModel } from "@fallible/testing"
import { Context, Deferred, Effect, Layer, Stream } from "effect"
import { FetchHttpClient, HttpClient } from "effect/http"
import * as fc from "fast-check"
import { Account, type Asked, bankServer, type Fault } from "./evidenceBank.ts"
import { type Claim, type EffectClients, isNoisy, Run, toolOf } from "./evidenceHandlers.ts"
import { isReading, isRefusal, type Scenario, scenario, type Style } from "./evidenceScenario.ts"
import { openAi, serving } from "./models.ts"
import { playedOver, Wire } from "./wire.ts"

// -----------------------------------------------------------------------------
// The model
// -----------------------------------------------------------------------------

const isPaid = (text: string): boolean => !text.includes("\"ok\":false") || text.includes("already_done")

/** Pays one order or two, and words its note anew each time. A stubborn model repeats whatever has not succeeded. */
const playing = (run: Run, tool: string): ScriptedModel.Script => ({ messages }, index) => {
  const { asks, isParallel, model, repeats } = run.scenario
  const orders = new Map<string, string>()
  const told = new Map((isParallel ? ["o-1", "o-2"] : ["o-1"]).map((order): [string, Array<string>] => [order, []]))
  for (const message of messages.slice(messages.findLastIndex(({ role }) => role === "user"))) {
    if (message.role === "assistant") {
      for (const call of message.calls) orders.set(call.id, JSON.parse(call.arguments ?? "{}").order)
    }
    if (message.role === "tool") told.get(orders.get(message.callId) ?? "")?.push(message.text)
  }
  const due = Array.from(told).filter(([, texts]) => {
    const last = texts.at(-1)
    if (last === undefined || texts.length >= asks) return last === undefined
    if (isPaid(last)) return repeats === "never"
    return model === "stubborn" || !/taken effect|Do not call this tool again/.test(last)
  })
  run.noteTurn(index + 1, due.map(([order]) => order))
  return due.length === 0 ? ScriptedModel.text("Done.") : ScriptedModel.calls(
    due.map(([order, texts]) => [tool, { order, note: `for Ada, message ${messages.length}, take ${texts.length}` }])
  )
}

// -----------------------------------------------------------------------------
// A play
// -----------------------------------------------------------------------------

/** What was seen of one run. */
export interface Played {
  readonly asked: ReadonlyArray<Asked>
  readonly claims: ReadonlyArray<Claim>
  readonly account: Account
}

const running = (run: Run) => {
  const { interruptedAfter, isOverWire, isStandard, sequel } = run.scenario
  const standard = Policy.standard({ attemptTimeout: "2 seconds", totalTimeout: "20 seconds" })
  const tool = toolOf(run)
  const agent = Agent.make({
    toolkit: Toolkit.make(tool),
    policies: isStandard ? standard : [],
    limits: { elapsed: "10 minutes" },
    // The model repeats itself on purpose.
    loopGuard: "off"
  })
  const once = (options: Agent.RunOptions) =>
    Effect.suspend(() => {
      let answer: Answer.Answer | undefined = undefined
      const events = Stream.runForEach(agent.stream("Pay.", options), (event) =>
        Effect.sync(() => {
          if (event._tag === "RunEnded") answer = event.answer
          if (event._tag !== "CallEnded") return
          const { index, outcome, turn } = event
          const call = `${event.run}/turn/${turn}/call/${index}`
          run.claim({ call, attempt: 0, who: "a call", told: outcome.certainty, outcome })
          const said = outcome._tag === "Failed" ? outcome.failure.outcome : undefined
          if (said !== undefined && said !== outcome.certainty) {
            run.claim({ call, attempt: 0, who: "a call", told: said })
          }
        }))
      return events.pipe(
        // The result of the run does not matter here.
        Effect.exit,
        Effect.map(() => answer),
        Effect.provide((isOverWire ? serving(openAi) : ScriptedModel.layer)(playing(run, tool.name)))
      )
    })
  const whole = Effect.gen(function*() {
    if (sequel === "again") {
      // The first run is interrupted when a request to pay has arrived, and left without facts.
      const arrived = yield* Deferred.make<undefined>()
      let left = interruptedAfter
      run.account.onArrival = () => {
        if (--left === 0) Deferred.doneUnsafe(arrived, Effect.undefined)
      }
      yield* Effect.raceFirst(once({ id: run.url }), Deferred.await(arrived))
      run.part++
      yield* once({ id: run.url })
    } else {
      const answer = yield* once(sequel === "conversation" ? { scope: run.url, facts: CallFacts.empty } : {})
      if (sequel === "none" || answer === undefined) return
      const { facts, transcript } = answer
      yield* once({ facts, transcript })
    }
  })
  return whole.pipe(
    Observer.observe({ onEvent: run.watch }),
    Observer.observe({
      onLateResult: ({ attempt, certainty: told, id: call }) =>
        Effect.sync(() => run.claim({ call, attempt, who: "a late result", told }))
    })
  )
}

const clientOf = <R>(layer: Layer.Layer<HttpClient.HttpClient, never, R>) =>
  Effect.map(Layer.build(layer), Context.get(HttpClient.HttpClient))

const playTogether = (scenarios: ReadonlyArray<Scenario>): Effect.Effect<ReadonlyArray<Played>> =>
  Effect.gen(function*() {
    const clients: EffectClients = {
      text: yield* clientOf(FetchHttpClient.layer),
      URL: yield* clientOf(NodeHttpClient.layerNodeHttp),
      Request: yield* clientOf(NodeHttpClient.layerUndiciOptions({ connections: 2 }))
    }
    const wire = new Wire()
    const shared = { wire, book: new Map<string, Asked>(), clients }
    const accounts = scenarios.map((scenario) => new Account(scenario))
    const runs = new Map<Scenario, Run>()
    yield* playedOver(wire, bankServer(wire, shared.book, accounts), scenarios, (scenario, url) => {
      const run = new Run(scenario, url, accounts[scenarios.indexOf(scenario)]!, shared)
      runs.set(scenario, run)
      return running(run)
    })
    for (const account of accounts) account.doLate()
    return scenarios.map((scenario) => runs.get(scenario)!)
  }).pipe(Effect.scoped)

/** Plays all scenarios, each with its own agent, model and orders: first those that do not disturb each other. */
export const play = (scenarios: ReadonlyArray<Scenario>): Effect.Effect<ReadonlyArray<Played>> =>
  Effect.gen(function*() {
    const played = new Map<Scenario, Played>()
    for (const part of [scenarios.filter((one) => !isNoisy(one)), scenarios.filter(isNoisy)]) {
      const runs = part.length === 0 ? [] : yield* playTogether(part)
      part.forEach((one, index) => played.set(one, runs[index]!))
    }
    return scenarios.map((one) => played.get(one)!)
  })

// -----------------------------------------------------------------------------
// The laws
// -----------------------------------------------------------------------------

/** True if a request has had an effect that its tool is made for. What the definition does not name has none. */
export const hasActed = ({ acts }: Scenario, { acted, kind }: Asked): boolean =>
  acted && (kind === "pay" || acts === "nothing" && (kind === "mail" || kind === "new receipt"))

/** Returns what is wrong with a run. */
export const faultsOf = (scenario: Scenario, { account, asked, claims }: Played): ReadonlyArray<string> => {
  const { hasIdentity, honoursKeys, sendsKey, sideEffect } = scenario
  const lies = claims.flatMap(({ at, attempt, call, order, outcome, told, who }) => {
    const own = asked.filter((one) => one.call === call && (who === "a call" || one.attempt === attempt))
    const acted = own.filter((one) => hasActed(scenario, one))
    // A call has ended with its last attempt, shortly before that is heard.
    const end = claims.findLast((one) => one.at < at && one.call === call && one.who === "an attempt")?.at ?? at
    const before = acted.find(({ begun }) => begun < (who === "a call" ? end : at))
    if (told === "not_executed" && before !== undefined) {
      return [`lie: ${who} is told as not executed, but its request (${before.kind}: ${before.fault}) acted`]
    }
    // What is sent after the end of a call contradicts what was told, and is reported.
    const isReported = claims.some((one) =>
      one.who === "a late result" && one.call.startsWith(call) && one.told === "unknown"
    )
    if (told === "not_executed" && who === "a call" && acted.length > 0 && !isReported) {
      return ["silence: a request acted after its call had ended, and nobody was told"]
    }
    return told === "executed" && outcome?._tag === "Completed" && account.paidFor(order) === 0
      ? ["lie: told as executed, but nothing was paid"]
      : []
  })
  if (!hasIdentity) return lies
  const law = honoursKeys && sendsKey ? "under keys" : sideEffect === "non_idempotent" ? "without keys" : undefined
  const twice = ["o-1", "o-2"].filter((order) => law !== undefined && account.paidFor(order) > 1)
  // What a handler sends when its attempt has ended may come too late to be known.
  const isLate = (order: string) =>
    asked.some((one) =>
      one.kind === "pay" && one.order === order &&
      claims.some(({ at, attempt, call, who }) =>
        call === one.call && at < one.begun && (who === "a call" || attempt === one.attempt)
      )
    )
  return [
    ...lies,
    ...twice.filter((order) => !isLate(order)).map((order) =>
      `double payment ${law}: ${order} was paid ${account.paidFor(order)} times`
    )
  ]
}

/** A call that certainly did nothing, as its requests show. */
export interface Refused {
  readonly style: Style
  readonly fault: Fault
  readonly isDoubted: boolean
}

/** The calls of a plain handler whose requests were all refused or not served. None of them deserves a doubt. */
export const refusedIn = (scenario: Scenario, { asked, claims }: Played): ReadonlyArray<Refused> => {
  const { acts, carrier, nesting, shape, sequel, sideEffect, style, throws } = scenario
  const isPlain = (throws === "the response" || style === "sentences") && carrier === "the handler" &&
    nesting === "none" && sequel === "none"
  // Of requests that are sent at once, one may be on its way when another one fails.
  if (!isPlain || shape.includes("+") || isNoisy(scenario)) return []
  const doubted = new Set<string>()
  return claims.flatMap(({ call, order, outcome, who }) => {
    if (who !== "a call" || outcome === undefined) return []
    const isRepeated = doubted.has(order)
    if (outcome.certainty !== "not_executed") doubted.add(order)
    const own = asked.filter((one) => one.call === call)
    const acting = own.filter(({ kind }) => acts === "nothing" ? !isReading(kind) : kind === "pay")
    const last = acting.at(-1)
    // Silence proves nothing.
    const isSilent = own.some(({ attempt }) => !acting.some((one) => one.attempt === attempt))
    if (last === undefined || isSilent || isRepeated || outcome._tag !== "Failed") return []
    if (!acting.every(({ fault }) => isRefusal(fault))) return []
    // A conflict may be about an earlier request with the same key.
    const isConflict = acting.some(({ answered }) => answered === 409 || answered === 422)
    if (isConflict && sideEffect === "idempotent_by_key" && (own.length > 1 || asked.indexOf(own[0]!) > 0)) return []
    // A redirect that nobody follows leaves open what is there. One that is followed may lead to what `acts` does not name.
    if (acting.some(({ answered, fault }) => answered === 307 || acts !== "nothing" && fault.startsWith("307"))) {
      return []
    }
    return [{ style, fault: last.fault, isDoubted: outcome.certainty !== "not_executed" }]
  })
}

/** Returns the smallest scenario found that still has a fault when it is played alone; `undefined` if it has none. */
export const shrunk = async (found: Scenario): Promise<Scenario | undefined> => {
  const isFine = async (one: Scenario) => {
    const [played] = await Effect.runPromise(play([one]))
    return played === undefined || faultsOf(one, played).length === 0
  }
  const { counterexample } = await fc.check(fc.asyncProperty(scenario, isFine), {
    examples: [[found]],
    numRuns: 1,
    interruptAfterTimeLimit: 60_000
  })
  return counterexample?.[0]
}
