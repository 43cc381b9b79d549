/** Runs example programs in this process, each with its own arguments, environment and output. */
import { NodeChildProcessSpawner, NodeFileSystem, NodePath, type NodeServices } from "@effect/platform-node"
import { assert } from "@effect/vitest"
import { ConfigProvider, Console, Effect, Fiber, Layer, Runtime, Stdio, Terminal } from "effect"
import { TerminalCapabilities } from "effect/cli"
import * as NodeConsole from "node:console"
import { Writable } from "node:stream"
import { type Finished, runNodeIn, withoutTimings } from "./program.ts"
import { macrotask } from "./virtualTime.ts"

export type Program = Effect.Effect<void, unknown, NodeServices.NodeServices>
type Environment = Readonly<Record<string, string>>

/** Runs a program to its end. */
export const run = (program: Program, ...args: ReadonlyArray<string>): Effect.Effect<Finished> =>
  runIn({}, program, ...args)

/** Like {@link run}, with environment variables. */
export const runIn = (env: Environment, program: Program, ...args: ReadonlyArray<string>): Effect.Effect<Finished> =>
  Effect.suspend(() => {
    const { printed, running } = prepare(env, program, args)
    return Effect.map(Effect.exit(running), (exit) => {
      let code = -1
      Runtime.defaultTeardown(exit, (exitCode) => {
        code = exitCode
      })
      return { code, ...printed }
    })
  })

/** Runs a program until it prints a text, interrupts it, and returns its output. */
export const printedUpTo = (
  text: string,
  env: Environment,
  program: Program,
  ...args: ReadonlyArray<string>
): Effect.Effect<string> =>
  Effect.gen(function*() {
    const { printed, running } = prepare(env, program, args)
    const fiber = yield* Effect.forkChild(Effect.exit(running))
    while (!printed.stdout.includes(text) && fiber.pollUnsafe() === undefined) yield* macrotask
    yield* Fiber.interrupt(fiber)
    return printed.stdout
  })

/** Runs a program here and as a process, asserts that both end alike (timings aside), and returns the result. */
export const sameAsProcess = (
  program: Program,
  env: Environment,
  command: string,
  ...args: ReadonlyArray<string>
): Effect.Effect<Finished> =>
  Effect.gen(function*() {
    const [file = "", ...words] = command.split(" ")
    const asProcess = yield* runNodeIn(env, file, ...words, ...args)
    const here = yield* runIn(env, program, ...args)
    const steady = (finished: Finished) => ({ ...finished, stdout: withoutTimings(finished.stdout) })
    assert.deepStrictEqual(steady(asProcess), steady(here))
    return asProcess
  })

/** Provides a program with its services, and captures its output. */
const prepare = (env: Environment, program: Program, args: ReadonlyArray<string>) => {
  const printed = { stdout: "", stderr: "" }
  const into = (name: keyof typeof printed) =>
    new Writable({
      decodeStrings: false,
      write: (text: string, _, done) => {
        printed[name] += text
        done()
      }
    })
  const [stdout, stderr] = [into("stdout"), into("stderr")]
  const unused = Effect.die("nobody sits at this terminal")
  const terminal = Terminal.make({
    columns: Effect.succeed(80),
    rows: Effect.succeed(24),
    size: unused,
    readInput: unused,
    readLine: unused,
    display: (text) => Effect.sync(() => void stdout.write(text))
  })
  const services = Layer.merge(NodeChildProcessSpawner.layer, TerminalCapabilities.layer).pipe(
    Layer.provideMerge(Layer.mergeAll(
      Stdio.layerTest({ args: Effect.succeed(args) }),
      Layer.succeed(Terminal.Terminal, terminal),
      NodeFileSystem.layer,
      NodePath.layer,
      ConfigProvider.layer(ConfigProvider.fromEnv({ env }))
    ))
  )
  const running = program.pipe(
    Effect.provide(services),
    Effect.provideService(Console.Console, new NodeConsole.Console({ stdout, stderr }))
  )
  return { printed, running }
}
