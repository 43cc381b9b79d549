/**
 * Plays the scenarios of honest work with a plain loop, and with this library and three models: one that reads advice as a
 * weak model does, one that heeds every word of it, and one that heeds none. Then plays the suite of faults with the last
 * two. Says whether a model that heeds advice ends worse than one that does not.
 *
 *     node test/bench/honest.ts
 */
import type * as FakeModelServer from "@fallible/testing/FakeModelServer"
import { Effect, Exit } from "effect"
import { TestClock } from "effect/testing"
import { playedHere, playedPlainly } from "../support/honest/play.ts"
import { deaf, heeding, type HonestScenario, type Script } from "../support/honest/scenario.ts"
import { scenarios } from "../support/honest/scenarios.ts"
import { playedFault, shortcomings } from "../support/playedFault.ts"
import { type Scenario, toolFaults } from "../support/toolFaults.ts"

const print = (...cells: ReadonlyArray<string>) => process.stdout.write(`${cells.join(" | ")}\n`)

const inTime = <A, E>(effect: Effect.Effect<A, E>) => Effect.runPromiseExit(Effect.provide(effect, TestClock.layer()))

interface Ended {
  readonly isRight: boolean
  readonly replies: number
}

const ended = async (
  { done = [], says }: HonestScenario,
  played: ReturnType<typeof playedPlainly>
): Promise<Ended> => {
  const exit = await inTime(Effect.scoped(played))
  if (Exit.isFailure(exit)) return { isRight: false, replies: Infinity }
  const { answer, done: did, replies } = exit.value
  return { isRight: says.test(answer) && String(did) === String(done), replies }
}

const shown = ({ isRight, replies }: Ended) => `${isRight ? "right" : "wrong"} ${replies}`

const models: Readonly<Record<string, ((script: Script) => FakeModelServer.Script) | undefined>> = {
  reads: undefined,
  heeds: heeding,
  ignores: deaf
}

const worse: Array<string> = []
const totals = { plain: 0, reads: 0, heeds: 0, ignores: 0 }
const note = (name: string, heeds: Ended, ignores: Ended) => {
  if (ignores.isRight && !heeds.isRight) worse.push(name)
}

print("scenario", "plain loop", ...Object.keys(models))
for (const scenario of scenarios) {
  const plain = await ended(scenario, playedPlainly(scenario))
  const all: Record<string, Ended> = {}
  for (const [name, reading] of Object.entries(models)) all[name] = await ended(scenario, playedHere(scenario, reading))
  const { heeds, ignores, reads } = all
  if (heeds === undefined || ignores === undefined || reads === undefined) continue
  totals.plain += Number(plain.isRight)
  totals.reads += Number(reads.isRight && reads.replies <= scenario.replies + 1)
  totals.heeds += Number(heeds.isRight)
  totals.ignores += Number(ignores.isRight)
  note(scenario.name, heeds, ignores)
  print(`${scenario.kind}: ${scenario.name}`, shown(plain), shown(reads), shown(heeds), shown(ignores))
}
print(
  `${scenarios.length} scenarios of honest work`,
  ...Object.entries(totals).map(([name, count]) => `${name}: ${count} right`)
)

// The model of a fault may be a list of moves, which reads nothing.
const over = (script: FakeModelServer.Script, reading: typeof deaf | typeof heeding): FakeModelServer.Script =>
  typeof script === "function" ? reading(script) : script

const isRight = async (fault: Scenario, reading: typeof deaf | typeof heeding): Promise<boolean> => {
  const exit = await inTime(Effect.scoped(playedFault(fault, (script) => over(script, reading))))
  if (Exit.isFailure(exit)) return false
  // Without advice, a model may need more replies.
  return shortcomings({ ...fault, cost: exit.value.cost, reads: /(?:)/ }, exit.value).length === 0
}

let [heedsRight, ignoresRight] = [0, 0]
for (const fault of toolFaults) {
  const [heeds, ignores] = [await isRight(fault, heeding), await isRight(fault, deaf)]
  heedsRight += Number(heeds)
  ignoresRight += Number(ignores)
  if (ignores && !heeds) worse.push(fault.name)
}
print(`${toolFaults.length} faults of tools`, `heeds: ${heedsRight} right`, `ignores: ${ignoresRight} right`)
print(worse.length === 0 ? "A model that heeds advice never ends worse." : `Worse with advice: ${worse.join("; ")}`)
