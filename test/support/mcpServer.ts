/** A server of the official MCP SDK over streamable HTTP, with faults on its way, and the AI SDK's client of it. */
import { createMCPClient, type OAuthClientProvider, type OAuthTokens } from "@ai-sdk/mcp"
import { Server } from "@modelcontextprotocol/sdk/server/index.js"
import { StreamableHTTPServerTransport } from "@modelcontextprotocol/sdk/server/streamableHttp.js"
import {
  CallToolRequestSchema,
  type CallToolResult,
  ListToolsRequestSchema,
  type Tool
} from "@modelcontextprotocol/sdk/types.js"
import { Effect } from "effect"
import type * as Http from "node:http"
import { closedPort, serving } from "./http.ts"

export type Input = Readonly<Record<string, unknown>>

export interface McpTool extends Omit<Tool, "inputSchema" | "name"> {
  readonly inputSchema?: object
  readonly run: (input: Input) => CallToolResult | Promise<CallToolResult>
}

/**
 * What happens to a request that calls a tool: it is answered, it is done but its answer is lost, it never leaves, it is
 * answered with a status before it is done, or its stream of events ends before its answer.
 */
export type Fault = "answered" | "lost" | "never sent" | "cut" | number

export interface McpOptions {
  /** One fault for each request that calls a tool, in order. Further ones are answered. */
  readonly faults?: ReadonlyArray<Fault>
  /** Answers with a stream of events, as the SDK does by default. */
  readonly isStreaming?: boolean
  readonly client?: Partial<Parameters<typeof createMCPClient>[0]>
  /** The first token expires before a tool is called, so the client asks for a new one in the call. */
  readonly isExpiring?: boolean
}

export const text = (text: string): CallToolResult => ({ content: [{ type: "text", text }] })

/** Starts a server with tools and a client. Both end with the scope. */
export const mcp = (tools: Readonly<Record<string, McpTool>>, options: McpOptions = {}) =>
  Effect.gen(function*() {
    const { client: clientOptions, faults = [], isExpiring = false, isStreaming = false } = options
    const seen = { calls: [] as Array<string>, hungUp: 0, tokens: 0 }
    const left = [...faults]
    let next: Fault = "answered"
    const url = yield* serving(async (request, response) => {
      if (request.method !== "POST") return void response.writeHead(request.url === "/mcp" ? 405 : 404).end()
      const body = await bodyOf(request)
      if (request.url === "/token") {
        seen.tokens++
        return void response.writeHead(200, { "content-type": "application/json" }).end(
          JSON.stringify({ access_token: "new", token_type: "bearer" })
        )
      }
      const message: unknown = JSON.parse(body)
      const isCall = Object(message).method === "tools/call"
      if (isExpiring && isCall && request.headers.authorization === "Bearer old") {
        return void response.writeHead(401).end()
      }
      const fault = isCall ? next : "answered"
      if (typeof fault === "number") return void response.writeHead(fault).end("No.")
      if (isCall) response.on("close", () => response.writableFinished || seen.hungUp++)
      if (fault === "cut") {
        return void response.writeHead(200, { "content-type": "text/event-stream" }).end(": nothing more\n\n")
      }
      const session = new StreamableHTTPServerTransport({ enableJsonResponse: !isStreaming })
      await serverOf(tools, seen.calls).connect(session)
      await session.handleRequest(request, fault === "lost" ? cutting(response) : response, message)
    })
    const fetching: typeof fetch = (input, init) => {
      // The request with the old token is not the one with a fault.
      const isCall = JSON.stringify(init?.body ?? "").includes("tools/call") &&
        new Headers(init?.headers).get("authorization") !== "Bearer old"
      if (isCall) next = left.shift() ?? "answered"
      return fetch(isCall && next === "never sent" ? `http://127.0.0.1:${closedPort}/mcp` : input, init)
    }
    const client = yield* Effect.acquireRelease(
      Effect.promise(() =>
        createMCPClient({
          transport: {
            type: "http",
            url: `${url}/mcp`,
            fetch: fetching,
            ...(isExpiring ? { authProvider: expiring(url) } : {})
          },
          protocolVersionDiscovery: false,
          ...clientOptions
        })
      ),
      (client) => Effect.promise(() => client.close())
    )
    return { client, seen, url }
  })

const serverOf = (tools: Readonly<Record<string, McpTool>>, calls: Array<string>): Server => {
  const server = new Server({ name: "test", version: "1.0.0" }, { capabilities: { tools: {} } })
  server.setRequestHandler(ListToolsRequestSchema, () => ({
    tools: Object.entries(tools).map(([name, { inputSchema = { type: "object" }, ...tool }]) => ({
      ...tool,
      name,
      inputSchema: asInputSchema(inputSchema),
      run: undefined
    }))
  }))
  server.setRequestHandler(CallToolRequestSchema, async ({ params: { arguments: input = {}, name } }) => {
    calls.push(`${name} ${JSON.stringify(input)}`)
    return tools[name]!.run(input)
  })
  return server
}

/** Has an old token, and may refresh it. */
const expiring = (url: string): OAuthClientProvider => {
  let tokens: OAuthTokens = { access_token: "old", token_type: "bearer", refresh_token: "refresh" }
  return {
    tokens: () => tokens,
    saveTokens: (saved) => {
      tokens = saved
    },
    clientInformation: () => ({ client_id: "test" }),
    clientMetadata: { redirect_uris: ["http://127.0.0.1/back"] },
    redirectUrl: "http://127.0.0.1/back",
    authorizationServerInformation: () => ({
      issuer: `${url}/mcp`,
      authorizationServerUrl: `${url}/mcp`,
      tokenEndpoint: `${url}/token`
    }),
    redirectToAuthorization: () => {
      throw new Error("nobody is there")
    },
    codeVerifier: () => "",
    saveCodeVerifier: () => {}
  }
}

// What is wrong in it, a client has to find.
const asInputSchema = (schema: object) => schema as Tool["inputSchema"]

const bodyOf = async (request: Http.IncomingMessage): Promise<string> => {
  const chunks: Array<Buffer> = []
  for await (const chunk of request) chunks.push(chunk)
  return Buffer.concat(chunks).toString()
}

/** A response that hangs up in place of its first byte. */
const cutting = (response: Http.ServerResponse): Http.ServerResponse =>
  Object.assign(response, { writeHead: () => response.destroy() })
