/**
 * The multi-tool agent: four tools, seven cities, eight currencies, and a trace of each event.
 *
 *     pnpm demo
 *     pnpm demo "How is the weather in Mumbai?"
 *     pnpm demo "How is the weather in Mumbai?" --reply Tokyo
 *     pnpm demo --malformed --no-outage
 *     pnpm demo "How is the weather in London?" --conversation trip.json
 *     pnpm demo "And what time is it in Tokyo?" --conversation trip.json
 *     OLLAMA_HOST=localhost pnpm demo --model llama3.2
 */
import * as CommandLine from "../shared/CommandLine.ts"
import { program } from "./program.ts"

CommandLine.run(program)
