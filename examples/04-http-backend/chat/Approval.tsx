/** The form in which a customer decides about a call. */
import type { AiSdk } from "@fallible/ai-sdk"
import { getToolName, type JSONValue } from "ai"
import { type FormEvent, type KeyboardEvent, useEffect, useId, useLayoutEffect, useRef, useState } from "react"
import type { CallPart } from "./call.ts"
import * as server from "./server.ts"
import type { Decision } from "./useServer.ts"

/** What the customer has written so far. It outlives the form, which comes back if the server refuses the decision. */
export interface Draft {
  readonly amount?: string
  readonly reason?: string
}

interface Props {
  readonly part: Extract<CallPart, { state: "approval-requested" }>
  readonly draft: Draft
  readonly onDraft: (draft: Draft) => void
  readonly isBusy: boolean
  readonly problem: string | undefined
  readonly onDecide: (decision: Decision) => void
  readonly onAgain: () => void
}

export const Approval = (props: Props) => {
  const { draft: { amount }, isBusy, onAgain, onDecide, part, problem } = props
  const { expires, preview, text = "" } = descriptorOf(part)
  const what = preview ?? text
  const left = useTimeLeft(expires)
  const isLate = left !== undefined && left <= 0
  const form = useRef<HTMLFormElement>(null)
  const again = useRef<HTMLButtonElement>(null)
  const shown = amountIn(part, what)

  useEffect(() => {
    if (problem !== undefined) (form.current?.querySelector("input") ?? form.current)?.focus()
  }, [problem])

  // The fields are gone, and the focus must not be.
  const hadFocus = form.current?.contains(document.activeElement) === true
  useLayoutEffect(() => {
    if (isLate && hadFocus) again.current?.focus()
  }, [isLate])

  const approve = (submitted: FormEvent) => {
    submitted.preventDefault()
    if (isBusy || isLate) return
    const edited = { ...objectOf(part.input), cents: Math.round(Number(amount) * 100) }
    onDecide({ id: part.approval.id, approved: true, ...(isChanged(amount, shown) ? { edited } : {}) })
  }

  return (
    <form ref={form} aria-label={`The assistant asks you: ${what}`} tabIndex={-1} onSubmit={approve}>
      <fieldset>
        <legend>{what}</legend>
        {isLate ?
          (
            <div className="buttons">
              <button ref={again} type="button" aria-disabled={isBusy} onClick={() => isBusy || onAgain()}>
                Ask again
              </button>
            </div>
          ) :
          <Fields {...props} shown={shown} />}
        {left !== undefined && left > 0 && <p className="until" role="timer">{timeOf(left)} left to decide</p>}
        <p className="until" role="status">{warningOf(left)}</p>
      </fieldset>
    </form>
  )
}

const isChanged = (amount: string | undefined, shown: string | undefined): amount is string =>
  amount !== undefined && amount !== "" && amount !== shown

/**
 * What a customer writes and presses while there is time.
 *
 * @param shown the amount that would be refunded; absent if there is none
 */
const Fields = ({ draft, isBusy, onDecide, onDraft, part, problem, shown }: Props & {
  readonly shown: string | undefined
}) => {
  const wrongId = useId()
  const { amount = shown, reason = "" } = draft

  const deny = () => {
    if (isBusy) return
    const { id } = part.approval
    onDecide({ id, approved: false, ...(reason.trim() === "" ? {} : { reason: reason.trim() }) })
  }
  const denyByEnter = (event: KeyboardEvent) => {
    if (event.key !== "Enter") return
    event.preventDefault()
    deny()
  }

  return (
    <>
      {shown !== undefined && (
        <label>
          Amount to refund
          <input
            type="number"
            min="0.01"
            step="0.01"
            // Without a price, no amount means all of it.
            required={shown !== ""}
            value={amount}
            aria-describedby={wrongId}
            onChange={({ target }) => onDraft({ ...draft, amount: target.value })}
          />
        </label>
      )}
      <label>
        Reason, if you deny it (optional)
        <input
          maxLength={300}
          autoComplete="off"
          value={reason}
          onChange={({ target }) => onDraft({ ...draft, reason: target.value })}
          onKeyDown={denyByEnter}
        />
      </label>
      <p id={wrongId} className="wrong" role="alert">{problem}</p>
      <div className="buttons">
        <button type="submit" aria-disabled={isBusy}>
          {isChanged(amount, shown) ? `Approve ${amount} instead` : "Approve"}
        </button>
        <button type="button" className="plain" aria-disabled={isBusy} onClick={deny}>Deny</button>
      </div>
    </>
  )
}

/** What a screen reader says of the time, once each. */
const warningOf = (left: number | undefined): string => {
  if (left === undefined || left > 60_000) return ""
  return left > 0 ? "Less than a minute is left to decide." : "It is too late to approve this, so it was not done."
}

/** The server wrote the descriptor, but its type does not say so. */
const descriptorOf = ({ approval: { descriptor } }: Props["part"]): Partial<AiSdk.UiApproval> =>
  typeof descriptor === "object" && descriptor !== null ? descriptor : {}

const objectOf = (input: unknown): { readonly [name: string]: JSONValue } =>
  typeof input === "object" && input !== null ? { ...input } : {}

/** The amount of a refund. Without one in the arguments, it is the whole price, which only the preview says. */
const amountIn = (part: CallPart, preview: string): string | undefined => {
  if (getToolName(part) !== "refund_order") return undefined
  const { cents } = objectOf(part.input)
  return typeof cents === "number" ? (cents / 100).toFixed(2) : /\d+\.\d\d/.exec(preview)?.[0] ?? ""
}

/** How many milliseconds are left, second by second. */
const useTimeLeft = (expires: number | undefined): number | undefined => {
  const [now, setNow] = useState(server.now)
  useEffect(() => {
    if (expires === undefined) return
    const timer = setInterval(() => setNow(server.now()), 1000)
    return () => clearInterval(timer)
  }, [expires])
  return expires === undefined ? undefined : expires - now
}

const timeOf = (ms: number): string => {
  const seconds = Math.ceil(ms / 1000)
  return `${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, "0")}`
}
