import * as Effect from "effect/Effect"
import type { LooksLike } from "../../Answer.ts"
import * as Availability from "../../Availability.ts"
import { mustCall, type Options } from "../../Model.ts"
import type * as Tool from "../../Tool.ts"
import type { Definition } from "../../Toolkit.ts"
import type { Transcript } from "../../Transcript.ts"
import { schemaOf } from "../arguments/jsonSchema.ts"
import type { Question } from "./askModel.ts"
import { finalAnswerName, type Output } from "./finalAnswer.ts"
import { assistantMessage } from "./messages.ts"
import type { Run, State } from "./runState.ts"

/** Returns what the model is asked in a turn: the transcript, and the tools on offer. */
export const questionOf = <T extends Tool.Any>(run: Run<T>, state: State): Question => ({
  transcript: withRequest(sent(run, state), state),
  // A request that was postponed is a new step: the first one has recorded its failure.
  ...(state.postponed === 0 ? {} : { step: `/again/${state.postponed}` }),
  tools: offered(run, state),
  options: optionsFor(run, state)
})

/** Returns the last question of a run that is concluded. */
export const lastQuestionOf = <T extends Tool.Any>(run: Run<T>, state: State, why: string): Question => {
  const { modelOptions, output, toolkit } = run
  const byCall = output !== undefined && !canWrite(run, 0)
  const request = byCall
    ? `${why} Call ${finalAnswerName} now, and no other tool. Give the best answer from what you know.`
    : `${why} Do not call tools. Give the best answer from what you know, and say what is missing.`
  // The transcript of the run does not contain this request.
  return {
    transcript: sent(run, state).append({ role: "user", text: request }),
    step: "/last",
    tools: byCall ? toolkit.definitions.filter(({ name }) => name === finalAnswerName) : [],
    options: output === undefined || byCall
      ? withoutChoice(modelOptions)
      : withSchema(withoutChoice(modelOptions), output)
  }
}

/** True if a model can write its answer by a JSON Schema, in a request that offers this number of tools. */
export const canWrite = ({ model: { structuredOutput } }: Pick<Run<Tool.Any>, "model">, tools: number): boolean =>
  structuredOutput === "always" || structuredOutput === "without_tools" && tools === 0

const withSchema = (options: Options, { tool }: Output): Options => ({ ...options, output: schemaOf(tool.parameters) })

// After a reply that is not an answer. The transcript of the run contains neither that reply nor this request.
const withRequest = (transcript: Transcript, { blanks, questioned, refused: { latest } }: State): Transcript => {
  if (latest !== undefined) {
    return transcript.append(assistantMessage(latest.reply), { role: "user", text: latest.why })
  }
  if (questioned !== undefined) {
    const { looksLike, reply } = questioned
    return transcript.append(assistantMessage(reply), { role: "user", text: requests[looksLike] })
  }
  // Servers refuse an assistant message without text, so the empty reply is only named.
  return blanks === 0 ? transcript : transcript.append({ role: "user", text: requests.empty })
}

const requests: Readonly<Record<LooksLike | "empty", string>> = {
  call_as_text:
    "Your last reply contains a tool call written as text, so it was not run. To run it, make a real tool call. If the text was your answer, repeat it.",
  plan:
    "Your last reply only says what you will do, and makes no tool call. Make it now, or give the answer. If the text was your answer, repeat it.",
  empty: "Your last reply was empty. Answer the user, or call a tool."
}

// Beyond the limit of a request, the results are shortened in what is sent. The transcript of the run keeps them.
const sent = <T extends Tool.Any>({ request }: Run<T>, { resultLength, transcript }: State): Transcript =>
  request.of(transcript, resultLength)

const offered = <T extends Tool.Any>(run: Run<T>, state: State): Question["tools"] => {
  const { offersAvailable, output, toolkit, usage } = run
  // Nearly always, all tools are on offer.
  if (output === undefined && !offersAvailable && state.loop.withdrawn.length + usage.spentTools.length === 0) {
    return toolkit.definitions
  }
  const remaining = (tools: ReadonlyArray<Definition>) => tools.filter(({ name }) => isOnOffer(run, state, name))
  return offersAvailable
    ? Effect.map(Availability.offered(toolkit), remaining)
    : Effect.succeed(remaining(toolkit.definitions))
}

const isOnOffer = <T extends Tool.Any>(
  { isStructured, modelOptions, output, usage: { spentTools } }: Run<T>,
  { loop: { withdrawn } }: State,
  name: string
): boolean => {
  if (output !== undefined && name === finalAnswerName) return !isStructured
  // A provider may not be able to forbid the calls of tools that it offers, and the answer may be a call.
  const isAnswerAlone = output !== undefined && modelOptions.toolChoice === "none"
  return !isAnswerAlone && !withdrawn.includes(name) && !spentTools.includes(name)
}

/** Returns the names of the tools that the model may call. A tool that is not available now counts: a replay must find the same. */
export const offeredNames = <T extends Tool.Any>(
  { modelOptions, toolkit, usage: { spentTools } }: Run<T>,
  { loop: { withdrawn } }: State
): ReadonlySet<string> => {
  const names = new Set(modelOptions.toolChoice === "none" ? [] : toolkit.tools.keys())
  for (const name of [...withdrawn, ...spentTools]) names.delete(name)
  return names
}

// If the model had to call a tool in every turn, it could never answer. So `toolChoice` is dropped after a call.
const optionsFor = <T extends Tool.Any>(
  { isStructured, modelOptions, output, toolkit }: Run<T>,
  { account }: State
): Options => {
  const { toolChoice } = modelOptions
  if (output === undefined) {
    return account.calls > 0 && mustCall(modelOptions)
      ? withoutChoice(modelOptions)
      : modelOptions
  }
  if (!isStructured) {
    // The answer is a call, too. With "none", it is the only one on offer.
    const isMet = toolChoice === "none" || account.calls > 0 && typeof toolChoice === "object"
    return isMet ? withoutChoice(modelOptions) : modelOptions
  }
  const isMet = account.calls > 0 || toolkit.tools.size === 1 || toolChoice === "none" ||
    typeof toolChoice === "object" && toolChoice.tool === finalAnswerName
  return withSchema(isMet ? withoutChoice(modelOptions) : modelOptions, output)
}

const withoutChoice = (options: Options): Options => {
  const { toolChoice: _, ...others } = options
  return others
}
