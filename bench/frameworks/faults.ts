/** Plays the scenarios with each framework over real HTTP, and judges all of them alike. */
import * as Http from "node:http"
import * as FakeModelServer from "../../packages/testing/src/FakeModelServer.ts"
import { Effect } from "../../test/support/effect.ts"
import { listening } from "../../test/support/http.ts"
import { answer, World } from "../../test/support/plainTools.ts"
import type { Contender } from "./contender.ts"
import { question } from "./contender.ts"
import { lenientServer } from "./lenientServer.ts"
import { found, gaveUp, type Manner, numbered, pursuing } from "./model.ts"
import type { Scenario } from "./scenario.ts"

/** How long a scenario may take, in milliseconds. */
export const limit = 45_000

export type Verdict =
  | { readonly kind: "right" }
  /** The answer could be had, and the agent says that it does not have it. */
  | { readonly kind: "told" }
  | { readonly kind: "failed"; readonly how: string }

interface Played {
  readonly end: { readonly text: string } | { readonly error: unknown } | "late"
  readonly replies: number
  readonly executions: number
  readonly done: ReadonlyArray<string>
  /** All text that the model has read. */
  readonly read: string
}

export const judged = async (scenario: Scenario, manner: Manner, contender: Contender): Promise<Verdict> =>
  judge(scenario, await Effect.runPromise(Effect.scoped(play(scenario, manner, contender))))

const play = (
  { asks = [question], goal, service = () => answer({}), tools }: Scenario,
  manner: Manner,
  { begin }: Contender
) =>
  Effect.gen(function*() {
    let requests = 0
    const url = yield* listening(Http.createServer((_, response) => service(++requests)(response)))
    const world = new World(url, () => undefined)
    const model = yield* FakeModelServer.make(numbered("play" in goal ? goal.play(manner) : pursuing(goal, manner)))
    const ask = begin(yield* lenientServer(model.url), [tools(world)].flat())
    let end: Played["end"] = { text: "" }
    for (const question of asks) end = yield* Effect.promise(() => ended(ask(question)))
    const state = yield* model.state
    const read = JSON.stringify(state.requests.map(({ asked }) => asked?.messages))
    const played: Played = {
      end,
      replies: state.replies,
      executions: world.ran.length,
      done: [...world.done],
      read
    }
    return played
  })

const ended = (asked: Promise<string>): Promise<Played["end"]> =>
  new Promise((resolve) => {
    const timer = setTimeout(() => resolve("late"), limit)
    asked.then((text) => resolve({ text }), (error: unknown) => resolve({ error })).finally(() => clearTimeout(timer))
  })

const judge = ({ cost, done = [], goal }: Scenario, played: Played): Verdict => {
  const failed = (how: string): Verdict => ({ kind: "failed", how })
  if (played.done.length > done.length) return failed(`acts ${played.done.length} times`)
  if (/SECRET|hunter2/.test(played.read)) return failed("tells a secret")
  if (played.end === "late") return failed(`over ${limit / 1000} s`)
  if ("error" in played.end) return failed("throws")
  const [replies = 0, executions = 0] = cost.split("/").map(Number)
  if (played.replies > 2 * replies || played.executions > 2 * executions) {
    return failed(`costs ${played.replies}/${played.executions}`)
  }
  const { text } = played.end
  if (goal.wanted === undefined) return text.startsWith(gaveUp) ? { kind: "right" } : failed("wrong answer")
  if (text.startsWith(gaveUp)) return { kind: "told" }
  return goal.wanted.test(text.replace(found, "")) && played.done.toSorted().join() === done.toSorted().join()
    ? { kind: "right" }
    : failed("wrong answer")
}
