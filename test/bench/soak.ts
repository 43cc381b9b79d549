/**
 * Runs an agent for very long, and very often at once, beside bare Effect in the same process. Run it with
 * `pnpm soak [turns] [runs]`; default: a million turns, and 10,000 runs at once.
 *
 * The agent has everything on that is on by default: the guard against loops, the limits of results, the retries. Its
 * tool answers something new in every turn, so the guard must stay silent. The transcript of a run grows with each turn,
 * so the million turns are eight runs, and memory is measured after each.
 */
import { Agent, Model, RetryPolicy, Tool, Toolkit } from "@fallible/core"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import * as SchemaParser from "effect/SchemaParser"
import { setFlagsFromString } from "node:v8"
import { runInNewContext } from "node:vm"

setFlagsFromString("--expose-gc")
const collect: () => void = runInNewContext("gc")

const [turns = 1_000_000, runs = 10_000] = process.argv.slice(2).map(Number)

const Parameters = Schema.Struct({ page: Schema.Int })
const Success = Schema.Struct({ page: Schema.Int, rows: Schema.Array(Schema.Int) })
const handler = ({ page }: typeof Parameters.Type) => Effect.succeed({ page, rows: [page, page + 1, page + 2] })

const tool = Tool.make(
  "read_page",
  { description: "One page", parameters: Parameters, success: Success, sideEffect: "none" },
  handler
).pipe(Tool.retry(RetryPolicy.transient))
const agentOf = (loopGuard: "off" | {}) =>
  Agent.make({ toolkit: Toolkit.make(tool), limits: { turns: Number.MAX_SAFE_INTEGER }, loopGuard })
const guarded = agentOf({})
const unguarded = agentOf("off")

/** Makes a model that asks for the next page in each of `count` turns, and then answers. */
const modelOf = (count: number, wait: Effect.Effect<void> = Effect.void) => {
  let asked = 0
  return Model.make({
    respond: () =>
      Effect.map(wait, () =>
        ++asked > count
          ? { text: "done", calls: [] }
          : { text: "", calls: [{ id: "call_1", name: "read_page", arguments: `{"page":${asked}}` }] })
  })
}

const decode = SchemaParser.decodeUnknownEffect(Schema.toCodecJson(Parameters))

// Like every loop, this one keeps its messages.
const bare = (model: Model.Model["Service"], messages: Array<object> = []): Effect.Effect<string, unknown> =>
  Effect.gen(function*() {
    const { calls: [call], text } = yield* model.respond({ transcript: undefined as never, tools: [] })
    if (call === undefined) return text
    const params = yield* decode(JSON.parse(call.arguments ?? "{}"))
    const value = yield* handler(params)
    messages.push({ role: "assistant", text, calls: [call] }, { role: "tool", text: JSON.stringify(value) })
    return yield* bare(model, messages)
  })

const subjects = {
  "with the guard": (model: Model.Model["Service"]) => Effect.provideService(guarded.run("?"), Model.Model, model),
  "without it": (model: Model.Model["Service"]) => Effect.provideService(unguarded.run("?"), Model.Model, model),
  "bare Effect": (model: Model.Model["Service"]) => bare(model)
}
type Name = keyof typeof subjects
const names: ReadonlyArray<Name> = ["with the guard", "without it", "bare Effect"]

const megabytes = () => {
  collect()
  return process.memoryUsage().heapUsed / 1e6
}

/** Runs an Effect, and returns its CPU time in milliseconds. */
const cpu = async (self: Effect.Effect<unknown, unknown>): Promise<number> => {
  const before = process.cpuUsage()
  await Effect.runPromise(self)
  const { system, user } = process.cpuUsage(before)
  return (system + user) / 1000
}

const median = (values: ReadonlyArray<number>): number =>
  values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0

const perName = <A>(of: (name: Name) => A) => Object.fromEntries(names.map((name) => [name, of(name)]))

/** CPU per turn in rounds that alternate between the subjects. */
const turnCost = async (length: number, rounds: number) => {
  const costs = new Map<Name, Array<number>>(names.map((name) => [name, []]))
  const repeats = Math.max(1, Math.round(4000 / length))
  for (let round = -3; round < rounds; round++) {
    for (const name of names) {
      let cost = 0
      for (let i = 0; i < repeats; i++) cost += await cpu(subjects[name](modelOf(length)))
      if (round >= 0) costs.get(name)?.push(cost / (repeats * length) * 1000)
    }
  }
  return (name: Name) => median(costs.get(name) ?? [])
}

const main = async () => {
  const short = await turnCost(10, 25)
  const long = await turnCost(400, 25)
  console.log("µs of CPU per turn, medians of interleaved rounds")
  console.table({
    "a run of 10 turns": perName((name) => short(name).toFixed(2)),
    "a run of 400 turns": perName((name) => long(name).toFixed(2)),
    "400 to 10": perName((name) => `${(long(name) / short(name)).toFixed(2)} x`)
  })
  console.log(`with the guard, to without it: ${(long("with the guard") / long("without it")).toFixed(3)} x`)

  console.log(`\n${turns} turns with the guard, in 8 runs one after the other; the heap after each, after a collection`)
  const heaps: Array<number> = []
  const every = Math.ceil(turns / 8)
  for (let part = 0; part < 8; part++) {
    await Effect.runPromise(subjects["with the guard"](modelOf(every)))
    heaps.push(megabytes())
  }
  console.log(heaps.map((heap) => `${heap.toFixed(1)} MB`).join(", "))

  console.log(`\n${runs} runs at once, 5 turns each, 10 ms a reply`)
  const at = new Map<Name, { readonly cpu: number; readonly memory: number }>()
  for (const name of [...names, ...names]) {
    const before = megabytes()
    let peak = 0
    const started = Array.from({ length: runs }, () => subjects[name](modelOf(5, Effect.sleep(10))))
    const watching = Effect.forever(Effect.andThen(
      Effect.sync(() => {
        peak = Math.max(peak, process.memoryUsage().heapUsed / 1e6)
      }),
      Effect.sleep(5)
    ))
    const used = await cpu(Effect.raceFirst(Effect.all(started, { concurrency: "unbounded", discard: true }), watching))
    at.set(name, { cpu: used / runs * 1000, memory: (peak - before) * 1000 / runs })
  }
  const bareRun = at.get("bare Effect")!
  console.table(Object.fromEntries(names.map((name) => {
    const { cpu, memory } = at.get(name)!
    return [name, {
      "µs a run": cpu.toFixed(0),
      "to bare": `${(cpu / bareRun.cpu).toFixed(2)} x`,
      "KB a run, at the peak": memory.toFixed(1),
      "memory to bare": `${(memory / bareRun.memory).toFixed(2)} x`
    }]
  })))
}

await main()
