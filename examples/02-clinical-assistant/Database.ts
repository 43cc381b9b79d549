/**
 * The hospital's internal database: patients, and the drugs that the hospital stocks. It is an embedded
 * database in a temporary file, and can be locked or missing.
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
      if (state === "locked") yield* holdLock(file)
      return Database.of(queriesOf(state === "down" ? `${folder}/gone/hospital.db` : file))
    })
  )

// -----------------------------------------------------------------------------
// Queries
// -----------------------------------------------------------------------------

const Names = Schema.fromJsonString(Schema.Array(Schema.String))
const PatientRow = Schema.Struct({ ...PatientRecord.fields, allergies: Names, medications: Names })
const DrugRow = Schema.Struct({ ...DrugFacts.fields, interactsWith: Names })
const NameRow = Schema.Struct({ name: Schema.String })

const queriesOf = (file: string): Database["Service"] => {
  const all = <T>(row: Schema.ConstraintDecoder<T>, sql: string, ...values: ReadonlyArray<SQLInputValue>) =>
    Effect.try({
      // The driver is synchronous, so waiting for a lock would block the whole process. The tool's retry waits instead.
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
  const fault = transientFaults.get(Predicate.hasProperty(cause, "errcode") ? cause.errcode : undefined)
  return new ToolUnavailable({
    ...fault ?? { code: "database_error", detail: "The internal database could not answer." },
    transient: fault !== undefined,
    cause
  })
}

/** The transient faults, by SQLite result code (https://www.sqlite.org/rescode.html). */
const transientFaults: ReadonlyMap<unknown, { readonly code: string; readonly detail: string }> = new Map([
  [5, { code: "database_locked", detail: "The internal database is locked by somebody else." }],
  [14, { code: "connection", detail: "The internal database could not be opened." }]
])

// -----------------------------------------------------------------------------
// The file
// -----------------------------------------------------------------------------

// Opens the file for each use, so that a missing database fails the query, not the start of the program.
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
  const insertPatient = database.prepare("INSERT INTO patients VALUES (?, ?, ?, ?, ?, ?, ?)")
  for (const { allergies, born, id, kilograms, medications, name, permission } of patients) {
    insertPatient.run(id, name, born, kilograms, JSON.stringify(allergies), JSON.stringify(medications), permission)
  }
  const insertDrug = database.prepare("INSERT INTO drugs VALUES (?, ?, ?, ?)")
  for (const drug of inHouse) insertDrug.run(drug.name, drug.class, drug.dose, JSON.stringify(drug.interactsWith))
}

/** Locks the file, as another writer would, until the scope closes. */
const holdLock = (file: string) =>
  Effect.acquireRelease(
    Effect.sync(() => {
      const database = new DatabaseSync(file)
      database.exec("BEGIN EXCLUSIVE")
      return database
    }),
    (database) => Effect.sync(() => database.close())
  )
