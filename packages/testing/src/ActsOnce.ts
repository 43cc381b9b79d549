/**
 * Checks whether a tool can act (have its side effect) twice for one call, and whether it can act although its call is told
 * as not executed. You pass in your own tool, with its policies and its handler.
 *
 *     yield* ActsOnce.check({
 *       tool: (service) => payWith(service.fetch).pipe(Tool.retry(RetryPolicy.transient)),
 *       arguments: { order: "7" }
 *     })
 *
 * The handler calls a fake service (`FakeService`): with `service.fetch`, `service.act`, or the `fetch` of its own
 * context. The service may act and drop the connection, act later, answer 500 or 503 after it has acted, refuse a request, or
 * be slow. A scripted model repeats its call until a call succeeds. Around the tool, this may happen:
 *
 * - The model makes the call once more, although it has succeeded (`repeats`).
 * - The model says the same in other words: it changes what the tool's `identity` ignores, or else notes (`reworded`).
 * - The provider sends a call twice in one turn: with the same text, or in another order. Or the model does, in other words.
 * - The process stops in the middle of a step, and a second process continues from the journal.
 * - The job has not succeeded, and the program runs the agent again, with the facts of the first run. It may have kept only
 *   the transcript; that run is refused.
 * - A job with keys is delivered twice, under the same id.
 *
 * The fields that the `identity` depends on are never reworded by default: another order is another intent. If the tool has no
 * `identity`, the check cannot know which texts name the effect. It then rewords optional texts, and texts of several words, as
 * long as another given field stays the same.
 *
 * In every case, two things must hold:
 *
 * - The service does not act more than once. Otherwise, the check fails with {@link ActedTwice}.
 * - If a call is told as `not_executed`, the service has not acted on any request of that call, and does not act later.
 *   Otherwise, the check fails with {@link ToldWrongly}.
 *
 * A call is told wrongly if its handler refuses after it has acted, for example, or leaves a request behind. A model that
 * believes it acts again. If the check finds both, it reports the second act, which is graver.
 *
 * The library learns what a handler did from its requests (`Certainty`). The fake service notes its requests, so they are
 * seen as over real HTTP. The check does not rely on that: it counts what the service did. So a mock of your own, which
 * notes nothing, hides nothing from the check.
 *
 * All short sequences of faults are tried first, and then longer sequences, which are drawn from a seed. If a
 * sequence makes the tool act twice or lie, it is reduced until nothing more can be left out, and reported.
 *
 * Time is virtual, also for a handler's `setTimeout`, `AbortSignal.timeout` and `node:timers/promises`: while a check runs,
 * they use its clock. `Date`, `setInterval`, and a `setTimeout` that was kept in a variable before, have real time.
 *
 * The check assumes that the fake service behaves like yours: say whether yours honours idempotency keys
 * (`keys`). The check sees only requests to the fake service. If a handler has several effects, name them (`effect`).
 *
 * @since 0.1.0
 */
import type { Policy, Tool, ToolFailure } from "@fallible/core"
import * as Data from "effect/Data"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import type * as Layer from "effect/Layer"
import * as Random from "effect/Random"
import type { Answers, FakeService, Request } from "./FakeService.ts"
import { adviceOn, type Hint, settleOf, tooLate } from "./internal/actsOnce/hints.ts"
import { haveOneIdentity, inOtherWords } from "./internal/actsOnce/otherWords.ts"
import { nothingWrong, type Plan, plans, smallerPlans } from "./internal/actsOnce/plan.ts"
import { type Game, lateByOf, play, type Played } from "./internal/actsOnce/playedPlan.ts"
import { withVirtualTimers } from "./internal/actsOnce/virtualTimers.ts"

// -----------------------------------------------------------------------------
// Models
// -----------------------------------------------------------------------------

/**
 * The options of a check.
 *
 * @category models
 * @since 0.1.0
 */
