/*
 * Calls that a provider runs itself, and that it asks to have approved first. Each becomes a call of a tool that asks the user,
 * so that questions, suspensions, limits and journals treat it like any other call.
 */
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import type { Reply } from "../../Model.ts"
import * as Tool from "../../Tool.ts"
import * as ToolCall from "../../ToolCall.ts"
import * as Toolkit from "../../Toolkit.ts"
import type { ToolOutcome } from "../../ToolOutcome.ts"
import { exemptFromLimits } from "../tool/exemptFromLimits.ts"
import { cut, oneLine } from "../value/text.ts"

const name = "approve_provider_call"

/** Returns a reply with a call for each call of the provider that waits to be approved. */
export const withApprovals = (reply: Reply): Reply => {
  const asked =
    reply.providerCalls?.filter(({ approval }) =>
      approval !== undefined && !reply.calls.some(({ id }) => id === approval)
    ) ?? []
  return asked.length === 0 ? reply : {
    ...reply,
    calls: [
      ...reply.calls,
      ...asked.map(({ approval = "", arguments: text = "", name: tool }): ToolCall.ToolCall => ({
        id: approval,
        name,
        arguments: JSON.stringify({ tool, arguments: text }),
        approval: true
      }))
    ]
  }
}

/** Adds the tool that asks the user to a toolkit, if a call needs it. The model is not offered it. */
export const approvable = <T extends Tool.Any>(
  toolkit: Toolkit.Toolkit<T>,
  calls: ReadonlyArray<ToolCall.ToolCall>
): Toolkit.Toolkit<T> =>
  !calls.some(isRequest) || toolkit.tools.has(name)
    ? toolkit
    : asToolkit({
      ...Toolkit.make(...toolkit.tools.values(), approve),
      definitions: toolkit.definitions
    })

const isRequest = ({ approval }: ToolCall.ToolCall): boolean => approval !== undefined

// The tool requires no services.
const asToolkit = <T extends Tool.Any>(toolkit: Toolkit.Toolkit) => toolkit as unknown as Toolkit.Toolkit<T>

/** Returns whether the user approved; `undefined` if the call did not ask for it. */
export const approvedIn = (call: ToolCall.ToolCall, outcome: ToolOutcome): boolean | undefined =>
  call.approval === undefined ? undefined : outcome._tag === "Completed" && isApproval(outcome.value)

const Approval = Schema.Struct({ approved: Schema.Boolean, reply: Schema.String })

const isApproval = Schema.is(Schema.Struct({ approved: Schema.Literal(true), reply: Schema.String }))

const approve = Tool.make(
  name,
  {
    description: "Asks the user to approve a call that the model's provider runs",
    parameters: Schema.Struct({ tool: Schema.String, arguments: Schema.String }),
    success: Approval,
    sideEffect: "none"
  },
  ({ arguments: text, tool }) =>
    Effect.map(
      ToolCall.ask(
        `The model's provider asks to run ${oneLine(tool)} with ${
          cut(oneLine(text), 500)
        }. Approve it? Answer yes or no.`
      ),
      // Whatever is not a plain yes is a no.
      (reply) => ({ approved: /^\s*(y|yes|ok|approved?)\s*[.!]?\s*$/i.test(reply), reply })
    )
)
exemptFromLimits(approve)
