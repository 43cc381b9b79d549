import type { AgentEvent } from "../../AgentEvent.ts"

/**
 * An event of a run, before the run's id and the time are added.
 */
export type Happened = AgentEvent extends infer Event ? Event extends AgentEvent ? Omit<Event, "at" | "run"> : never
  : never
