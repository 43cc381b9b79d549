/**
 * A program of the AI SDK, before and after: four tools, a page with `useChat`, an approval, a stored chat. Begin with
 * `before.ts`, then read `toolkit.ts` and `after.ts`.
 *
 *     pnpm example sdk
 *     pnpm example sdk --fault slow
 */
import * as CommandLine from "../shared/CommandLine.ts"
import { program } from "./program.ts"

CommandLine.run(program)
