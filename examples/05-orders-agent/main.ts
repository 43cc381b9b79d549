/**
 * The orders agent: a search whose service cuts its answers at 4 KB, sends pages, and answers nonsense on command.
 *
 *     pnpm example orders
 *     pnpm example orders --plain --max-turns 17
 *     pnpm example orders "What did Ada Rowe spend?" --upstream up
 *     pnpm example orders --upstream up --all-pages
 *     pnpm example orders --upstream up --typed
 *     pnpm example orders --upstream nonsense --show-messages
 *     pnpm example orders --upstream empty --quiet
 */
import * as CommandLine from "../shared/CommandLine.ts"
import { program } from "./program.ts"

CommandLine.run(program)
