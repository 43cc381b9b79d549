/**
 * The JSON key counter: a model sends malformed JSON to a tool. A fixer corrects it, advises the model, or stops
 * the run.
 *
 *     pnpm example counter
 *     pnpm example counter --fixer agent
 *     pnpm example counter --fixer agent "How many keys has {'a': 1}?"
 *     pnpm example counter --fixer agent "How many keys has {a: 1, a: 2}?"
 *     pnpm example counter --fixer agent --planted
 *     pnpm example counter --preview "How many keys has {\"name\": \"Ada\", \"born\": 1815, \"works\": [\"Note G\"]}?"
 *     pnpm example counter "How many keys has {name: world, age: 30, active: true}?" --fixer none
 */
import * as CommandLine from "../shared/CommandLine.ts"
import { program } from "./program.ts"

CommandLine.run(program)
