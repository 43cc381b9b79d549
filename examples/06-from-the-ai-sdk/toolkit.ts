/**
 * The tools under Fallible: one line for each says what the AI SDK has no word for.
 */
import { AiSdk } from "@fallible/ai-sdk"
import { Policy, Toolkit } from "@fallible/core"
import type { Services, TravelTools } from "./tools.ts"

export const travelToolkit = (tools: TravelTools) =>
  AiSdk.toolkit(tools, {
    searchFlights: { sideEffect: "none" },
    bookFlight: { identity: ({ flight, passenger }) => [flight, passenger], repeats: false },
    chargeCard: { identity: ({ booking }) => booking, repeats: false, sideEffect: "idempotent_by_key" },
    sendConfirmation: { identity: ({ booking }) => booking, repeats: false }
  }).pipe(Toolkit.withDefaults(Policy.standard({ retryTimeouts: true })))

/** One key for each booking, also if the model words the call otherwise. */
export const keyOf: Services["keyOf"] = (_, options) => AiSdk.callOf(options)?.idempotencyKey ?? options.toolCallId
