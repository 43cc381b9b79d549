import { Effect } from "effect"
import { execFile, spawn } from "node:child_process"
import { fileURLToPath } from "node:url"

export interface Finished {
  readonly code: number
  readonly stdout: string
  readonly stderr: string
}

export const root = fileURLToPath(new URL("../..", import.meta.url))

/** No model by accident: what the environment of the tests says of one does not reach a program. */
const environment = (env: Readonly<Record<string, string>>) => ({
  ...process.env,
  OLLAMA_HOST: "",
  OPENAI_BASE_URL: "",
  OPENAI_API_KEY: "",
  ...env
})

/** Runs a program of this repository as a user would, in a process of its own. */
export const runNode = (file: string, ...args: ReadonlyArray<string>): Effect.Effect<Finished> =>
  runNodeIn({}, file, ...args)

/** The same in an environment that says more. */
export const runNodeIn = (
  env: Readonly<Record<string, string>>,
  file: string,
  ...args: ReadonlyArray<string>
): Effect.Effect<Finished> =>
  Effect.callback<Finished>((resume, signal) => {
    execFile(
      process.execPath,
      [file, ...args],
      { cwd: root, env: environment(env), signal },
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

/** What a program has printed when it has printed a text; then it is ended. */
export const printedUpTo = (
  text: string,
  env: Readonly<Record<string, string>>,
  file: string,
  ...args: ReadonlyArray<string>
): Effect.Effect<string> =>
  Effect.callback<string>((resume, signal) => {
    let output = ""
    const child = spawn(process.execPath, [file, ...args], { cwd: root, env: environment(env), signal })
    // Ended by the signal, it says so in an event that would be thrown.
    child.on("error", () => {})
    child.stdout.on("data", (chunk: Buffer) => {
      output += chunk.toString("utf8")
      if (output.includes(text)) {
        child.kill()
        resume(Effect.succeed(output))
      }
    })
    child.on("close", () => resume(Effect.succeed(output)))
  })

/** Runs a program into a pipe whose reader has left before it begins, as `| true` does sooner or later. */
export const runNodeUnread = (
  of: "stdout" | "stderr",
  env: Readonly<Record<string, string>>,
  file: string,
  ...args: ReadonlyArray<string>
): Effect.Effect<Finished> =>
  Effect.callback<Finished>((resume, signal) => {
    const piped = of === "stdout" ? "" : "2>&1 1>&4"
    const line = `{ { read -r left; "$@" ${piped}; echo $? >&3; } | { exec <&-; echo left >&4; }; } 4>&1`
    const child = spawn("sh", ["-c", line, "sh", process.execPath, file, ...args], {
      cwd: root,
      env: environment(env),
      signal,
      stdio: ["pipe", "pipe", "pipe", "pipe"]
    })
    child.on("error", () => {})
    const texts = ["", "", "", ""]
    child.stdio.forEach((stream, fd) => stream?.on("data", (chunk: Buffer) => texts[fd] += chunk.toString("utf8")))
    child.stdout.once("data", () => child.stdin.end("left\n"))
    child.on("close", () => {
      const [, stdout = "", stderr = "", code = ""] = texts
      resume(Effect.succeed({ code: Number(code), stdout: stdout.slice("left\n".length), stderr }))
    })
  })

/** Output without what differs from run to run: how long things took. */
export const withoutTimings = (output: string): string => output.replace(/\d+ ms/g, "… ms")
