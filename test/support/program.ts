import { Effect } from "effect"
import { execFile, spawn } from "node:child_process"
import { fileURLToPath } from "node:url"

export interface Finished {
  readonly code: number
  readonly stdout: string
  readonly stderr: string
}

export const root = fileURLToPath(new URL("../..", import.meta.url))

/** The environment of a program. Clears the variables that name a model, so a test never reaches a real one. */
const environment = (env: Readonly<Record<string, string>>) => ({
  ...process.env,
  OLLAMA_HOST: "",
  OPENAI_BASE_URL: "",
  OPENAI_API_KEY: "",
  ...env
})

/** Runs a program of this repository as a separate process. */
export const runNode = (file: string, ...args: ReadonlyArray<string>): Effect.Effect<Finished> =>
  runNodeIn({}, file, ...args)

/** Like {@link runNode}, with more environment variables. */
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

/** Runs a program until it prints a text, kills it, and returns its output. */
export const printedUpTo = (
  text: string,
  env: Readonly<Record<string, string>>,
  file: string,
  ...args: ReadonlyArray<string>
): Effect.Effect<string> =>
  Effect.callback<string>((resume, signal) => {
    let output = ""
    const child = spawn(process.execPath, [file, ...args], { cwd: root, env: environment(env), signal })
    // Killing the child emits an error event, which would be thrown without a listener.
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

/** Runs a program with a pipe whose reader has closed before the program starts, as in `| true`. */
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

/** Replaces the durations in an output, which differ from run to run. */
export const withoutTimings = (output: string): string => output.replace(/\d+ ms/g, "… ms")
