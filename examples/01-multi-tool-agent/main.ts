/**
 * The multi-tool agent: four tools, seven cities, eight currencies, and a trace of each event.
 *
 *     pnpm demo
 *     pnpm demo "What time is it in Sydney?" --outage
 *     OLLAMA_HOST=localhost pnpm demo --model llama3.2
 */
import * as CommandLine from "../shared/CommandLine.ts"
import { program } from "./program.ts"

CommandLine.run(program)
