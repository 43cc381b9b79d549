/**
 * Plays each row: calls a tool whose handler uses a real client, and prints one line of JSON with what is known of the call
 * and with what the services really did.
 *
 *     node rows.mjs [words of the rows' names]
 *
 * It runs on Node, Bun and Deno. `WIRE_NODE` names the Node that runs the services and child processes (default: this one).
 * `test/long/wire.test.ts` runs it in each runtime, with the packed core.
 */
import { Dispatch, Observer, Tool, Toolkit } from "@fallible/core"
import { Effect, Logger, Schema } from "effect"
import { clientRows } from "./rows/clients.mjs"
import { connectionRows } from "./rows/connections.mjs"
import { effectRows } from "./rows/effects.mjs"
import { elsewhereRows } from "./rows/elsewhere.mjs"
import { everydayRows } from "./rows/everyday.mjs"
import { fetchRows } from "./rows/fetches.mjs"
import { startWorld } from "./rows/kit.mjs"
import { mockRows } from "./rows/mocks.mjs"

const rows = [fetchRows, clientRows, connectionRows, elsewhereRows, mockRows, effectRows, everydayRows].flat()

const print = (line) => console.log(JSON.stringify(line))

const toolOf = (row, number, kept) => {
  const definition = { description: "Does what it is asked.", success: Schema.String, ...row.tool }
  const tool = row.effect === undefined
    ? Tool.promise("act", definition, async (_, call) => String(await row.run(call, kept, number) ?? "done"))
    : Tool.make("act", definition, () => Effect.map(row.effect(kept, number), (value) => String(value ?? "done")))
  return row.through === undefined ? tool : row.through(tool)
}

/** Calls the row's tools, all at once, and returns their outcomes. A late result is noted with its call. */
const outcomesOf = (row, kept, late) =>
  Effect.runPromise(
    Effect.forEach(
      Array.from({ length: row.calls ?? 1 }, (_, number) => number),
      (number) =>
        Dispatch.call(Toolkit.make(toolOf(row, number, kept)), { id: "1", name: "act" }, {
          id: `${row.name}/${number}`
        }),
      { concurrency: "unbounded" }
    ).pipe(
      Observer.observe({ onLateResult: ({ certainty, id }) => Effect.sync(() => void late.set(id, certainty)) }),
      Effect.provide(Logger.layer([]))
    )
  )

/** Is a lie: the call is told as not executed, nobody has taken it back, and something was done for it. */
const isLie = ({ acts, certainty, late }) => certainty === "not_executed" && late === undefined && acts > 0

const play = async (row, world) => {
  await world.reset()
  let kept
  try {
    kept = await row.before?.()
  } catch (error) {
    return { row: row.name, unavailable: String(error?.message ?? error).split("\n")[0] }
  }
  const late = new Map()
  const outcomes = await outcomesOf(row, kept, late)
  await row.after?.(kept)
  const done = await world.done()
  const isOf = row.isOf ?? ((act, number) => act.endsWith(`/${number}`))
  const calls = outcomes.map((outcome, number) => ({
    certainty: outcome.certainty,
    ...(outcome.doubt === undefined ? {} : { doubt: outcome.doubt }),
    ...(late.has(`${row.name}/${number}`) ? { late: late.get(`${row.name}/${number}`) } : {}),
    acts: outcomes.length === 1 ? done.length : done.filter((act) => isOf(act, number)).length,
    wire: (outcome.wire ?? []).map(world.shown),
    end: outcome._tag === "Failed" ? outcome.failure.code : outcome._tag
  }))
  const lies = calls.filter(isLie).length
  return {
    row: row.name,
    ...(calls.length === 1 ? calls[0] : { calls: counted(calls) }),
    ...(row.varies === true ? { varies: true } : {}),
    lies,
    done: done.length
  }
}

/** The calls of a row, counted by what is known of them and by how much was done for each. */
const counted = (calls) => {
  const counts = {}
  for (const { acts, certainty, doubt } of calls) {
    const kind = `${certainty}${doubt === undefined ? "" : ` ${doubt}`}, acts ${acts}`
    counts[kind] = (counts[kind] ?? 0) + 1
  }
  return Object.fromEntries(Object.entries(counts).sort(([one], [other]) => one < other ? -1 : 1))
}

/** What cannot be played to its end shows in the table, too. */
const inTime = async (row, answer) => {
  let timer
  const late = new Promise((resolve) => timer = setTimeout(() => resolve({ row: row.name, hung: true }), 10_000))
  try {
    return await Promise.race([answer, late])
  } catch (error) {
    return { row: row.name, broken: String(error?.stack ?? error) }
  } finally {
    clearTimeout(timer)
  }
}

process.on("uncaughtException", (error) => print({ uncaught: String(error?.stack ?? error) }))
process.on("unhandledRejection", (error) => print({ unhandled: String(error?.stack ?? error) }))

const world = await startWorld()
const words = process.argv.slice(2)
let done = 0
for (const row of rows.filter(({ name }) => words.every((word) => name.includes(word)))) {
  const line = await inTime(row, play(row, world))
  done += line.done ?? 0
  print(line)
}
// What was done after a row had been counted shows here.
print({ counted: done, total: await world.total() })
world.end()
process.exit()
