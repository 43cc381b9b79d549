/**
 * The command of the tour: which faults it plays, and how it shows them.
 */
import * as Argument from "effect/cli/Argument"
import * as Command from "effect/cli/Command"
import * as Flag from "effect/cli/Flag"
import * as Console from "effect/Console"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as CommandLine from "../shared/CommandLine.ts"
import * as Display from "../shared/Display.ts"
import type { Fault } from "./Fault.ts"
import { faults } from "./faults/all.ts"
import * as Page from "./Page.ts"
import * as Played from "./Played.ts"

const range = `a number from 1 to ${faults.length}`
const isInRange = (number: number) => number >= 1 && number <= faults.length

const tour = Command.make("tour", {
  fault: Argument.Int("fault").pipe(
    Argument.withDescription(`Plays one fault alone: ${range}`),
    Argument.filter(isInRange, () => range),
    Argument.optional
  ),
  only: Flag.Int("only").pipe(
    Flag.withDescription("The same, as a flag"),
    Flag.filter(isInRange, () => range),
    Flag.optional
  ),
  json: CommandLine.toggle("json", "One JSON object per fault")
}, ({ fault, json, only }) => {
  if (Option.isSome(fault) && Option.isSome(only)) {
    return Effect.andThen(
      Console.error("Choose a fault once: by its number, or with --only."),
      Effect.fail("usage" as const)
    )
  }
  const chosen = Option.match(Option.orElse(fault, () => only), {
    onNone: () => faults,
    onSome: (number) => faults.slice(number - 1, number)
  })
  return json ? showJson(chosen) : show(chosen)
}).pipe(
  Command.withDescription("Eight faults, each played through an agent of Fallible and through a plain loop")
)

export const program = CommandLine.program(tour)

const numberOf = (fault: Fault): number => faults.indexOf(fault) + 1

/** The loops that a fault is played through. The first two are counted in the totals. */
const loopsOf = (fault: Fault) => [
  { name: "Fallible", play: Played.fallible(fault) },
  { name: "A plain loop", play: Played.plain(fault) },
  ...(fault.parser === undefined
    ? []
    : [{ name: `A plain loop with ${fault.parser.name}`, play: Played.plain(fault, fault.parser.parse) }])
]

const show = (chosen: ReadonlyArray<Fault>) =>
  Effect.gen(function*() {
    yield* Console.log(Page.opening(yield* Display.screen, chosen.length))
    const runs = yield* Effect.forEach(chosen, (fault) =>
      Effect.gen(function*() {
        yield* Console.log(Page.title(yield* Display.screen, fault, `${numberOf(fault)} of ${faults.length}`))
        return yield* Effect.forEach(loopsOf(fault), ({ name, play }) =>
          Effect.gen(function*() {
            yield* Console.log(Page.loop(yield* Display.screen, name))
            const played = yield* play
            yield* Console.log(Page.played(yield* Display.screen, fault, played))
            return { name, played }
          }))
      }))
    if (chosen.length > 1) yield* Console.log(Page.closing(yield* Display.screen, chosen, totalsOf(runs)))
  })

const totalsOf = (
  runs: ReadonlyArray<ReadonlyArray<{ readonly name: string; readonly played: Played.Played }>>
): ReadonlyArray<Page.Total> =>
  ["Fallible", "A plain loop"].map((name) => {
    const own = runs.flat().filter((run) => run.name === name).map(({ played }) => played)
    return {
      name,
      well: own.filter(({ endedWell }) => endedWell).length,
      replies: Page.sum(own.map(({ replies }) => replies)),
      paid: Page.sum(own.flatMap(({ payments }) => payments))
    }
  })

// Nobody watches, so the faults need not wait for each other.
const showJson = (chosen: ReadonlyArray<Fault>) =>
  Effect.forEach(chosen, (fault) =>
    Effect.gen(function*() {
      const { question, setUp, title } = fault
      const runs = yield* Effect.forEach(
        loopsOf(fault),
        ({ name, play }) => Effect.map(play, (played) => ({ loop: name, ...played }))
      )
      return JSON.stringify({ fault: numberOf(fault), title, setUp, question, runs })
    }), { concurrency: "unbounded" }).pipe(
      Effect.flatMap((lines) => Effect.forEach(lines, (line) => Console.log(line), { discard: true }))
    )