export interface Options<out T extends Tool.Any, out R = never, in Provided = never> extends Answers {
  /**
   * Makes the tool: its policies, and a handler that calls the given service. Called anew for each sequence, and for each
   * process in it. A second process does not have the memory of the first, so make all memory inside this function.
   */
  readonly tool: (service: FakeService) => T
  /**
   * Makes the Effect services that the tool needs, on top of the same fake service. Called anew for each
   * process, like `tool`. Default: none.
   */
  readonly layer?: (service: FakeService) => Layer.Layer<Provided>
  /** The arguments of the call; or several spellings of them, which the model uses in turn. Give notes as a model writes them. */
  readonly arguments: object | ReadonlyArray<object>
  /**
   * The names of the fields in which the model may use other words, while it means the same effect. Default: the fields that
   * the tool's `identity` ignores. If it has no `identity`: its optional texts, and its texts of several words, as long as another
   * given field stays the same. They may be inside other fields and lists. If `arguments` has several spellings, they are the other words.
   */
  readonly reworded?: ReadonlyArray<string>
  /** The policies of the agent. Default: none. */
  readonly policies?: ReadonlyArray<Policy.Policy<R, ToolFailure.ToolFailure>>
  /**
   * Whether a call that the model makes again after a success means a second effect: two pizzas. With `true`, the model
   * makes no such call. Default: `true` if the tool declares `repeats: true`, otherwise `false`.
   */
  readonly repeats?: boolean
  /**
   * Whether the service honours idempotency keys: it then acts only once for each key. Default: `"honoured"`
   * if the tool is `"idempotent_by_key"`, otherwise `"ignored"`.
   */
  readonly keys?: "honoured" | "ignored"
  /**
   * Returns the idempotency key of a request that acts, for a service that reads it elsewhere:
   * `keyOf: ({ headers }) => headers?.["paypal-request-id"]`. Over HTTP, `body` is the text of the body. Default: the header
   * `Idempotency-Key`.
   */
  readonly keyOf?: (request: Request) => string | undefined
  /**
   * Names the effect of a request that acts, for a handler that has several: a payment and a mail. The service may then act
   * once for each name: `effect: ({ url }) => url`. A request with the name `null` has no effect, such as a search or a login
   * by POST: the service answers it as a look (`found`). Default: all requests have the same effect.
   */
  readonly effect?: (request: Request) => string | null | undefined
  /**
   * The user's reply to each question of the tool (`ToolCall.ask`), or a function of the question. Default: none, so a
   * tool that asks never succeeds.
   */
  readonly reply?: string | ((question: string) => string)
  /** The longest delay between a lost connection and the service's act. Default: 1 minute. */
  readonly lateBy?: Duration.Input
  /** The most calls that the model makes if no call succeeds. Default: 3. */
  readonly calls?: number
  /** The most sequences that are tried. Default: 400. */
  readonly runs?: number
  /** The seed for longer sequences. Default: `"acts once"`. */
  readonly seed?: string
}

/**
 * The result of a check: the service never acted twice, and no call that acted was told as not executed.
 *
 * @category models
 * @since 0.1.0
 */
export interface Checked {
  /** The number of sequences that were tried. */
  readonly runs: number
  /**
   * The number of sequences after which it was in doubt whether the call took effect. If this is true of
   * nearly all, make sure that your check can find a second act at all.
   */
  readonly inDoubt: number
}

/**
 * The service acted more than once. With the option `effect`: it had one of the effects more than once.
 *
 * Its `hint` names the declaration that is missing, if the sequence shows it. If the sequence has a call that "is told as not executed", see {@link ToldWrongly}.
 *
 * @category failures
 * @since 0.1.0
 */
export class ActedTwice extends Data.TaggedError("ActedTwice")<{
  readonly tool: string
  /** How often the service acted. */
  readonly times: number
  /** The events, one line each. */
  readonly sequence: ReadonlyArray<string>
  /** What to declare, or which options do not fit each other: the service acts later (`lateBy`) than `settle` waits. */
  readonly hint?: string
}> {
  override get message(): string {
    const { hint = "", sequence, times, tool } = this
    return `The service acted ${times} times for one call to ${tool}:\n\n  ${sequence.join("\n  ")}\n${ending(hint)}`
  }
}

/**
 * A call was told as `not_executed`, although the service acted on a request of that call. A model that believes this calls
 * the tool again, and the library gives its next call a new idempotency key.
 *
 * One line of the sequence says what was told. Look for code that says that nothing was done: `refuse`,
 * `outcome: "not_executed"`, a `SemanticGarbage` without an outcome, or a declaration of the tool. If a request comes after
 * its call has ended, await it in the handler.
 *
 * @category failures
 * @since 0.1.0
 */
export class ToldWrongly extends Data.TaggedError("ToldWrongly")<{
  readonly tool: string
  /** How often the service acted on requests of the call. */
  readonly times: number
  /** The events, one line each, together with what was told. */
  readonly sequence: ReadonlyArray<string>
  /** As in {@link ActedTwice}. */
  readonly hint?: string
}> {
  override get message(): string {
    const { hint = "", sequence, tool } = this
    const times = this.times === 1 ? "once" : `${this.times} times`
    return `A call to ${tool} is told as not executed, but the service acted ${times}:\n\n  ${sequence.join("\n  ")}\n${
      ending(hint)
    }`
  }
}

