/*
 * What a call has done, as far as it is known. It is a fold over the events of the call, and decides whether the tool may
 * begin again (`mayBegin`), and what is told of the call (`known`).
 */
import type { CallEvent } from "../../CallEvent.ts"
import type { Doubt } from "../../Certainty.ts"
import type { Suspended } from "../../ToolOutcome.ts"
import { both, type Effects, effectsOf, isInDoubt, withoutDoubt } from "../failure/effects.ts"

/** What a call has done so far. */
export interface Done {
  /**
   * Number of attempts that have begun and not ended. For a read-only tool this number never
   * decreases, because the ends of a read-only tool's attempts are not counted.
   */
  readonly running: number
  /**
   * Combined effects of all ended attempts, including everything that ran inside them. A later
   * success clears the doubt about earlier attempts.
   */
  readonly own: Effects
  /** Combined effects of the inner tools of the current attempt. */
  readonly inside: Effects
  /** The keys of those inner tools that have ended in doubt. A later run under such a key can settle the doubt. */
  readonly doubted: ReadonlyArray<string>
  /** Combined effects of those inner tools, in any attempt, that would act again if they ran again. */
  readonly lasting: Effects
  /** The keys of those of them that have ended in doubt; empty texts for those without one. */
  readonly lastingDoubts: ReadonlyArray<string>
  /** Number of acting inner tools and sources that have started and not ended. */
  readonly acting: number
  /**
   * Combined effects of the sources (of fallbacks, for example) that answered in place of the
   * handler. The called tool's own `reconcile` check cannot clear the doubt about a source.
   */
  readonly sources: Effects
  /** True if some of the doubt is more than a refusal that is not proved. */
  readonly isHard: boolean
  /** The effects of a resumed call before it was suspended. Nothing clears what had certainly been done by then. */
  readonly earlier: Effects
  /** True if a part of that would act again if the call ran again. */
  readonly wasLasting: boolean
  /** True if a source has answered and the library cannot tell whether that source acts. */
  readonly isAnswered: boolean
  /** True if the called tool itself has refused the request. */
  readonly isRefused: boolean
  /** True if the idempotency key may already have been sent before this call began. */
  readonly isRepeated: boolean
  /** True if the latest attempt has ended late and in doubt, and operators were told so (`LateResult`). */
  readonly isReported: boolean
}

/** What a call has done before its first event. */
export const nothing: Done = {
  running: 0,
  own: "none",
  inside: "none",
  doubted: [],
  lasting: "none",
  lastingDoubts: [],
  acting: 0,
  sources: "none",
  isHard: false,
  earlier: "none",
  wasLasting: false,
  isAnswered: false,
  isRefused: false,
  isRepeated: false,
  isReported: false
}

// Nearly all calls pass through only these states, so they are shared to avoid allocation.
const begunOnce: Done = { ...nothing, running: 1 }
const executedOnce: Done = { ...nothing, own: "done" }

/** What a call has done at first if its idempotency key may already have been sent. */
export const doneBeforeRepeat: Done = { ...nothing, isRepeated: true }

/**
 * What a resumed call has done at first: what it had done when it was suspended.
 *
 * A call that certainly acted before it asked the user acts again: its author accepted that by asking after acting. A
 * call in doubt runs again only if that is safe.
 *
 * @param isCleared true if a later success clears the doubt about earlier attempts
 */
export const doneBeforeResume = (
  { certainty = "not_executed", effects = effectsOf(certainty), intent, lasting }: Partial<
    Pick<Suspended, "certainty" | "effects" | "intent" | "lasting">
  >,
  isCleared: boolean
): Done => {
  const wasLasting = (lasting ?? intent?.lasting) === true
  const done = { ...nothing, earlier: withoutDoubt(effects), wasLasting }
  if (!isInDoubt(effects)) return done
  return isCleared && !wasLasting
    ? { ...done, isHard: true, isRepeated: true, own: "maybe" }
    : {
      ...done,
      isHard: true,
      inside: "maybe",
      doubted: ["an earlier part"],
      lasting: "maybe",
      lastingDoubts: [""]
    }
}

