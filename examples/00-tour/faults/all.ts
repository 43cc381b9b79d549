/** The faults of the tour, in their order. */
import type { Fault } from "../Fault.ts"
import { almostJson } from "./almostJson.ts"
import { cutOff } from "./cutOff.ts"
import { hangingTool } from "./hangingTool.ts"
import { loop } from "./loop.ts"
import { lostConnection } from "./lostConnection.ts"
import { lostPayment } from "./lostPayment.ts"
import { outage } from "./outage.ts"
import { pages } from "./pages.ts"

export const faults: ReadonlyArray<Fault> = [
  lostPayment,
  outage,
  pages,
  cutOff,
  almostJson,
  lostConnection,
  loop,
  hangingTool
]
