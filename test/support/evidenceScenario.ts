/** Random handlers, tools, models and banks for `evidenceRuns`, without promises that nobody could keep. */
import * as fc from "fast-check"
import { type BankRules, type Fault, faults, type Kind } from "./evidenceBank.ts"
import { forms } from "./evidenceClients.ts"
import { sentences } from "./evidenceSentences.ts"

/** How a handler is written. */
export const styles = [
  "global fetch",
  "the context's fetch",
  "node:http",
  "an SDK",
  "HttpClient",
  "tryPromise",
  "tryPromise under a timeout",
  "sentences"
] as const

export type Style = typeof styles[number]

/** The requests of a handler, in order. Those around a `+` begin at once; one after a `>` begins when the other has ended. */
const shapes = [
  "pay",
  "pay, receipt",
  "pay, new receipt",
  "pay, mail",
  "pay, receipt, mail",
  "pay, new receipt, mail",
  "quote, pay",
  "quote, pay, mail",
  "token, pay",
  "token, pay, receipt",
  "pay + mail",
  "quote + pay",
  "mail + quote > pay",
  "receipt + pay > mail"
] as const

/** Where the code runs that sends a request: in the handler, in a queue's worker, or over a socket without HTTP's code. */
const carriers = ["the handler", "a queue", "a socket"] as const

/** What a handler throws for an answer that is no success. Effect's client has only the first and the last. */
const throwing = [
  "the response",
  "a status",
  "a message with the status",
  "a sentence",
  "a text",
  "a failure by hand"
] as const

/** How an author says what a refused payment means. */
const words = ["nothing", "refuse", "refuses"] as const

const declarations = ["nothing", "pay", "pay only"] as const

const retries = ["none", "transient", "twice"] as const

const checks = ["none", "looks", "looks first", "is final"] as const

/** Whether the tool runs in the handler of another one, and what that handler makes of its failure. */
const nestings = ["none", "passes on", "by hand"] as const

/** Whether there is a second run: in the same conversation, or the first one again, which was interrupted. */
const sequels = ["none", "conversation", "again"] as const

export interface Scenario extends BankRules {
  readonly style: Style
  readonly shape: typeof shapes[number]
  readonly carrier: typeof carriers[number]
  readonly throws: typeof throwing[number]
  /** Whether a sentence has the original error as its cause. */
  readonly hasCause: boolean
  /** Whether the handler throws its sentence after success, too. Only in the style "sentences". */
  readonly throwsAnyway: boolean
  /** Whether a failure after the payment is ignored. */
  readonly forgives: boolean
  readonly readsJson: boolean
  readonly sentence: string
  /** How the request is given to `fetch`; for Effect's client: which client is below it. */
  readonly form: typeof forms[number]
  readonly passesSignal: boolean
  /** Who stops waiting for an answer that does not come. */
  readonly hangsUp: "client" | "tool"
  readonly sendsKey: boolean
  readonly sideEffect: "non_idempotent" | "idempotent_by_key"
  readonly hasIdentity: boolean
  readonly refusesFirst: boolean
  readonly isUninterruptible: boolean
  readonly acts: typeof declarations[number]
  readonly word: typeof words[number]
  readonly repeats: "by default" | "never"
  readonly nesting: typeof nestings[number]
  readonly hasTimeout: boolean
  readonly retry: typeof retries[number]
  readonly check: typeof checks[number]
  readonly isStandard: boolean
  readonly model: "stubborn" | "weak"
  /** How often the model asks for a payment at most. */
  readonly asks: number
  /** Whether the model pays two orders at the same time. */
  readonly isParallel: boolean
  readonly isOverWire: boolean
  readonly sequel: typeof sequels[number]
  /** After how many requests to pay the first run is interrupted, if it is run again. */
  readonly interruptedAfter: number
  /** The fault of each request for the first order, and for the second. Later requests succeed. */
  readonly faults: readonly [ReadonlyArray<Fault>, ReadonlyArray<Fault>]
}

const fault: fc.Arbitrary<Fault> = fc.oneof(
  { weight: 3, arbitrary: fc.constant("200") },
  { weight: 9, arbitrary: fc.constantFrom(...faults) }
)

const plan = fc.array(fault, { minLength: 1, maxLength: 8, size: "max" })

