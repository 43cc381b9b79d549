import { Effect } from "effect"
import { execFile, type ExecFileException, spawn, spawnSync } from "node:child_process"
import { join } from "node:path"
import { fileURLToPath } from "node:url"

export interface Finished {
  readonly code: number
  readonly stdout: string
  readonly stderr: string
}

export const root = fileURLToPath(new URL("../..", import.meta.url))

/**
 * The environment of a program. It lacks the variables that name a model, so a test never reaches a real one, and those
 * that choose colours: `TERM` does, too, if it is "dumb".
 */
export const environment = (env: Readonly<Record<string, string>>) => ({
  ...Object.fromEntries(
    Object.entries(process.env).filter(([name]) => !/^(OLLAMA|OPENAI)_|^(NO|FORCE)_COLOR$|^TERM$/.test(name))
  ),
  // Node strips and compiles the same modules for each process: this keeps the result, and saves a third of the start.
  NODE_COMPILE_CACHE: join(root, "test/.scratch/compiled"),
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
  finished((signal, done) =>
    execFile(process.execPath, [file, ...args], { cwd: root, env: environment(env), signal }, done)
  )

/** Waits for the end of a process that `start` starts, and returns its exit code and its output. */
const finished = (
  start: (
    signal: AbortSignal,
    done: (error: ExecFileException | null, stdout: string, stderr: string) => void
  ) => unknown
): Effect.Effect<Finished> =>
  Effect.callback<Finished>((resume, signal) => {
    start(signal, (error, stdout, stderr) =>
      resume(
        Effect.succeed({
          code: typeof error?.code === "number" ? error.code : error === null ? 0 : -1,
          stdout,
          stderr
        })
      ))
  })

/** Runs a shell command of this repository, without a terminal. */
export const runShell = (command: string): Effect.Effect<Finished> =>
  finished((signal, done) => execFile("sh", ["-c", command], { cwd: root, env: environment({}), signal }, done))

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

/** Runs a program, and sends it a signal as soon as it prints a text. */
export const runNodeUntilSignal = (
  signal: NodeJS.Signals,
  text: string,
  env: Readonly<Record<string, string>>,
  file: string,
  ...args: ReadonlyArray<string>
): Effect.Effect<Finished> =>
  Effect.callback<Finished>((resume, interruption) => {
    const output = { stdout: "", stderr: "" }
    const child = spawn(process.execPath, [file, ...args], {
      cwd: root,
      env: environment(env),
      signal: interruption,
      stdio: ["ignore", "pipe", "pipe"]
    })
    child.on("error", () => {})
    child.stdout.on("data", (chunk: Buffer) => {
      const before = output.stdout.includes(text)
      output.stdout += chunk.toString("utf8")
      if (!before && output.stdout.includes(text)) child.kill(signal)
    })
    child.stderr.on("data", (chunk: Buffer) => output.stderr += chunk.toString("utf8"))
    child.on("close", (code) => resume(Effect.succeed({ code: code ?? -1, ...output })))
  })

/** True if {@link runInTerminal} can open a terminal on this machine: it needs `script` of util-linux. */
export const hasTerminal = (): boolean =>
  /util-linux/.test(spawnSync("script", ["--version"], { encoding: "utf8" }).stdout ?? "")

/**
 * Runs a shell command in a real terminal, and returns everything that the terminal shows. Whenever it shows the text
 * of the next step, the keys of that step are typed: `"\u0003"` is Ctrl-C, and `"\u0004"` is Ctrl-D.
 */
export const runInTerminal = (
  { columns = 80, env = {}, steps = [] }: {
    readonly columns?: number
    readonly env?: Readonly<Record<string, string>>
    readonly steps?: ReadonlyArray<{ readonly shows: string; readonly type: string }>
  },
  command: string
): Effect.Effect<{ readonly code: number; readonly output: string }> =>
  Effect.callback((resume, signal) => {
    const child = spawn("script", ["-qec", `stty cols ${columns}; ${command}`, "/dev/null"], {
      cwd: root,
      // The user's own shell may not be a POSIX one, and may complain about the locale.
      env: environment({ SHELL: "/bin/sh", LC_ALL: "C", TERM: "xterm", ...env }),
      signal
    })
    child.on("error", () => {})
    let output = ""
    let next = 0
    let from = 0
    child.stdout.on("data", (chunk: Buffer) => {
      // A terminal begins each line with a carriage return.
      output += chunk.toString("utf8").replaceAll("\r", "")
      for (let step = steps[next]; step !== undefined; step = steps[next]) {
        const at = output.indexOf(step.shows, from)
        if (at < 0) break
        from = at + step.shows.length
        next += 1
        child.stdin.write(step.type)
      }
    })
    child.on("close", (code) => resume(Effect.succeed({ code: code ?? -1, output })))
  })

/** Replaces the durations in an output, which differ from run to run. */
export const withoutTimings = (output: string): string => output.replace(/\d+ ms/g, "… ms")
