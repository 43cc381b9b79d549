/** The page: the messages, and the form to ask. */
import { isToolUIPart } from "ai"
import { type FormEvent, useCallback, useEffect, useRef, useState } from "react"
import { Answer, Question } from "./Answer.tsx"
import { progressOf } from "./call.ts"
import { type Message, textOf } from "./message.ts"
import { useServer } from "./useServer.ts"

interface Props {
  readonly id: string
  readonly messages: Array<Message>
  /** Something to say at first. */
  readonly notice: string
}

/** The form of an open approval, if there is one. */
const openForm = () => document.querySelector<HTMLFormElement>("article form")

export const Chat = ({ id, messages: first, notice }: Props) => {
  const [text, setText] = useState("")
  const field = useRef<HTMLInputElement>(null)
  const onUnsent = useCallback((unsent: string) => setText((text) => text === "" ? unsent : text), [])
  const { again, ask, decide, isBusy, isLost, isStopping, messages, problem, stop } = useServer(id, first, onUnsent)
  const last = messages.at(-1)
  const isAsking = !isBusy && last?.role === "assistant" &&
    last.parts.some((part) => isToolUIPart(part) && part.state === "approval-requested")

  useEffect(() => {
    // Who is writing goes on writing. The form has the focus, and none of its buttons: Enter must not approve.
    if (isAsking && field.current === document.activeElement && field.current?.value === "") openForm()?.focus()
  }, [isAsking])

  // The page follows an answer, unless its reader has scrolled up.
  useEffect(() => {
    const { scrollHeight } = document.documentElement
    if (innerHeight + scrollY > scrollHeight - 300) scrollTo(0, scrollHeight)
  }, [messages])

  const submit = (submitted: FormEvent) => {
    submitted.preventDefault()
    if (isBusy || text.trim() === "") return
    ask(text)
    setText("")
  }

  const status = () => {
    if (isLost) return "The connection was lost. Reconnecting …"
    if (isStopping) return "Stopping …"
    if (isBusy) return progressOf(last) || "Working …"
    // The form of an approval says itself what is wrong with it.
    if (problem !== undefined && problem.approval === undefined) return problem.text
    return isAsking ? "The assistant asks you something." : notice
  }

  /** A button that is about to vanish must not take the focus with it. */
  const home = () => field.current?.focus()

  return (
    <>
      <header>
        <h1>Support desk</h1>
        <p>
          Ask about an order of the shop, from o-1000 to o-1999. All of them are invented. Try: “Refund order o-1003,
          please.” or “Refund the office chair, o-1004.”
        </p>
      </header>
      <main>
        <div role="log" aria-label="Messages">
          {messages.map((message) =>
            message.role === "user" ? <Question key={message.id} text={textOf(message)} /> : (
              <Answer
                key={message.id}
                message={message}
                acts={message !== last ? undefined : {
                  isBusy,
                  problem,
                  onAgain: () => {
                    home()
                    again()
                  },
                  onDecide: (decision) => {
                    home()
                    void decide(decision)
                  }
                }}
              />
            )
          )}
        </div>
      </main>
      <form className="ask" aria-label="Ask" onSubmit={submit}>
        <p className="status" role="status">{status()}</p>
        <label htmlFor="question">Your question</label>
        <input
          id="question"
          ref={field}
          maxLength={2000}
          autoComplete="off"
          autoFocus
          value={text}
          onChange={({ target }) => setText(target.value)}
        />
        <div className="buttons">
          <button type="submit" aria-disabled={isBusy}>Ask</button>
          <button type="button" className="plain" aria-disabled={!isBusy} onClick={() => isBusy && void stop()}>
            Stop
          </button>
          <button
            type="button"
            className="plain"
            aria-disabled={isBusy || messages.length === 0}
            onClick={() => isBusy || messages.length === 0 || again()}
          >
            Regenerate
          </button>
        </div>
      </form>
    </>
  )
}
