import * as Effect from "effect/Effect"
import * as Availability from "../../Availability.ts"
import { mustCall, type Options } from "../../Model.ts"
import type * as Tool from "../../Tool.ts"
import type { Definition } from "../../Toolkit.ts"
import type { Transcript } from "../../Transcript.ts"
import type { Question } from "./askModel.ts"
import type { Run, State } from "./runState.ts"
import { shorter } from "./shorterTranscript.ts"

/** Returns what the model is asked in a turn: the transcript, and the tools on offer. */
export const questionOf = <T extends Tool.Any>(run: Run<T>, state: State): Question => ({
  transcript: sent(run, state),
  postponed: state.postponed,
  tools: offered(run, state),
  options: optionsFor(run, state)
})

/** Returns the last question of a run that is concluded. */
export const lastQuestionOf = <T extends Tool.Any>(run: Run<T>, state: State, why: string): Question => {
  const { toolChoice: _, ...options } = run.modelOptions
  const request = `${why} Do not call tools. Give the best answer from what you know, and say what is missing.`
  // The transcript of the run does not contain this request.
  return { transcript: sent(run, state).append({ role: "user", text: request }), postponed: 0, tools: [], options }
}

// Beyond the limit of a request, the results are shortened in what is sent. The transcript of the run keeps them.
const sent = <T extends Tool.Any>({ request }: Run<T>, { resultLength, transcript }: State): Transcript =>
  resultLength <= request.most ? transcript : shorter(transcript, request.most)

const offered = <T extends Tool.Any>({ offersAvailable, toolkit }: Run<T>, { loop }: State): Question["tools"] => {
  const { withdrawn } = loop
  const remaining = (tools: ReadonlyArray<Definition>) =>
    withdrawn.length === 0 ? tools : tools.filter(({ name }) => !withdrawn.includes(name))
  if (offersAvailable) return Effect.map(Availability.offered(toolkit), remaining)
  return withdrawn.length === 0 ? toolkit.definitions : Effect.succeed(remaining(toolkit.definitions))
}

// If the model had to call a tool in every turn, it could never answer. So `toolChoice` is dropped after a call.
const optionsFor = <T extends Tool.Any>({ modelOptions }: Run<T>, { account }: State): Options => {
  if (account.calls === 0 || !mustCall(modelOptions)) return modelOptions
  const { toolChoice: _, ...others } = modelOptions
  return others
}
