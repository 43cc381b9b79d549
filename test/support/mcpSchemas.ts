/** The schemas of real MCP servers, as `bench/mcp/record.ts` has recorded them. */
import { readFileSync } from "node:fs"
import { join } from "node:path"

export interface RecordedServer {
  readonly server: string
  readonly version: string
  readonly licence: string
  readonly tools: ReadonlyArray<RecordedTool>
}

export interface RecordedTool {
  readonly name: string
  readonly inputSchema: object
  readonly outputSchema?: object
}

export const recordedServers = (): ReadonlyArray<RecordedServer> =>
  JSON.parse(readFileSync(join(import.meta.dirname, "mcpSchemas.json"), "utf8"))
