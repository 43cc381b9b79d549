/** The fields that say where in a run an event happened. Events for the server and for clients have the same ones. */
import * as Schema from "effect/Schema"

export const inRun = {
  /** The id of the run. Log lines contain the same id. */
  run: Schema.String,
  /** When the event happened, in milliseconds of the `Clock`. */
  at: Schema.Finite
}

export const inTurn = {
  ...inRun,
  /** The 1-based number of the turn. */
  turn: Schema.Int
}

export const step = {
  /** Set if the step did not run now, because a journal returned its recorded result. */
  replayed: Schema.optionalKey(Schema.Literal(true))
}
