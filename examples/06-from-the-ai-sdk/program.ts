/**
 * The command of the example: it plays one fault through each of the programs, and prints what the customer has paid and
 * read.
 */
import * as Command from "effect/cli/Command"
import * as Flag from "effect/cli/Flag"
import * as Console from "effect/Console"
import * as Effect from "effect/Effect"
import * as CommandLine from "../shared/CommandLine.ts"
import { type FaultName, faults, sentences } from "./faults.ts"
import { play, type Played, type Program, programs, wish } from "./Scene.ts"

const names = Object.keys(faults) as ReadonlyArray<FaultName>

const fromTheAiSdk = Command.make("from-the-ai-sdk", {
  fault: Flag.Literals("fault", names).pipe(
    Flag.withDescription("What goes wrong; a lost charge by default"),
    Flag.withDefault("lost")
  )
}, ({ fault }) =>
  Effect.gen(function*() {
    yield* Console.log(`${wish}\n${sentences[fault]}\n${notice}`)
    for (const program of Object.values<Program>(programs)) {
      // A charge is refused after this time if it is not answered.
      const played = yield* Effect.promise(() => play(program, { fault: faults[fault], timeout: 500 }))
      yield* Console.log(`\n${program.title}\n${told(played)}`)
    }
  })).pipe(Command.withDescription("One assistant for travels, before and after: the AI SDK alone, and with Fallible"))

export const program = CommandLine.program(fromTheAiSdk)

const notice = "A stand-in plays the model. It repeats a failed call in other words, unless it reads that it must not."

const told = ({ approvals, charges, reads }: Played): string =>
  [
    `  asked    ${times(approvals.length)} for an approval`,
    `  charged  ${times(charges.length)} (${charges.map(({ id }) => id).join(", ")})`,
    ...reads.map((text, index) => `  ${index === 0 ? "reads  " : "       "}  ${text}`)
  ].join("\n")

const times = (count: number): string => ["never", "once", "twice"][count] ?? `${count} times`
