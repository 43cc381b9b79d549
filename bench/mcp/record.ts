/**
 * Starts real MCP servers over stdio, and records the schemas of their tools as data: `test/support/mcpSchemas.json`.
 *
 * Only this folder depends on the servers: `npx -y pnpm@12 mcp` installs them and runs. No server is asked to do anything but
 * list its tools, and all keys are dummies. A server that cannot start keeps its earlier recording. With names of servers as
 * arguments, only those are recorded.
 *
 * What a server writes also depends on its own dependencies, of which npm chooses the versions: another version of zod writes
 * other schemas.
 */
import { Client } from "@modelcontextprotocol/sdk/client/index.js"
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js"
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import type { RecordedServer } from "../../test/support/mcpSchemas.ts"

/** How a server is started, where it needs more than its name. */
interface Start {
  readonly args?: ReadonlyArray<string>
  readonly env?: Readonly<Record<string, string>>
  /** The licence, if the manifest does not name it. */
  readonly licence?: string
}

const here = import.meta.dirname
const file = join(here, "../../test/support/mcpSchemas.json")
const folder = mkdtempSync(join(tmpdir(), "mcp-"))

// The repository of the reference servers is under MIT, and its newer parts are under Apache 2.0.
const reference = { licence: "MIT AND Apache-2.0" }

const servers: Readonly<Record<string, Start>> = {
  "@antv/mcp-server-chart": {},
  "@brave/brave-search-mcp-server": { env: { BRAVE_API_KEY: "dummy" }, args: ["--transport", "stdio"] },
  "@browserbasehq/mcp-server-browserbase": {
    env: { BROWSERBASE_API_KEY: "bb_dummy", BROWSERBASE_PROJECT_ID: "dummy", GEMINI_API_KEY: "dummy" }
  },
  "@circleci/mcp-server-circleci": { env: { CIRCLECI_TOKEN: "dummy" } },
  "@cyanheads/git-mcp-server": {},
  "@elastic/mcp-server-elasticsearch": { env: { ES_URL: "http://127.0.0.1:9", ES_API_KEY: "dummy" } },
  "@mapbox/mcp-server": { env: { MAPBOX_ACCESS_TOKEN: "pk.eyJ1IjoiZHVtbXkifQ.dummy" } },
  "@mobilenext/mobile-mcp": {},
  "@modelcontextprotocol/server-everything": reference,
  "@modelcontextprotocol/server-filesystem": { ...reference, args: [folder] },
  "@modelcontextprotocol/server-github": {},
  "@modelcontextprotocol/server-memory": reference,
  "@modelcontextprotocol/server-sequential-thinking": reference,
  "@notionhq/notion-mcp-server": { env: { NOTION_TOKEN: "ntn_dummy" } },
  "@playwright/mcp": { args: ["--caps=vision,pdf,testing"] },
  "@upstash/context7-mcp": {},
  "@wonderwhy-er/desktop-commander": {},
  "airtable-mcp-server": { env: { AIRTABLE_API_KEY: "pat_dummy" } },
  "chrome-devtools-mcp": { args: ["--no-usage-statistics"] },
  "figma-developer-mcp": { args: ["--stdio", "--figma-api-key=dummy"] },
  "firecrawl-mcp": { env: { FIRECRAWL_API_KEY: "fc-dummy" } },
  "mcp-server-kubernetes": {},
  "mongodb-mcp-server": { env: { MDB_MCP_TELEMETRY: "disabled" } },
  "tavily-mcp": { env: { TAVILY_API_KEY: "tvly-dummy" } }
}

/** How long a server may take, in milliseconds. */
const longest = 45_000

const manifestOf = (name: string) =>
  JSON.parse(readFileSync(join(here, "node_modules", name, "package.json"), "utf8")) as {
    readonly version: string
    readonly license: string
    readonly bin: string | Readonly<Record<string, string>>
  }

const record = async (name: string, { args = [], env = {}, licence }: Start): Promise<RecordedServer> => {
  const { bin, license, version } = manifestOf(name)
  const [program = ""] = typeof bin === "string" ? [bin] : Object.values(bin)
  const transport = new StdioClientTransport({
    command: process.execPath,
    args: [join(here, "node_modules", name, program), ...args],
    // Nothing of the environment of this program reaches a server but where its programs are.
    env: { PATH: process.env["PATH"] ?? "", HOME: folder, ...env },
    cwd: folder,
    stderr: "ignore"
  })
  const client = new Client({ name: "fallible-recorder", version: "1.0.0" })
  const options = { timeout: longest }
  try {
    await client.connect(transport, options)
    const tools: Array<RecordedServer["tools"][number]> = []
    let cursor: string | undefined
    do {
      const page = await client.listTools(cursor === undefined ? {} : { cursor }, options)
      for (const { inputSchema, name, outputSchema } of page.tools) {
        tools.push({ name, inputSchema, ...(outputSchema === undefined ? {} : { outputSchema }) })
      }
      cursor = page.nextCursor
    } while (cursor !== undefined)
    return { server: name, version, licence: licence ?? license, tools }
  } finally {
    await client.close()
  }
}

const earlier: ReadonlyArray<RecordedServer> = existsSync(file) ? JSON.parse(readFileSync(file, "utf8")) : []
const wanted = process.argv.slice(2)
const recorded = new Map(earlier.map((server) => [server.server, server]))
for (const [name, start] of Object.entries(servers)) {
  if (wanted.length > 0 && !wanted.includes(name)) continue
  try {
    const server = await record(name, start)
    if (server.tools.length > 0) recorded.set(name, server)
    console.log(`${name}: ${server.tools.length} tools`)
  } catch (error) {
    console.log(`${name}: ${error instanceof Error ? error.message : String(error)}`)
  }
}
const sorted = Array.from(recorded.values()).toSorted((one, other) => one.server < other.server ? -1 : 1)
// One tool a line, so that a change shows which tool it is.
const lines = sorted.map(({ tools, ...server }) =>
  `${JSON.stringify(server).slice(0, -1)},"tools":[\n${tools.map((tool) => JSON.stringify(tool)).join(",\n")}\n]}`
)
writeFileSync(file, `[\n${lines.join(",\n")}\n]\n`)
rmSync(folder, { recursive: true, force: true })
