/** Tools whose handlers are async functions, and promises that a test settles. */
import { Tool } from "@fallible/core"
import { Cause, Exit, Option, Schema } from "effect"

export const reading = { description: "Reads", success: Schema.String, sideEffect: "none" } as const
export const acting = { description: "Acts", success: Schema.String } as const

/** A promise that somebody settles from outside. */
export const deferred = <A>() => {
  let resolve: (value: A) => void = () => {}
  let reject: (error: unknown) => void = () => {}
  const promise = new Promise<A>((yes, no) => {
    resolve = yes
    reject = no
  })
  return { promise, resolve, reject }
}

/** A tool that answers when somebody settles it from outside, whatever its signal says. */
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
