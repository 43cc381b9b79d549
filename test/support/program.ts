import { Effect } from "effect"
import { execFile } from "node:child_process"
import { fileURLToPath } from "node:url"

export interface Finished {
  readonly code: number
  readonly stdout: string
  readonly stderr: string
}

export const root = fileURLToPath(new URL("../..", import.meta.url))

/** Runs a program of this repository as a user would, in a process of its own. */
export const runNode = (file: string, ...args: ReadonlyArray<string>): Effect.Effect<Finished> =>
  Effect.callback<Finished>((resume, signal) => {
    execFile(
      process.execPath,
      [file, ...args],
      { cwd: root, signal },
      (error, stdout, stderr) =>
        resume(
          Effect.succeed({
            code: typeof error?.code === "number" ? error.code : error === null ? 0 : -1,
            stdout,
            stderr
          })
        )
    )
  })

/** Output without what differs from run to run: how long things took. */
export const withoutTimings = (output: string): string => output.replace(/\d+ ms/g, "… ms")