const ending = (hint: string): string => hint === "" ? "" : `\n${hint}\n`

/**
 * The tool does not work even without any fault: it does not reach the service, or does not succeed. Or it remembers earlier
 * sequences, or its own check (`Tool.reconcile`) always fails. So this check would prove nothing.
 *
 * @category failures
 * @since 0.1.0
 */
export class NeverSucceeded extends Data.TaggedError("NeverSucceeded")<{
  readonly tool: string
  /** How often the service acted. */
  readonly times: number
  /** The first result that the model received. Empty if it received none. */
  readonly told: string
  /** The JSON that the service answered after it acted, as text. Absent if it did not answer. */
  readonly answered?: string
  /** The first request that looked, and found nothing: the service has answered 404. Absent if there was none. */
  readonly nothingFound?: string
  /** The defect of the tool, or of the option `answer`. Absent if there was none. */
  readonly defect?: string
  /** Why the check could not see a second act, if the tool does succeed. */
  readonly blindness?: string
}> {
  override get message(): string {
    const { answered, blindness, defect, nothingFound, times, told, tool } = this
    if (blindness !== undefined) return `${tool} ${blindness}`
    const what = times === 0 ? "did not reach the service" : "reached the service, and did not succeed"
    return [
      `${tool} ${what}, though nothing went wrong.`,
      ...(defect === undefined ? [] : [defect]),
      ...(answered === undefined
        ? []
        : [`The service answered ${answered}. Set the option 'answer' if your service answers something else.`]),
      ...(nothingFound === undefined
        ? []
        : [
          `The service answered 404 to ${nothingFound}. Set the option 'found' if your service finds something then.`
        ]),
      ...(told === "" ? [] : [`The model was told: ${told}`]),
      ...(times === 0 && defect === undefined
        ? [
          "If its handler does send requests, let it use service.fetch, or the fetch of its context, or provide " +
          "FetchHttpClient.Fetch."
        ]
        : [])
    ].join(" ")
  }
}

/**
 * The tool did not come to an end: it sent 1,000 requests while no time passed, or it still ran after 3 hours
 * of virtual time.
 *
 * @category failures
 * @since 0.1.0
 */
export class NeverEnded extends Data.TaggedError("NeverEnded")<{
  readonly tool: string
  /** What the tool did until the check stopped it. */
  readonly why: string
  /** The first 20 events, one line each. */
  readonly sequence: ReadonlyArray<string>
}> {
  override get message(): string {
    return `${this.tool} did not come to an end: ${this.why}.\n\n  ${this.sequence.join("\n  ")}\n`
  }
}

// -----------------------------------------------------------------------------
// The check
// -----------------------------------------------------------------------------