// -----------------------------------------------------------------------------
// Events
// -----------------------------------------------------------------------------

/** The events that change what a call has done. */
type Changing = Extract<
  CallEvent,
  {
    readonly _tag:
      | "ArgumentsCorrected"
      | "AttemptEnded"
      | "AttemptStarted"
      | "CallRepeated"
      | "PolicyActed"
      | "InnerActs"
      | "InnerEnded"
      | "LateRequest"
      | "OutcomeSettled"
  }
>

/** Returns what the call has done after one more event. */
export const doneAfter = (done: Done, event: Changing): Done => {
  switch (event._tag) {
    case "AttemptStarted":
      // The effects of an earlier attempt still count.
      return done === nothing ? begunOnce : {
        ...done,
        running: done.running + 1,
        isReported: false,
        own: both(done.own, done.inside),
        inside: "none",
        doubted: []
      }
    case "AttemptEnded":
      return event.inside === undefined ? afterAttempt(done, event) : done
    case "InnerActs":
      return event.by === "policy" ? done : { ...done, acting: done.acting + 1 }
    case "InnerEnded":
      return afterInner(done, event)
    case "LateRequest":
      return {
        ...done,
        isHard: true,
        own: both(done.own, "maybe"),
        ...(event.inside === undefined ? {} : withLasting(done, "maybe"))
      }
    case "OutcomeSettled":
      // A check can clear doubt, but it never undoes a known effect.
      return {
        ...done,
        isHard: done.isHard && (isInDoubt(event.effects) || isInDoubt(done.sources)),
        own: both(withoutDoubt(done.own), event.effects),
        inside: withoutDoubt(done.inside),
        doubted: [],
        lasting: withoutDoubt(done.lasting),
        lastingDoubts: []
      }
    case "PolicyActed":
      return { ...done, isHard: done.isHard || isInDoubt(event.effects), sources: both(done.sources, event.effects) }
    case "CallRepeated":
      // One key means one effect, so the earlier call with this key counts as an ended attempt of this call.
      return {
        ...done,
        isRepeated: true,
        isHard: done.isHard || isHardDoubt(event),
        own: both(done.own, event.effects),
        ...(event.lasting === true ? withLasting(done, event.effects) : {})
      }
    case "ArgumentsCorrected":
      // The tool has refused the earlier arguments, but not the corrected ones.
      return done.isRefused ? { ...done, isRefused: false } : done
  }
}

const afterAttempt = (
  done: Done,
  { doubt, effects, late, refused }: CallEvent & { readonly _tag: "AttemptEnded" }
): Done => {
  // The end of a read-only tool's attempt has no effects.
  if (effects === undefined) return done
  if (done === begunOnce && effects === "done") return executedOnce
  const all = both(done.own, effects)
  // An attempt that certainly took effect clears the doubt about all other attempts, even about later ones.
  const isCleared = effects === "done" || done.own === "done"
  return {
    ...done,
    running: done.running - 1,
    own: isCleared ? withoutDoubt(all) : all,
    isHard: isCleared
      ? done.isHard && (isInDoubt(done.lasting) || isInDoubt(done.sources))
      : done.isHard || isHardDoubt({ effects, doubt }),
    isRefused: done.isRefused || refused === true,
    // A report that this attempt did nothing says nothing about the doubt of an earlier one.
    isReported: late === true && isInDoubt(effects)
  }
}

