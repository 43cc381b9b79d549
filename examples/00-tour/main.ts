/**
 * The tour: eight faults, each played through an agent of Fallible and through a plain loop. Both get the same tools and
 * the same model. Begin with a file of `faults`.
 *
 *     pnpm tour
 *     pnpm tour 3
 *     pnpm tour --json
 */
import * as CommandLine from "../shared/CommandLine.ts"
import { program } from "./program.ts"

CommandLine.run(program)
