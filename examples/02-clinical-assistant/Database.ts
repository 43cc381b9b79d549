/**
 * The hospital's own database: patients, and the drugs that are in house. It is embedded, in a file for as long as the
 * program runs, and can be locked or gone.
 */
import { Guard, type SchemaMismatch, ToolUnavailable } from "@fallible/core"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as FileSystem from "effect/FileSystem"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Predicate from "effect/Predicate"
import * as Schema from "effect/Schema"
import { DatabaseSync, type SQLInputValue } from "node:sqlite"
import { DrugFacts, inHouse, PatientRecord, patients } from "./World.ts"

type Query<A> = Effect.Effect<A, SchemaMismatch | ToolUnavailable>

export class Database extends Context.Service<Database, {
  readonly patient: (id: string) => Query<Option.Option<PatientRecord>>
  readonly drug: (name: string) => Query<Option.Option<DrugFacts>>
  readonly drugNames: Query<ReadonlyArray<string>>
}>()("example/Database") {}

export const states = ["up", "locked", "down"] as const
export type State = (typeof states)[number]

export const layer = (state: State) =>
  Layer.effect(
    Database,
    Effect.gen(function*() {
      const { makeTempDirectoryScoped } = yield* FileSystem.FileSystem
      const folder = yield* makeTempDirectoryScoped({ prefix: "clinical-assistant-" })
      const file = `${folder}/hospital.db`
      yield* Effect.sync(() => withDatabase(file, fill))
      if (state === "locked") yield* locked(file)
      return Database.of(over(state === "down" ? `${folder}/gone/hospital.db` : file))
    })
  )

// -----------------------------------------------------------------------------
// Queries
// -----------------------------------------------------------------------------

const Names = Schema.fromJsonString(Schema.Array(Schema.String))
const PatientRow = Schema.Struct({ ...PatientRecord.fields, allergies: Names, medications: Names })
const DrugRow = Schema.Struct({ ...DrugFacts.fields, interactsWith: Names })
const NameRow = Schema.Struct({ name: Schema.String })

const over = (file: string): Database["Service"] => {
  const all = <T>(row: Schema.ConstraintDecoder<T>, sql: string, ...values: ReadonlyArray<SQLInputValue>) =>
    Effect.try({
      // A wait for a lock would stop the whole process: the driver is synchronous. Waiting is for the tool's retry.
      try: () => withDatabase(file, (database) => database.prepare(sql).all(...values), { readOnly: true, timeout: 0 }),
      catch: unavailable
    }).pipe(Guard.decode(Schema.Array(row)))
  return {
    patient: (id) => Effect.map(all(PatientRow, "SELECT * FROM patients WHERE id = ?", id), first),
    drug: (name) => Effect.map(all(DrugRow, "SELECT * FROM drugs WHERE name = ?", name), first),
    drugNames: Effect.map(all(NameRow, "SELECT name FROM drugs"), (rows) => rows.map(({ name }) => name))
  }
}

const first = <A>([row]: ReadonlyArray<A>): Option.Option<A> => Option.fromUndefinedOr(row)

const unavailable = (cause: unknown): ToolUnavailable => {
  const fault = faults.get(Predicate.hasProperty(cause, "errcode") ? cause.errcode : undefined)
  return new ToolUnavailable({
    ...fault ?? { code: "database_error", detail: "The internal database could not answer." },
    transient: fault !== undefined,
    cause
  })
}

/** What passes, by SQLite's own codes (https://www.sqlite.org/rescode.html). */
const faults: ReadonlyMap<unknown, { readonly code: string; readonly detail: string }> = new Map([
  [5, { code: "database_locked", detail: "The internal database is locked by somebody else." }],
  [14, { code: "connection", detail: "The internal database could not be opened." }]
])

// -----------------------------------------------------------------------------
// The file
// -----------------------------------------------------------------------------

// Opened anew for each use, so that a database that is gone is found out by who asks it, and not when the program starts.
const withDatabase = <A>(
  file: string,
  use: (database: DatabaseSync) => A,
  options: ConstructorParameters<typeof DatabaseSync>[1] = {}
): A => {
  const database = new DatabaseSync(file, options)
  try {
    return use(database)
  } finally {
    database.close()
  }
}

const fill = (database: DatabaseSync): void => {
  database.exec(`
    CREATE TABLE patients (
      id TEXT PRIMARY KEY, name TEXT, born TEXT, kilograms REAL, allergies TEXT, medications TEXT, permission TEXT
    );
    CREATE TABLE drugs (name TEXT PRIMARY KEY, class TEXT, dose TEXT, interactsWith TEXT)`)
  const admit = database.prepare("INSERT INTO patients VALUES (?, ?, ?, ?, ?, ?, ?)")
  for (const { allergies, born, id, kilograms, medications, name, permission } of patients) {
    admit.run(id, name, born, kilograms, JSON.stringify(allergies), JSON.stringify(medications), permission)
  }
  const stock = database.prepare("INSERT INTO drugs VALUES (?, ?, ?, ?)")
  for (const drug of inHouse) stock.run(drug.name, drug.class, drug.dose, JSON.stringify(drug.interactsWith))
}

/** Somebody else, who is writing for as long as the scope. */
const locked = (file: string) =>
  Effect.acquireRelease(
    Effect.sync(() => {
      const database = new DatabaseSync(file)
      database.exec("BEGIN EXCLUSIVE")
      return database
    }),
    (database) => Effect.sync(() => database.close())
  )