const afterInner = (
  done: Done,
  { acts, answered, by, doubt, effects, key, lasting }: CallEvent & { readonly _tag: "InnerEnded" }
): Done => {
  // Tools that a policy or a fixer runs for its own purposes do not count as effects of the called tool.
  if (by === "policy") return done
  const ended = {
    ...done,
    acting: done.acting - (acts === true ? 1 : 0),
    isHard: done.isHard || isHardDoubt({ effects, doubt })
  }
  if (by === "source") {
    return { ...ended, sources: both(done.sources, effects), isAnswered: done.isAnswered || answered === true }
  }
  // One key means one effect, so a run under the key of one in doubt tells what both of them did.
  const doubted = done.doubted.filter((other) => other !== key)
  const isSettled = doubted.length === 0 && done.doubted.length > 0
  const lastingDoubts = done.lastingDoubts.filter((other) => other !== key)
  const isLastingSettled = lastingDoubts.length === 0 && done.lastingDoubts.length > 0
  const known = {
    ...ended,
    inside: both(isSettled ? withoutDoubt(done.inside) : done.inside, effects),
    doubted: isInDoubt(effects) ? [...doubted, key ?? ""] : doubted,
    lasting: isLastingSettled ? withoutDoubt(done.lasting) : done.lasting,
    lastingDoubts
  }
  return lasting === true ? { ...known, ...withLasting(known, effects, key) } : known
}

/** Adds effects of something inside that would act again if it ran again. */
const withLasting = (
  { lasting, lastingDoubts }: Pick<Done, "lasting" | "lastingDoubts">,
  effects: Effects,
  key = ""
): Pick<Done, "lasting" | "lastingDoubts"> => ({
  lasting: both(lasting, effects),
  lastingDoubts: isInDoubt(effects) ? [...lastingDoubts, key] : lastingDoubts
})

// True if effects are in doubt, and the doubt is more than a refusal that is not proved.
const isHardDoubt = ({ doubt, effects }: { readonly doubt?: Doubt | undefined; readonly effects: Effects }): boolean =>
  isInDoubt(effects) && doubt !== "soft"

// -----------------------------------------------------------------------------
// What is known
// -----------------------------------------------------------------------------

/** True if something inside the call acts, or may have acted, and would act again if the call ran again. */
export const isLasting = ({ acting, lasting }: Done): boolean => lasting !== "none" || acting > 0

/** True if an attempt or an inner tool that may act is still running. */
export const isActing = ({ acting, running }: Done, acts: boolean): boolean => acting > 0 || acts && running > 0

/** Returns the combined effects of all attempts of an acting tool, and of everything that ran inside them. */
export const effectsOfAttempts = ({ acting, inside, lasting, own, running }: Done): Effects => {
  const ended = both(both(own, inside), lasting)
  // A running attempt adds no doubt once another attempt has certainly taken effect.
  return acting > 0 || running > 0 && own !== "done" ? both(ended, "maybe") : ended
}

/**
 * Returns the combined effects of a call.
 *
 * @param acts whether the called tool itself acts (has side effects); a read-only tool can take
 * effect only through inner tools
 * @param hasAnswer whether the call has an answer; for a read-only tool, an answer clears the doubt
 * about earlier attempts
 */
export const effectsIn = (done: Done, acts: boolean, hasAnswer: boolean): Effects => {
  const { acting, earlier, inside, isAnswered, lasting, running, sources } = done
  const own = !acts && hasAnswer ? withoutDoubt(done.own) : done.own
  // Fast path: most calls run attempts, and nothing else.
  const isPlain = inside === "none" && lasting === "none" && sources === "none" && earlier === "none"
  if (isPlain && acting === 0 && !isAnswered && (!acts || running === 0)) return own
  const attempts = effectsOfAttempts(acts ? done : { ...done, running: 0, own })
  const all = both(both(attempts, sources), earlier)
  // A source has answered and may have acted, although the call failed afterwards.
  return acts && isAnswered && !hasAnswer ? both(all, "maybe") : all
}

/**
 * Returns how strong the doubt about a call is; `undefined` if there is none. What still runs may yet act, and a call that
 * has done a part was not refused.
 *
 * @param effects the combined effects of the call
 */
export const doubtIn = (
  { acting, isAnswered, isHard, running }: Done,
  effects: Effects,
  acts: boolean
): Doubt | undefined =>
  !isInDoubt(effects)
    ? undefined
    : isHard || effects !== "maybe" || isAnswered || acting > 0 || acts && running > 0
    ? "hard"
    : "soft"
