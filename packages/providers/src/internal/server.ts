import type * as ModelProblem from "@fallible/core/ModelProblem"
import type { Endpoint } from "./endpoint.ts"

/** The server that is called. */
export interface Server extends ModelProblem.Server {
  readonly endpoint: Endpoint
  /** The server's name for the model. */
  readonly model: string
}

/** Makes a server from what is known of it. Its failures name its address, and hide its secrets. */
export const make = (server: Omit<Server, "address" | "hide">): Server => ({
  ...server,
  address: server.endpoint.url,
  hide: server.endpoint.hide
})
