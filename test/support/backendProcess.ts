/** The HTTP backend of example 4 as a process of its own, started by its command. */
import { Effect } from "effect"
import { spawn } from "node:child_process"
import { environment, root } from "./program.ts"

/** Starts the example as a process, until it has printed its address. */
export const started = (...args: ReadonlyArray<string>) =>
  Effect.acquireRelease(
    Effect.callback<Started>((resume) => {
      const child = spawn(process.execPath, ["examples/run.ts", "backend", ...args], {
        cwd: root,
        env: environment({})
      })
      const ended = new Promise<Ended>((ends) => child.on("close", (code, signal) => ends({ code, signal })))
      let printed = ""
      child.stdout.on("data", (chunk: Buffer) => {
        printed += chunk.toString("utf8")
        const url = /http:\/\/[\d.]+:\d+/.exec(printed)?.[0]
        if (url !== undefined) resume(Effect.succeed({ url, kill: (signal) => child.kill(signal), ended }))
      })
      child.on("close", () => resume(Effect.die(new Error(`The backend printed no address: ${printed}`))))
    }),
    ({ kill }) => Effect.sync(() => void kill("SIGKILL"))
  )

interface Ended {
  readonly code: number | null
  readonly signal: string | null
}
export interface Started {
  readonly url: string
  readonly kill: (signal: NodeJS.Signals) => boolean
  readonly ended: Promise<Ended>
}