/**
 * Checks that a tool cannot act twice for one call, and that a call is told as `not_executed` only if nothing was done.
 *
 * When to use: in a test, for each tool that pays, books or sends.
 *
 * Fails with {@link ActedTwice} if the service acts twice, and with {@link ToldWrongly} if it acts although the call is
 * told as not executed; both have the shortest sequence that was found. Fails with {@link NeverSucceeded} if the tool does
 * not work even without any fault, and with {@link NeverEnded} if it does not come to an end. Dies if the option `found`
 * throws, or if `reworded` names a field that cannot be changed.
 *
 * If the tool needs Effect services, provide them through the option `layer`, or to the Effect that `check`
 * returns.
 *
 * @example
 * ```ts
 * import { RetryPolicy, Tool, ToolCall, ToolFailure } from "@fallible/core"
 * import { ActsOnce, type FakeService } from "@fallible/testing"
 * import { Effect, Schema } from "effect"
 *
 * const pay = (sideEffect: "idempotent" | "idempotent_by_key") => (service: FakeService.FakeService) =>
 *   Tool.make("pay", {
 *     description: "Pays an order",
 *     parameters: Schema.Struct({ order: Schema.String }),
 *     success: Schema.Unknown,
 *     sideEffect,
 *     identity: ({ order }) => order,
 *     repeats: false
 *   }, ({ order }) =>
 *     Effect.flatMap(ToolCall.current, ({ idempotencyKey }) =>
 *       Effect.mapError(service.act({ key: idempotencyKey, body: order }), (error) => ToolFailure.from(error)))
 *   ).pipe(Tool.retry(RetryPolicy.transient))
 *
 * const check = { arguments: { order: "7" }, runs: 40 }
 *
 * const { runs } = await Effect.runPromise(ActsOnce.check({ ...check, tool: pay("idempotent_by_key") }))
 * runs // => 40
 *
 * const twice = await Effect.runPromise(Effect.flip(ActsOnce.check({ ...check, tool: pay("idempotent") })))
 * twice._tag === "ActedTwice" && twice.sequence
 * // => ["The model calls pay.", "Request 1, key a: the service acts, and the connection is lost.", "Request 2, key a: the service acts, and answers."]
 *
 * const hasty = () =>
 *   Tool.promise("pay", {
 *     description: "Pays an order",
 *     parameters: Schema.Struct({ order: Schema.String }),
 *     success: Schema.Unknown,
 *     sideEffect: "idempotent_by_key",
 *     identity: ({ order }) => order,
 *     repeats: false
 *   }, async ({ order }, { fetch, refuse }) => {
 *     const response = await fetch.withKey("https://bank.example/payments", { method: "POST", body: order })
 *     if (!response.ok) refuse("The bank declined.") // wrong: it may have paid, and then answered 500
 *     return await response.json()
 *   })
 *
 * const wrongly = await Effect.runPromise(Effect.flip(ActsOnce.check({ ...check, tool: hasty })))
 * wrongly._tag === "ToldWrongly" && wrongly.sequence
 * // => ["The model calls pay.", "Request 1, key a: the service acts, and answers 500.", "The call fails (The bank declined.), and is told as not executed."]
 *
 * const charge = (identity?: (charge: { readonly booking: string }) => string) => (service: FakeService.FakeService) =>
 *   Tool.make("charge", {
 *     description: "Charges a card",
 *     parameters: Schema.Struct({ booking: Schema.String, note: Schema.String }),
 *     success: Schema.Unknown,
 *     repeats: false,
 *     ...(identity === undefined ? {} : { identity })
 *   }, () => Effect.mapError(service.act(), (error) => ToolFailure.from(error)))
 *
 * const dinner = { arguments: { booking: "B-7", note: "Dinner for two" } }
 * const again = await Effect.runPromise(Effect.flip(ActsOnce.check({ ...dinner, tool: charge() })))
 * again._tag === "ActedTwice" && again.sequence[1]
 * // => "The model makes the call twice in this turn, in other words: note \"Dinner for two, again\"."
 *
 * const charged = await Effect.runPromise(ActsOnce.check({ ...dinner, tool: charge(({ booking }) => booking) }))
 * charged.runs // => 400
 * ```
 *
 * @category checks
 * @since 0.1.0
 */
export const check = <T extends Tool.Any, R = never, Provided = never>(
  options: Options<T, R, Provided>
): Effect.Effect<
  Checked,
  ActedTwice | ToldWrongly | NeverSucceeded | NeverEnded,
  Exclude<Tool.Requirements<T> | R, Provided>
> =>
  Effect.gen(function*() {
    const { runs = 400, seed = "acts once" } = options
    const spellings = spellingsOf(options)
    const plain = { options, spellings, words: spellings, ignoresWords: false }
    const sunny = yield* play(plain, nothingWrong)
    yield* hasEnded(sunny)
    if (sunny.acted === 0 || !sunny.isDone) return yield* toldWrongly(sunny) ?? neverSucceeded(sunny)
    const second = yield* play(plain, nothingWrong)
    if (second.acted === 0) return yield* neverSucceeded(second, remembers)
    const words = yield* wordsOf(sunny.tool, spellings, options.reworded)
    const game = { options, spellings, words, ignoresWords: yield* haveOneIdentity(sunny.tool, words) }
    const playable = {
      isByKey: sunny.tool.sideEffect === "idempotent_by_key",
      hasOtherWords: words.length > spellings.length,
      hasSpellings: words.length > 1,
      hasOrder: spellings.some((spelling) => Object.keys(spelling).length > 1),
      repeats: options.repeats ?? sunny.tool.repeats === true
    }
    let number = 0
    let inDoubt = 0
    let hasSettled = false
    let blind: Played | undefined
    let wrong: { readonly plan: Plan; readonly outcome: Played } | undefined
    for (const plan of yield* plans(runs, playable).pipe(Random.withSeed(seed))) {
      const outcome = yield* play(game, plan)
      if (outcome.acted > 1) return yield* failWithShortest(game, plan, outcome, actedTwice)
      yield* hasEnded(outcome)
      if (outcome.mistake !== undefined) return yield* Effect.die(new Error(outcome.mistake))
      if (outcome.wronglyTold !== undefined) wrong ??= { plan, outcome }
      if (outcome.failedLook !== undefined) blind ??= outcome
      hasSettled ||= outcome.hasSettled
      number++
      if (outcome.isInDoubt) inDoubt++
    }
    if (wrong !== undefined) return yield* failWithShortest(game, wrong.plan, wrong.outcome, toldWrongly)
    if (blind !== undefined && !hasSettled) return yield* neverSucceeded(blind, cannotLook(blind))
    return { runs: number, inDoubt }
  }).pipe(withVirtualTimers)

