/**
 * `useChat`, with what a page needs beside it: it comes back after a lost connection, reads the messages again if the server has
 * taken something else than the page shows, and really stops a run.
 */
import { useChat } from "@ai-sdk/react"
import type { JSONValue } from "ai"
import { useCallback, useEffect, useMemo, useRef, useState } from "react"
import { type Message, textOf } from "./message.ts"
import * as server from "./server.ts"
import { Transport } from "./transport.ts"
import { useReconnecting } from "./useReconnecting.ts"

/** What the server said of the last thing that the page asked of it. */
export interface Problem {
  readonly text: string
  /** The approval that it is about. */
  readonly approval?: string
}

/** A decision of the customer. `edited` are other arguments to approve. */
export interface Decision {
  readonly id: string
  readonly approved: boolean
  readonly reason?: string
  readonly edited?: { readonly [name: string]: JSONValue }
}

const refusalOf = (error: Error): server.Refused =>
  error instanceof server.Refused ? error : server.refusal(error.message)

/** @param onUnsent gets a question that the server has not taken */
export const useServer = (id: string, first: Array<Message>, onUnsent: (text: string) => void) => {
  const [problem, setProblem] = useState<Problem>()
  const [isStopping, setStopping] = useState(false)
  const deciding = useRef<string>(undefined)
  /** How often the customer has done something. */
  const acts = useRef(0)
  const nothingRuns = useRef<() => void>(() => {})
  const transport = useMemo(() => new Transport(() => nothingRuns.current()), [])
  const chat = useChat<Message>({
    id,
    messages: first,
    transport,
    resume: true
  })
  const { addToolApprovalResponse, clearError, error, regenerate, resumeStream, sendMessage, setMessages, status } =
    chat
  const isLost = useReconnecting(chat)
  const isBusy = isLost || status === "submitted" || status === "streaming"

  /** Shows what the server has. Tells whether the page had a question that the server has not: it was not sent. */
  const refresh = useCallback(async (): Promise<boolean> => {
    const before = acts.current
    const messages = await server.messagesOf(id)
    // Meanwhile, the customer has gone on.
    if (before !== acts.current) return false
    let unsent: Message | undefined
    setMessages((shown) => {
      const last = shown.findLast(({ role }) => role === "user")
      unsent = messages.some(({ id }) => id === last?.id) ? undefined : last
      return messages
    })
    if (unsent !== undefined) onUnsent(textOf(unsent))
    return unsent !== undefined
  }, [id, onUnsent, setMessages])

  const say = (error: unknown) => {
    const isLost = error instanceof Error && server.isLost(error)
    setProblem({
      text: isLost
        ? "The connection was lost. Try again."
        : refusalOf(error instanceof Error ? error : new Error()).message
    })
  }

  nothingRuns.current = () => {
    refresh().then((isUnsent) => {
      if (isUnsent) setProblem({ text: "The connection was lost, and your question was not sent. Ask it again." })
    }).catch(say)
  }

  useEffect(() => {
    if (error === undefined || server.isLost(error)) return
    const { code, message } = refusalOf(error)
    // What is wrong with a decision is said where it was made. It can be made again.
    const approval = code === "invalid_reply" ? deciding.current : undefined
    setProblem(approval === undefined ? { text: message } : { text: message, approval })
    refresh().then(() => {
      clearError()
      // Another page of this conversation has asked: follow it.
      return code === "conversation_busy" ? resumeStream() : undefined
    }).catch(say)
  }, [error])

  // Meanwhile, another page of this conversation may have asked something.
  useEffect(() => {
    const look = () => {
      if (document.visibilityState === "visible" && !isBusy) void resumeStream()
    }
    document.addEventListener("visibilitychange", look)
    return () => document.removeEventListener("visibilitychange", look)
  }, [isBusy, resumeStream])

  const begin = (approval?: string) => {
    acts.current++
    setProblem(undefined)
    deciding.current = approval
  }

  return {
    messages: chat.messages,
    problem,
    isBusy,
    isLost,
    isStopping,
    ask: (text: string) => {
      begin()
      void sendMessage({ text })
    },
    again: () => {
      begin()
      void regenerate()
    },
    decide: async ({ edited, ...decision }: Decision) => {
      begin(decision.id)
      await addToolApprovalResponse(decision)
      void sendMessage(undefined, edited === undefined ? {} : { body: { edits: { [decision.id]: edited } } })
    },
    stop: async () => {
      setProblem(undefined)
      setStopping(true)
      // The run says itself that it was stopped, to every page that shows it.
      await server.stop(id).catch(say)
      setStopping(false)
    }
  }
}
