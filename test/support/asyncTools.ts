/** Tools with async handlers, and promises that a test settles. */
import { Tool } from "@fallible/core"
import { Cause, Exit, Option, Schema } from "effect"

export const reading = { description: "Reads", success: Schema.String, sideEffect: "none" } as const
export const acting = { description: "Acts", success: Schema.String } as const

/** Makes a promise that the test settles. */
export const deferred = <A>() => {
  let resolve: (value: A) => void = () => {}
  let reject: (error: unknown) => void = () => {}
  const promise = new Promise<A>((yes, no) => {
    resolve = yes
    reject = no
  })
  return { promise, resolve, reject }
}

/** Makes a tool that answers when the test settles its promise. It ignores its abort signal. */
export const slow = (definition: Parameters<typeof Tool.promise<"slow", string>>[1]) => {
  const pending: Array<ReturnType<typeof deferred<string>>> = []
  let aborted = 0
  const tool = Tool.promise("slow", definition, (_, { signal }) => {
    signal.addEventListener("abort", () => aborted++)
    const next = deferred<string>()
    pending.push(next)
    return next.promise
  })
  return { tool, pending, aborted: () => aborted }
}

export const refused = () => Object.assign(new Error("connect ECONNREFUSED 127.0.0.1:1"), { code: "ECONNREFUSED" })

export const failureIn = <A, E>(exit: Exit.Exit<A, E>): E =>
  Option.getOrThrow(Exit.isFailure(exit) ? Cause.findErrorOption(exit.cause) : Option.none())