const actedTwice = (played: Played, hint: Hint | undefined = adviceOn(played)): ActedTwice | undefined =>
  played.acted > 1
    ? new ActedTwice({ tool: played.tool.name, times: played.acted, sequence: played.sequence, ...hint })
    : undefined

const toldWrongly = ({ tool, wronglyTold }: Played, hint?: Hint): ToldWrongly | undefined =>
  wronglyTold === undefined ? undefined : new ToldWrongly({ tool: tool.name, ...wronglyTold, ...hint })

const hasEnded = ({ sequence, tool, unended }: Played): Effect.Effect<void, NeverEnded> =>
  unended === undefined
    ? Effect.void
    : new NeverEnded({ tool: tool.name, why: unended, sequence: sequence.slice(0, 20) })

const remembers =
  "did not reach the service when a sequence was played again: it remembers the one before, so the check " +
  "would find nothing. Make its memory inside 'tool', which is called anew for each process."

const cannotLook = ({ failedLook }: Played) =>
  `has a check (Tool.reconcile) that failed whenever it was asked: ${failedLook} Set the option 'found' to what your service ` +
  "finds."

const neverSucceeded = (
  { acted, answered, defect, mistake = defect, nothingFound, told, tool }: Played,
  blindness?: string
) =>
  new NeverSucceeded({
    tool: tool.name,
    times: acted,
    told,
    ...(blindness === undefined ? {} : { blindness }),
    ...(answered === undefined ? {} : { answered: JSON.stringify(answered) }),
    ...(nothingFound === undefined ? {} : { nothingFound }),
    ...(mistake === undefined ? {} : { defect: mistake })
  })

const spellingsOf = <T extends Tool.Any, R, Provided>(
  { arguments: given }: Options<T, R, Provided>
): ReadonlyArray<object> => Array.isArray(given) ? given : [given]

// Several spellings of the user say exactly which other words there are.
const wordsOf = (tool: Tool.Any, spellings: ReadonlyArray<object>, reworded: ReadonlyArray<string> | undefined) => {
  const [first] = spellings
  return first === undefined || spellings.length > 1
    ? Effect.succeed(spellings)
    : Effect.map(
      inOtherWords(tool, { ...first }, reworded),
      (other) => other === undefined ? spellings : [first, other]
    )
}

// -----------------------------------------------------------------------------
// Reducing a plan
// -----------------------------------------------------------------------------

// Reduces the plan while the outcome is still wrong, and fails with the result.
const failWithShortest = <T extends Tool.Any, R, Provided, E>(
  game: Game<T, R, Provided>,
  plan: Plan,
  first: Played,
  wrongIn: (outcome: Played, hint?: Hint) => E | undefined
) =>
  Effect.gen(function*() {
    let [min, outcome] = [plan, first]
    for (let isSmaller = true; isSmaller;) {
      isSmaller = false
      for (const next of smallerPlans(min)) {
        const shorter = yield* play(game, next)
        if (wrongIn(shorter) === undefined) continue
        ;[min, outcome] = [next, shorter]
        isSmaller = true
        break
      }
    }
    const { options } = game
    const settle = settleOf(outcome.tool, options.policies)
    const lateBy = lateByOf(options)
    const isTooLate = min.faults.includes("dropped_and_acted_later") && settle !== undefined &&
      Duration.isLessThanOrEqualTo(settle, lateBy) &&
      wrongIn(yield* play({ ...game, options: { ...options, lateBy: Duration.times(settle, 0.5) } }, min)) === undefined
    return yield* Effect.fail(wrongIn(outcome, isTooLate ? tooLate(lateBy, settle) : undefined)!)
  })
