/**
 * The HTTP backend: a support desk that an agent runs, with a page to try it, and a second one with `useChat`.
 *
 *     pnpm example backend
 *     pnpm example backend --upstream up
 *     pnpm example backend --port 8080 --runs 200 --grace 30
 *
 *     curl -N localhost:3000/ask -H 'content-type: application/json' -H 'accept: text/event-stream' \
 *       -d '{"question":"Where is the parcel of order o-1001?"}'
 *
 *     curl localhost:3000/ask -H 'content-type: application/json' -d '{"question":"Refund o-1004."}'
 *     curl localhost:3000/reply -H 'content-type: application/json' -d '{"token":"…","reply":"yes"}'
 */
import * as CommandLine from "../shared/CommandLine.ts"
import { program } from "./program.ts"

CommandLine.run(program, { teardown: CommandLine.stoppedBySignal })
