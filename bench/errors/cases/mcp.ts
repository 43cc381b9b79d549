import { Client } from "@modelcontextprotocol/sdk/client/index.js"
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js"
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js"
import { InMemoryTransport } from "@modelcontextprotocol/sdk/inMemory.js"
import { Server } from "@modelcontextprotocol/sdk/server/index.js"
import { CallToolRequestSchema, ErrorCode, McpError } from "@modelcontextprotocol/sdk/types.js"
import { authorization, type Cases, password, type World } from "../world.ts"

/** A client and a server linked in memory, and a client of the misbehaving server over HTTP. */
export const mcpCases = ({ origin, refused }: World): Cases => {
  const linked = async (answer: (name: string, server: Server) => never | Promise<never>) => {
    const server = new Server({ name: "hotel", version: "1" }, { capabilities: { tools: {} } })
    server.setRequestHandler(CallToolRequestSchema, ({ params }) => answer(params.name, server))
    const client = new Client({ name: "agent", version: "1" })
    const [here, there] = InMemoryTransport.createLinkedPair()
    await Promise.all([server.connect(there), client.connect(here)])
    return client
  }
  const call = async (
    answer: (name: string, server: Server) => never | Promise<never>,
    options: { readonly timeout?: number; readonly signal?: AbortSignal } = {}
  ) => (await linked(answer)).callTool({ name: "book", arguments: { password } }, undefined, options)
  const says = (code: number, message: string, data?: unknown) => () => {
    throw new McpError(code, message, data)
  }
  const forever = () => new Promise<never>(() => {})
  const connect = (url: string) =>
    new Client({ name: "agent", version: "1" }).connect(
      new StreamableHTTPClientTransport(new URL(url), { requestInit: { headers: { authorization } } })
    )
  return {
    library: "@modelcontextprotocol/sdk",
    cases: {
      "parse error": () => call(says(ErrorCode.ParseError, "Parse error")),
      "invalid request": () => call(says(ErrorCode.InvalidRequest, "Invalid request")),
      "method not found": () => call(says(ErrorCode.MethodNotFound, "Method not found")),
      "invalid params": () => call(says(ErrorCode.InvalidParams, `Unknown room: ${password}`, { room: 17 })),
      "internal error": () => call(says(ErrorCode.InternalError, "Internal error")),
      "server error": () => call(says(-32000, "Server error")),
      "resource not found": () => call(says(-32002, "Resource not found", { uri: "file:///rooms" })),
      "code of one's own": () => call(says(17, "Room is taken")),
      "handler threw": () =>
        call(() => {
          throw new Error(`boom ${password}`)
        }),
      "request timeout": () => call(forever, { timeout: 50 }),
      "aborted": () => {
        const controller = new AbortController()
        setTimeout(() => controller.abort("The user left."), 50)
        return call(forever, { signal: controller.signal })
      },
      "connection closed": () => call((_, server) => server.close().then(forever)),
      "unsupported": async () => (await linked(forever)).listPrompts(),
      "unsupported resource": async () => (await linked(forever)).readResource({ uri: "file:///rooms" }),
      "not connected": () => new Client({ name: "agent", version: "1" }).callTool({ name: "book" }),
      "http 401": () => connect(`${origin}/401`),
      "http 404": () => connect(`${origin}/404`),
      "http 429": () => connect(`${origin}/429-in-seconds`),
      "http 500": () => connect(`${origin}/500`),
      "http refused": () => connect(refused),
      "http HTML": () => connect(`${origin}/html`),
      "http cut JSON": () => connect(`${origin}/cut-json`),
      "stdio without a program": () =>
        new Client({ name: "agent", version: "1" }).connect(new StdioClientTransport({ command: "no-such-program" })),
      "stdio that ends": () =>
        new Client({ name: "agent", version: "1" }).connect(new StdioClientTransport({ command: "true" }))
    }
  }
}
