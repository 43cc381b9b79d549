/**
 * Comes back after a lost connection. The run goes on meanwhile, and its answer is read from the beginning.
 *
 *     the stream breaks ─ wait, or the network is back ─ resume
 *     the network goes, and the stream hangs ─ the network is back ─ leave the stream ─ resume
 */
import type { UseChatHelpers } from "@ai-sdk/react"
import { useEffect, useRef, useState } from "react"
import type { Message } from "./message.ts"
import * as server from "./server.ts"

type Chat = Pick<UseChatHelpers<Message>, "error" | "resumeStream" | "status" | "stop">

/** Returns whether the connection is lost in the middle of something. */
export const useReconnecting = ({ error, resumeStream, status, stop }: Chat): boolean => {
  const [isOffline, setOffline] = useState(false)
  const attempts = useRef(0)
  const isBroken = server.isLost(error)
  const isReading = status === "submitted" || status === "streaming"

  useEffect(() => {
    const away = () => setOffline(true)
    const back = () => setOffline(false)
    addEventListener("offline", away)
    addEventListener("online", back)
    return () => {
      removeEventListener("offline", away)
      removeEventListener("online", back)
    }
  }, [])

  // Each attempt that fails has an error of its own.
  useEffect(() => {
    if (!isBroken) {
      attempts.current = 0
      return
    }
    if (isOffline) return
    const wait = attempts.current === 0 ? 0 : Math.min(8000, 250 * 2 ** attempts.current)
    attempts.current++
    const timer = setTimeout(() => void resumeStream(), wait)
    return () => clearTimeout(timer)
  }, [error, isOffline])

  const hangs = useRef(false)
  useEffect(() => {
    if (isOffline && isReading) hangs.current = true
    if (isOffline || !hangs.current) return
    hangs.current = false
    // It is left in this browser alone.
    if (isReading) void stop().then(() => resumeStream())
  }, [isOffline, isReading])

  return isBroken || isOffline && isReading
}