const drawn: fc.Arbitrary<Scenario> = fc.record({
  style: fc.constantFrom(...styles),
  shape: fc.constantFrom(...shapes),
  carrier: fc.constantFrom("the handler", "the handler", "the handler", "the handler", ...carriers),
  throws: fc.constantFrom("the response", "the response", "the response", ...throwing),
  hasCause: fc.boolean(),
  throwsAnyway: fc.boolean(),
  forgives: fc.constantFrom(false, false, false, true),
  readsJson: fc.boolean(),
  sentence: fc.constantFrom(...sentences),
  form: fc.constantFrom(...forms),
  passesSignal: fc.boolean(),
  hangsUp: fc.constantFrom("client", "tool"),
  sendsKey: fc.boolean(),
  sideEffect: fc.constantFrom("non_idempotent", "idempotent_by_key"),
  hasIdentity: fc.constantFrom(false, true, true),
  refusesFirst: fc.constantFrom(false, false, true),
  isUninterruptible: fc.constantFrom(false, false, true),
  acts: fc.constantFrom("nothing", ...declarations),
  word: fc.constantFrom("nothing", ...words),
  repeats: fc.constantFrom("by default", "by default", "never"),
  nesting: fc.constantFrom("none", "none", "none", ...nestings),
  hasTimeout: fc.constantFrom(false, false, true),
  retry: fc.constantFrom("none", ...retries),
  check: fc.constantFrom("none", "none", "none", ...checks),
  isStandard: fc.constantFrom(false, false, true),
  model: fc.constantFrom("stubborn", "stubborn", "weak"),
  asks: fc.integer({ min: 1, max: 4 }),
  isParallel: fc.constantFrom(false, false, true),
  isOverWire: fc.constantFrom(false, false, false, false, false, false, false, true),
  sequel: fc.constantFrom("none", "none", "none", ...sequels),
  interruptedAfter: fc.integer({ min: 1, max: 3 }),
  faults: fc.tuple(plan, plan),
  honoursKeys: fc.boolean(),
  storesRefusals: fc.boolean(),
  lateness: fc.constantFrom("soon", "next", "end"),
  isStuck: fc.boolean()
})

// An idempotency key needs a handler that sends it and a bank that honours it. A refusal that comes first needs a single
// request that acts. A word that nothing was done, and a final check, need a handler that does nothing else; an SDK that
// tries again on its own does not know what its first request did. A run that is made again has lost its facts, so it needs
// keys, and a bank that stores what it has refused. There, a failure by hand is the author's word about the key, which only
// the bank's answer can give.
const isHonest = (scenario: Scenario): boolean =>
  (scenario.sideEffect === "non_idempotent" || isKeyed(scenario)) &&
  (!scenario.refusesFirst || isSingle(scenario)) &&
  (scenario.word === "nothing" && scenario.check !== "is final" || !/mail \+|\+ mail/.test(scenario.shape)) &&
  (scenario.word === "nothing" || scenario.style !== "an SDK" || !scenario.isStuck || scenario.storesRefusals) &&
  (scenario.carrier === "the handler" || isModest(scenario)) &&
  (scenario.sequel !== "again" || mayBeginAgain(scenario))

const mayBeginAgain = (scenario: Scenario): boolean =>
  isKeyed(scenario) && scenario.storesRefusals && scenario.sideEffect === "idempotent_by_key" &&
  scenario.throws !== "a failure by hand" && scenario.nesting !== "by hand"

// Nothing sees the requests of a queue's worker, and nobody knows what a socket carries. So an author cannot promise
// anything about them, and has to know what was done before calling a failure a refusal. A key lets one of the requests be
// seen again: beside it, there must be no other.
const isModest = ({ acts, carrier, refusesFirst, sendsKey, shape, throws }: Scenario): boolean =>
  !refusesFirst && throws !== "a failure by hand" && !shape.includes(">") &&
  (carrier === "a socket" || acts !== "pay only" && (!sendsKey || actingIn(shape) === 1))

/** Whether all requests of a payment have one key, and the bank acts once for it. */
export const isKeyed = ({ hasIdentity, honoursKeys, sendsKey }: Scenario): boolean =>
  sendsKey && honoursKeys && hasIdentity

const isSingle = ({ acts, shape, style }: Scenario): boolean =>
  style !== "an SDK" && (acts !== "nothing" || actingIn(shape) === 1)

const actingIn = (shape: Scenario["shape"]): number => kindsOf(shape).flat(2).filter((kind) => !isReading(kind)).length

export const isReading = (kind: Kind): boolean => kind === "quote" || kind === "receipt"

/** The requests of a shape: those in a chain follow each other, the chains of a group begin at once. */
export const kindsOf = (shape: Scenario["shape"]): ReadonlyArray<ReadonlyArray<ReadonlyArray<Kind>>> =>
  // The names in a shape are those of its requests.
  shape.split(", ").map((group) => group.split(" + ").map((chain) => chain.split(" > ") as Array<Kind>))

export const scenario: fc.Arbitrary<Scenario> = drawn.filter(isHonest)

/** Faults after which every client knows that nothing was done. */
export const isRefusal = (fault: Fault): boolean => fault.endsWith("not done") && !/^(?:408|500|503|reset)/.test(fault)

/** Plain handlers, of which each request is refused or not served. */
export const refusing: fc.Arbitrary<Scenario> = scenario.filter(({ shape }) => !shape.includes("+")).map((one) => ({
  ...one,
  carrier: "the handler",
  throws: "the response",
  nesting: "none",
  sequel: "none",
  faults: [one.faults[0].map(refused), one.faults[1].map(refused)]
}))

const refused = (fault: Fault): Fault => isRefusal(fault) ? fault : "402, not done"

export const described = (scenario: Scenario): string => JSON.stringify(scenario)
