/**
 * The clinical assistant: three tools over a database, a service and a cache, each of which can fail on command.
 *
 *     pnpm example clinical
 *     pnpm example clinical "What is the usual dose of aspirin?" --api flaky
 *     pnpm example clinical --database down --api down --cache stale
 *
 * The patients are invented and the drugs are simplified. None of its answers is medical advice.
 */
import * as CommandLine from "../shared/CommandLine.ts"
import { program } from "./program.ts"

CommandLine.run(program)
