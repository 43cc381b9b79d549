/*
 * Calls that a provider runs itself, and that it asks to have approved first. Each becomes a call of a tool that asks the user,
 * so that questions, suspensions and journals treat it like any other call. The tool is in no toolkit: the model can neither see
 * nor call it.
 */
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import type { Reply } from "../../Model.ts"
import * as Tool from "../../Tool.ts"
import type * as ToolCall from "../../ToolCall.ts"
import * as Toolkit from "../../Toolkit.ts"
import type { ToolOutcome } from "../../ToolOutcome.ts"
import { askUser } from "../call/askUser.ts"
import { exemptFromLimits } from "../tool/exemptFromLimits.ts"
import { cut, oneLine } from "../value/text.ts"
import { asToolkit } from "./keptResults.ts"

/** The name of the calls that ask the user. No tool of an agent has it. */
export const approvalName = "approve_provider_call"

/** Returns a reply with a call for each call of the provider that waits to be approved. */
export const withApprovals = (reply: Reply): Reply => {
  const asked =
    reply.providerCalls?.filter(({ approval = "" }) =>
      approval !== "" && !reply.calls.some((call) => call.approval === approval)
    ) ?? []
  return asked.length === 0 ? reply : {
    ...reply,
    calls: [
      ...reply.calls,
      ...asked.map(({ approval = "", arguments: text = "", name: tool }): ToolCall.ToolCall => ({
        id: approval,
        name: approvalName,
        arguments: JSON.stringify({ tool, arguments: text }),
        approval
      }))
    ]
  }
}

/** Returns how many calls of a reply are the model's own. Requests for approval come after them. */
export const countOwn = ({ calls, providerCalls }: Pick<Reply, "calls" | "providerCalls">): number =>
  providerCalls === undefined ? calls.length : calls.filter(({ approval }) => approval === undefined).length

/** Returns the toolkit in which a call finds its tool. */
export const toolkitOf = <T extends Tool.Any>(
  toolkit: Toolkit.Toolkit<T>,
  { approval }: ToolCall.ToolCall
): Toolkit.Toolkit<T> => approval === undefined ? toolkit : asToolkit(approvals)

/** Returns whether the user approved; `undefined` if the call did not ask for it. */
export const approvedIn = (call: ToolCall.ToolCall, outcome: ToolOutcome): boolean | undefined =>
  call.approval === undefined ? undefined : outcome._tag === "Completed" && isApproval(outcome.value)

const isApproval = Schema.is(Schema.Struct({ approved: Schema.Literal(true), reply: Schema.String }))

const ask = (question: string): Effect.Effect<string> =>
  Effect.withFiber((fiber) => {
    const reply = askUser(fiber, question, undefined, { kind: "approval" })
    return typeof reply === "string" ? Effect.succeed(reply) : Effect.die(reply)
  })

const approvals = Toolkit.make(exemptFromLimits(Tool.make(
  approvalName,
  {
    description: "Asks the user to approve a call that the model's provider runs",
    parameters: Schema.Struct({ tool: Schema.String, arguments: Schema.String }),
    success: Schema.Struct({ approved: Schema.Boolean, reply: Schema.String }),
    sideEffect: "none"
  },
  ({ arguments: text, tool }) =>
    Effect.map(
      // Nothing of the arguments is left out: nobody can approve what is not shown.
      ask(`The model's provider asks to run ${cut(oneLine(tool), 200)} with ${text}. Approve it? Answer yes or no.`),
      // Whatever is not a plain yes is a no.
      (reply) => ({ approved: /^\s*yes\s*[.!]?\s*$/i.test(reply), reply })
    )
)))
