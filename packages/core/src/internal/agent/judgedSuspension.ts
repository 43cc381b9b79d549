/*
 * Checks whether an agent can resume a suspension: before anything runs, and without the model. The tools that the rest of the
 * turn needs must be there. The arguments of each open question must decode to those that were shown.
 */
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import type { RunRefused, Suspension } from "../../AgentFailure.ts"
import type * as Tool from "../../Tool.ts"
import type { FieldIssue } from "../../ToolFailure.ts"
import type * as Toolkit from "../../Toolkit.ts"
import type { Suspended } from "../../ToolOutcome.ts"
import { decodeText } from "../arguments/decoding.ts"
import { argumentsOf, digestOfCall } from "../dispatch/approvalStage.ts"
import { timeText } from "../value/timeText.ts"
import { attempt } from "../value/untrusted.ts"
import { readMoreName } from "./keptResults.ts"
import { isAnswered, suspensionId } from "./openQuestions.ts"
import { toolkitOf } from "./providerApproval.ts"
import { refusalOfResume } from "./runInput.ts"

/** Returns why a suspension cannot be resumed now; `undefined` if it can. */
export const refusalOfSuspension = (
  toolkit: Toolkit.Toolkit,
  suspension: Suspension,
  now: number
): Effect.Effect<RunRefused | undefined> => {
  const { tools } = toolkit
  const { expires, id, needs, outcomes, reply, runId, turn } = suspension
  const refuse = (why: string, issue: FieldIssue) =>
    refusalOfResume(why, [{ ...issue, path: ["suspension", ...issue.path] }], suspension)
  if (expires !== undefined && now > expires) {
    return Effect.succeed(refuse(
      `the time to reply was over at ${
        timeText(expires)
      }. Ask again in a new run, with the transcript and the facts of the suspension`,
      { path: ["expires"], expected: "a time to come", actual: `${expires}` }
    ))
  }
  // Under another id, it could be claimed twice.
  if (id !== suspensionId(runId, turn, outcomes)) {
    return Effect.succeed(
      refuse("its id does not belong to its questions: the suspension was changed", {
        path: ["id"],
        expected: "the id of its run, turn and questions",
        actual: "another one"
      })
    )
  }
  const asking = outcomes.flatMap((outcome, index) => {
    const call = reply.calls[index]
    return outcome._tag === "Suspended" && !isAnswered(outcome) && call !== undefined ? [{ outcome, index, call }] : []
  })
  const own = asking.flatMap(({ call: { approval, name } }) => approval === undefined ? [name] : [])
  const names = new Set([...needs, ...own])
  const gone = Array.from(names).find((name) => !tools.has(name) && name !== readMoreName)
  if (gone !== undefined) {
    return Effect.succeed(refuse(`the agent has no tool '${gone}' any more, which the rest of the turn needs`, {
      path: ["needs"],
      expected: "tools of the agent",
      actual: `'${gone}'`
    }))
  }
  return Effect.reduce(asking, (): RunRefused | undefined => undefined, (refusal, { call, index, outcome }) => {
    const tool: Tool.Any | undefined = toolkitOf(toolkit, call).tools.get(call.name)
    if (refusal !== undefined || tool === undefined) return Effect.succeed(refusal)
    const wrong = outcome.asks.tool === call.name
      ? wrongIn(tool, outcome, outcome.arguments ?? call.arguments)
      : Effect.succeed("tool" as const)
    return Effect.map(
      wrong,
      (wrong) =>
        wrong === undefined ? undefined : refuse(
          `the call of ${call.name} is not the one that was asked about: the suspension was changed, or the tool was`,
          { path: ["outcomes", index, "asks", wrong], expected: `the ${wrong} of the call`, actual: "another one" }
        )
    )
  })
}

// Returns the field of a question that does not belong to the arguments of its call.
const wrongIn = (
  tool: Tool.Any,
  { asks, salt }: Suspended,
  text: string | undefined
): Effect.Effect<"digest" | "arguments" | undefined> =>
  asks.digest === undefined
    ? Effect.undefined
    : Effect.map(Effect.exit(Effect.suspend(() => decodeText(text, tool))), (exit) => {
      if (Exit.isFailure(exit)) return "digest"
      const shown = { params: exit.value.params, text, salt, again: asks.again }
      if (attempt(() => digestOfCall(tool, shown)) !== asks.digest) return "digest"
      return asks.arguments === undefined || attempt(() => argumentsOf(tool, shown)) === asks.arguments
        ? undefined
        : "arguments"
    })
