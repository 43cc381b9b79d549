/** The tool that acts. Its type says that it needs `Payments`, and so does the type of every agent that has it. */
import { SemanticGarbage, Tool, ToolCall, ToolFailure } from "@fallible/core"
import * as HttpFailure from "@fallible/core/HttpFailure"
import { Effect, Schema } from "effect"
import { Payments, Receipt } from "./Payments.ts"

export const charge = Tool.make(
  "charge",
  {
    description: "Charges the customer's card for an order",
    parameters: Schema.Struct({ order: Schema.String }),
    success: Receipt,
    sideEffect: "idempotent_by_key", // the service charges once for each key, so a lost call is repeated
    identity: ({ order }) => order, // calls for one order mean one charge
    repeats: false // what was charged is not charged again
  },
  Effect.fnUntraced(
    function*({ order }) {
      const { idempotencyKey } = yield* ToolCall.current
      return yield* Payments.use((payments) => payments.charge(order, idempotencyKey))
    },
    HttpFailure.classify,
    // What the other errors mean. The compiler names a tag that is missing.
    Effect.mapError(ToolFailure.fromTags({
      CardDeclined: ({ order }) =>
        new SemanticGarbage({
          code: "card_declined",
          detail: `The card was declined for order ${order}.`,
          outcome: "not_executed"
        }),
      SchemaError: ToolFailure.from
    }))
  )
)
