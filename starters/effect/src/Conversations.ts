/**
 * The conversations, in your database. The facts of a conversation say what its calls did, so that a later question, or
 * another process, charges nothing twice.
 */
import { Transcript } from "@fallible/core"
import * as CallFacts from "@fallible/core/CallFacts"
import { Context, Effect, Layer, Option, Schema } from "effect"
import { SqlClient, SqlSchema } from "effect/sql"

const Conversation = Schema.Struct({ transcript: Transcript.schema, facts: CallFacts.schema })
const Row = Schema.Struct({ id: Schema.String, conversation: Schema.fromJsonString(Conversation) })

type Conversation = typeof Conversation.Type
const nothing: Conversation = { transcript: Transcript.make([]), facts: CallFacts.empty }

/** A database that is down is a defect, which halts the run: nothing more is charged that would be forgotten. */
export class Conversations extends Context.Service<Conversations, {
  readonly load: (id: string) => Effect.Effect<Conversation>
  readonly save: (id: string, conversation: Conversation) => Effect.Effect<void>
}>()("cashier/Conversations") {
  static readonly layer = Layer.effect(
    Conversations,
    Effect.gen(function*() {
      const sql = yield* SqlClient.SqlClient
      yield* sql`CREATE TABLE IF NOT EXISTS conversations (id TEXT PRIMARY KEY, conversation TEXT NOT NULL)`

      const find = SqlSchema.findOneOption({
        Request: Schema.String,
        Result: Row,
        execute: (id) => sql`SELECT * FROM conversations WHERE id = ${id}`
      })
      const write = SqlSchema.void({
        Request: Row,
        execute: (row) => sql`INSERT OR REPLACE INTO conversations ${sql.insert(row)}`
      })

      return Conversations.of({
        load: (id) =>
          Effect.map(
            Effect.orDie(find(id)),
            Option.match({
              onNone: () => nothing,
              onSome: ({ conversation }) => conversation
            })
          ),
        save: (id, { facts, transcript }) => Effect.orDie(write({ id, conversation: { facts, transcript } }))
      })
    })
  )
}
