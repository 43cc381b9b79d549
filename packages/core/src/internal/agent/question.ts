import * as Effect from "effect/Effect"
import * as Availability from "../../Availability.ts"
import { mustCall, type Options } from "../../Model.ts"
import type * as Tool from "../../Tool.ts"
import type { Definition } from "../../Toolkit.ts"
import type { Transcript } from "../../Transcript.ts"
import type { Question } from "./askModel.ts"
import type { Run, State } from "./runState.ts"

/** Returns what the model is asked in a turn: the transcript, and the tools on offer. */
export const questionOf = <T extends Tool.Any>(run: Run<T>, state: State): Question => ({
  transcript: sent(run, state),
  // A request that was postponed is a new step: the first one has recorded its failure.
  ...(state.postponed === 0 ? {} : { step: `/again/${state.postponed}` }),
  tools: offered(run, state),
  options: optionsFor(run, state)
})

/** Returns the last question of a run that is concluded. */
export const lastQuestionOf = <T extends Tool.Any>(run: Run<T>, state: State, why: string): Question => {
  const request = `${why} Do not call tools. Give the best answer from what you know, and say what is missing.`
  // The transcript of the run does not contain this request.
  return {
    transcript: sent(run, state).append({ role: "user", text: request }),
    step: "/last",
    tools: [],
    options: withoutChoice(run.modelOptions)
  }
}

// Beyond the limit of a request, the results are shortened in what is sent. The transcript of the run keeps them.
const sent = <T extends Tool.Any>({ request }: Run<T>, { resultLength, transcript }: State): Transcript =>
  request.of(transcript, resultLength)

const offered = <T extends Tool.Any>(
  { offersAvailable, toolkit, usage }: Run<T>,
  { loop: { withdrawn } }: State
): Question["tools"] => {
  const { spentTools } = usage
  const isAnyHidden = withdrawn.length + spentTools.length > 0
  const remaining = (tools: ReadonlyArray<Definition>) =>
    isAnyHidden ? tools.filter(({ name }) => !withdrawn.includes(name) && !spentTools.includes(name)) : tools
  if (offersAvailable) return Effect.map(Availability.offered(toolkit), remaining)
  return isAnyHidden ? Effect.succeed(remaining(toolkit.definitions)) : toolkit.definitions
}

// If the model had to call a tool in every turn, it could never answer. So `toolChoice` is dropped after a call.
const optionsFor = <T extends Tool.Any>({ modelOptions }: Run<T>, { account }: State): Options =>
  account.calls > 0 && mustCall(modelOptions) ? withoutChoice(modelOptions) : modelOptions

const withoutChoice = (options: Options): Options => {
  const { toolChoice: _, ...others } = options
  return others
}
