/*
 * Tools that the client runs, such as a page in a browser. Their handler asks, and returns what the client replies.
 */
import * as Effect from "effect/Effect"
import type * as Schema from "effect/Schema"
import type { SideEffect } from "../../SideEffect.ts"
import { SemanticGarbage } from "../../ToolFailure.ts"
import { askUser } from "../call/askUser.ts"
import { clientQuestion, clientReplyOf } from "../call/clientReply.ts"
import { readResult } from "../result/resultGuard.ts"

/** Makes the handler of a tool that the client runs. What a client says is no proof that nothing was done. */
export const clientHandler =
  <A>(name: string, success: Schema.ConstraintCodec<A, unknown>, sideEffect: SideEffect | undefined) =>
  (): Effect.Effect<A, SemanticGarbage> =>
    Effect.withFiber((fiber) => {
      const text = askUser(fiber, clientQuestion(name), {}, { kind: "client" })
      if (typeof text !== "string") return Effect.die(text)
      const reply = clientReplyOf(text)
      return "failure" in reply
        ? Effect.fail(
          new SemanticGarbage({
            code: "client_failed",
            detail: reply.failure,
            ...(sideEffect === "none" ? {} : { outcome: "unknown" })
          })
        )
        : readResult(success, reply.result)
    })
