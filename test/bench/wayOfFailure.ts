/**
 * Traces the way of a lost payment's failure: from the handler that fails with it to the text that the model reads. Run
 * it with `pnpm way`. An argument is the root of another checkout, whose core is traced instead. `--list` prints all
 * entered functions in order instead of the modules.
 *
 * Each function of core has a call of a tracer inserted at its beginning while its module loads. So the script works for
 * any layout of core. What is counted:
 *
 * - functions: those entered at least once, of all modules in `packages/core/src`. An arrow without a name, such as a
 *   callback of `Effect.flatMap`, is a function of its own, known by its line and column. A handler, a rendering and a
 *   model belong to this script, and Effect's functions to Effect: they do not count.
 * - modules: those with such a function.
 * - returns: how often the trace enters a module in which it has been before, coming from another module. That a called
 *   function returns to its caller does not count, but the next function that is entered there does.
 *
 * The trace begins in the handler, after it has made the failure. It is the second of two equal runs, so that what is
 * built lazily does not count. There is no watcher, and no log line is written. Three ways are counted:
 *
 * - of a call: `Dispatch.call`, whose outcome `Rendering.json` renders
 * - in a run, to the text: an agent's run, until its rendering has made the text
 * - in a run, to the model: the same, until the model is asked again. This is the way that is printed.
 */
import { readFileSync } from "node:fs"
import { registerHooks } from "node:module"
import { join, relative, resolve } from "node:path"
import { fileURLToPath } from "node:url"
import ts from "typescript6"
import { importFrom } from "../support/checkout.ts"
import { root } from "../support/program.ts"

const isList = process.argv.includes("--list")
const [checkout = root] = process.argv.slice(2).filter((argument) => !argument.startsWith("--"))
const sources = join(resolve(checkout), "packages/core/src")

// -----------------------------------------------------------------------------
// The tracer
// -----------------------------------------------------------------------------

interface Entered {
  readonly module: string
  readonly name: string
}

/** The functions that were entered since the handler failed, or nothing before it does. */
let way: Array<Entered> | undefined
const enter = (module: string, name: string): void => {
  way?.push({ module, name })
}
Object.assign(globalThis, { enter })

/** The name of a function, or its position if it has none. */
const nameOf = (node: ts.FunctionLikeDeclaration, file: ts.SourceFile): string => {
  const { parent } = node
  const ofClass = ts.isClassLike(parent) ? `${parent.name?.text ?? "class"}.` : ""
  if (ts.isConstructorDeclaration(node)) return `${ofClass}constructor`
  if (node.name !== undefined) return `${ofClass}${node.name.getText(file)}`
  const named = ts.isVariableDeclaration(parent) || ts.isPropertyAssignment(parent) || ts.isPropertyDeclaration(parent)
  if (named) return `${ts.isClassLike(parent.parent) ? `${parent.parent.name?.text}.` : ""}${parent.name.getText(file)}`
  const { character, line } = file.getLineAndCharacterOfPosition(node.getStart(file))
  return `${line + 1}:${character + 1}`
}

/** Inserts a call of `enter` at the beginning of each function of a module. */
const traced = (text: string, module: string): string => {
  const file = ts.createSourceFile(module, text, ts.ScriptTarget.ESNext, true)
  const inserts: Array<readonly [at: number, text: string]> = []
  const visit = (node: ts.Node): void => {
    if (ts.isFunctionLike(node) && "body" in node && node.body !== undefined) {
      const { body } = node
      const enters = `enter(${JSON.stringify(module)}, ${JSON.stringify(nameOf(node, file))})`
      if (ts.isBlock(body)) inserts.push([body.getStart(file) + 1, `${enters};`])
      else inserts.push([body.getStart(file), `(${enters}, `], [body.getEnd(), ")"])
    }
    ts.forEachChild(node, visit)
  }
  visit(file)
  let result = ""
  let end = 0
  // An inner function's end may be its outer function's end, but no two functions begin at one place.
  for (const [at, insert] of inserts.toSorted(([a], [b]) => a - b)) {
    result += text.slice(end, at) + insert
    end = at
  }
  return result + text.slice(end)
}

importFrom(checkout)
registerHooks({
  load: (url, context, next) => {
    const loaded = next(url, context)
    const path = url.startsWith("file:") ? fileURLToPath(url) : ""
    if (!path.startsWith(sources)) return loaded
    return { ...loaded, source: traced(readFileSync(path, "utf8"), relative(sources, path).replace(/\.ts$/, "")) }
  }
})

// -----------------------------------------------------------------------------
// The payment
// -----------------------------------------------------------------------------

const { Agent, Dispatch, Tool, Toolkit, ToolUnavailable } = await import("@fallible/core")
const Rendering = await import("@fallible/core/Rendering")
const { ScriptedModel } = await import("@fallible/testing")
const { Effect, References, Schema } = await import("effect")

const pay = Tool.make("pay", {
  description: "Pays an order",
  parameters: Schema.Struct({ order: Schema.String }),
  success: Schema.String,
  sideEffect: "non_idempotent"
}, () =>
  Effect.suspend(() => {
    const failure = new ToolUnavailable({ code: "connection", detail: "Reset.", transient: true })
    way = []
    return Effect.fail(failure)
  }))
const toolkit = Toolkit.make(pay)

/** The ways so far, by the name of their end. */
const ways = new Map<string, ReadonlyArray<Entered>>()
const reach = (end: string): void => {
  if (way !== undefined) ways.set(end, way.slice())
}

const rendering = (end: string): typeof Rendering.json => (outcome, call) => {
  const text = Rendering.json(outcome, call)
  reach(end)
  return text
}

const ask = ScriptedModel.call("pay", { order: "7" })
const call = Effect.suspend(() => Dispatch.call(toolkit, ask.calls[0]!)).pipe(
  Effect.map((outcome) => void rendering("of a call")(outcome, ask.calls[0]!))
)

const agent = Agent.make({ toolkit, rendering: rendering("in a run, to the text") })
const model = Effect.sync(() =>
  ScriptedModel.layer((_, index) => {
    reach("in a run, to the model")
    return index === 0 ? ask : ScriptedModel.text("I am not sure.")
  })
)
const run = Effect.flatMap(model, (model) => Effect.orDie(Effect.provide(agent.run("Pay order 7."), model)))

// Asked twice each: the first time, what is built lazily is built.
for (const program of [call, call, Effect.asVoid(run), Effect.asVoid(run)]) {
  way = undefined
  await Effect.runPromise(Effect.provideService(program, References.MinimumLogLevel, "None"))
}

// -----------------------------------------------------------------------------
// The report
// -----------------------------------------------------------------------------

const visitsOf = (way: ReadonlyArray<Entered>) =>
  way.map(({ module }) => module).filter((module, index, all) => module !== all[index - 1])

const totals = (way: ReadonlyArray<Entered>) => {
  const visits = visitsOf(way)
  const modules = new Set(visits).size
  const functions = new Set(way.map(({ module, name }) => `${module}:${name}`)).size
  return { functions, modules, returns: visits.length - modules, entered: way.length }
}

const longest = ways.get("in a run, to the model")!
for (const line of isList ? longest.map(({ module, name }) => `${module}:${name}`) : visitsOf(longest)) {
  console.log(line)
}
console.table(Object.fromEntries(Array.from(ways, ([end, way]) => [end, totals(way)])))
