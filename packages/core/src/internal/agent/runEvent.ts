import type { AgentEvent } from "../../AgentEvent.ts"

/**
 * An event before it gets its run and its time.
 */
export type Happened = AgentEvent extends infer Event ? Event extends AgentEvent ? Omit<Event, "at" | "run"> : never
  : never
