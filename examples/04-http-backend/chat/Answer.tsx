/** One message: what the customer asked, or what the assistant did and said. */
import { isToolUIPart } from "ai"
import { useState } from "react"
import { Approval, type Draft } from "./Approval.tsx"
import { type Call, meaningOf, recoveryOf, titleOf, toneOf } from "./call.ts"
import type { Message, Part } from "./message.ts"
import type { Decision, Problem } from "./useServer.ts"

/** What a customer can do about the last message. */
interface Acts {
  readonly isBusy: boolean
  readonly problem: Problem | undefined
  readonly onDecide: (decision: Decision) => void
  readonly onAgain: () => void
}

export const Question = ({ text }: { readonly text: string }) => (
  <article>
    <h2>You</h2>
    <p className="asked">{text}</p>
  </article>
)

/** @param acts absent if the conversation has gone on: what is open in this message is no longer */
export const Answer = (
  { acts, message: { parts } }: { readonly message: Message; readonly acts: Acts | undefined }
) => (
  <article aria-busy={acts?.isBusy === true}>
    <h2>Assistant</h2>
    {parts.map((part, index) => <PartOf key={keyOf(part, index)} part={part} parts={parts} acts={acts} />)}
  </article>
)

const keyOf = (part: Part, index: number) => isToolUIPart(part) ? part.toolCallId : index

const PartOf = (
  { acts, part, parts }: { readonly part: Part; readonly parts: Message["parts"]; readonly acts: Acts | undefined }
) => {
  if (isToolUIPart(part)) return <CallOf call={{ part, recovery: recoveryOf(parts, part.toolCallId) }} acts={acts} />
  if (part.type === "text" && part.text !== "") return <p>{part.text}</p>
  if (part.type === "data-notice") return <p className="notice">{part.data.text}</p>
  if (part.type === "data-postponed") return <p className="notice">{part.data.message}</p>
  return null
}

const CallOf = ({ acts, call }: { readonly call: Call; readonly acts: Acts | undefined }) => {
  const [draft, setDraft] = useState<Draft>({})
  const { part } = call
  if (part.state === "approval-requested" && acts !== undefined) {
    const { isBusy, onAgain, onDecide, problem } = acts
    return (
      <div className="call asks">
        <Approval
          part={part}
          draft={draft}
          onDraft={setDraft}
          isBusy={isBusy}
          problem={problem?.approval === part.approval.id ? problem.text : undefined}
          onDecide={onDecide}
          onAgain={onAgain}
        />
      </div>
    )
  }
  return (
    <div className={`call ${toneOf(call)}`}>
      <p className="quiet">{titleOf(part)}</p>
      <p className="meaning">
        {part.state === "approval-requested" ? "Nothing was done: nobody approved it." : meaningOf(call)}
      </p>
    </div>
  )
}
