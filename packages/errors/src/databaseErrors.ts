/*
 * Errors of SQL databases: SQLSTATEs (ISO 9075, as in PostgreSQL and MySQL) and SQLite's result codes.
 */
import { broken, invalid, type Kind, permanent, type Recognized, refusedAs, transient } from "./kind.ts"
import { at, textAt, wholeAt } from "./reading.ts"

const recognized = (kind: Kind, sentence: string): Recognized => ({ kind, sentence })

export const database = {
  unique: recognized(refusedAs("rejected"), "The database refused: this record already exists."),
  reference: recognized(refusedAs("rejected"), "The database refused: a reference between records would break."),
  constraint: recognized(refusedAs("rejected"), "The database refused: a value violates a constraint."),
  value: recognized(invalid("request"), "The database rejected one of the values."),
  denied: recognized(permanent("permission_denied"), "The database denied access."),
  query: recognized(permanent("server_error"), "The database could not run the query."),
  failed: recognized(broken("server_error"), "The database failed."),
  conflict: recognized(transient("server_error"), "The database rolled back the transaction because of a conflict."),
  partly: recognized(broken("rejected"), "The database refused some of the writes."),
  busy: recognized(transient("server_error"), "The database is busy."),
  standby: recognized(transient("server_error"), "The database server accepts no writes now."),
  outOfMemory: recognized(
    permanent("server_error", { hint: "Only an operator can fix this: tell the user." }),
    "The database is out of memory."
  ),
  full: recognized(transient("server_error", "not_executed"), "The database accepts no more connections."),
  unreachable: recognized(transient("connection", "not_executed"), "The database could not be reached."),
  lost: recognized(transient("connection"), "The connection to the database failed."),
  late: recognized(transient("timeout"), "The database did not answer in time.")
}

/** Recognizes an error of a database driver by its code. */
export const ofDatabase = (error: object): Recognized | undefined => {
  const code = textAt(error, "code") ?? ""
  // MySQL has its own codes, and the SQLSTATE in a separate field.
  const state = textAt(error, "sqlState") ?? textAt(error, "sqlstate") ?? code
  return firstOf(mysql, code) ??
    (/^[\dA-Z]{5}$/.test(state) && isOfDriver(error) ? firstOf(states, state) : undefined) ??
    firstOf(postgrest, code) ??
    ofSqlite(code, wholeAt(error, "errcode"))
}

// Any library may use a code of five characters, so the error must also have fields that only drivers set.
const isOfDriver = (error: object): boolean =>
  ["severity", "routine", "sqlState", "sqlstate", "sqlMessage"].some((field) => at(error, field) !== undefined) ||
  ["details", "hint"].every((field) => at(error, field) !== undefined)

type Table = ReadonlyArray<readonly [code: RegExp, Recognized]>

const firstOf = (table: Table, code: string): Recognized | undefined =>
  table.find(([pattern]) => pattern.test(code))?.[1]

/** MySQL's own codes, for errors that its SQLSTATEs do not distinguish. */
const mysql: Table = [
  [/^ER_DUP_/, database.unique],
  [/^ER_(NO_REFERENCED_ROW|ROW_IS_REFERENCED)/, database.reference],
  [/^ER_LOCK_WAIT_TIMEOUT/, database.busy],
  [/^ER_QUERY_TIMEOUT/, database.late],
  [/^ER_(CON_COUNT|TOO_MANY_USER)/, database.full],
  [/^ER_\w*ACCESS_DENIED|^ER_OPTION_PREVENTS/, database.denied],
  [/^ER_(TRUNCATED_WRONG_VALUE|DATA_TOO_LONG|WARN_DATA_OUT_OF_RANGE)/, database.value]
]

/** PostgREST's own codes, which Supabase also uses: https://docs.postgrest.org/en/stable/references/errors.html */
const postgrest: Table = [
  [/^PGRST00[012]$/, database.unreachable],
  [/^PGRST003$/, database.full],
  [/^PGRST116$/, recognized(refusedAs("not_found"), "The query found no row, or more than one.")],
  [/^PGRST30\d$/, database.denied],
  [/^PGRST\d/, database.query]
]

/** SQLSTATEs. The first matching pattern is used. */
const states: Table = [
  [/^08(001|004)$/, database.unreachable],
  [/^08P01$/, database.query],
  [/^08/, database.lost],
  [/^22/, database.value],
  [/^23505$/, database.unique],
  [/^23503$/, database.reference],
  // P0001 and 45000 are raised by code in the database, such as a trigger.
  [/^(23|P0001|45000)/, database.constraint],
  [/^(25006|28|42501)/, database.denied],
  // The statement may or may not have completed.
  [/^40003$/, database.failed],
  [/^40/, database.conflict],
  [/^(25|26|3D|3F|42)/, database.query],
  [/^53300$/, database.full],
  [/^(53|55P03)/, database.busy],
  [/^(57014|HYT0)/, database.late],
  [/^57P03$/, database.unreachable],
  [/^57P/, database.lost],
  [/^(58|XX|HY000)/, database.failed]
]

// -----------------------------------------------------------------------------
// SQLite
// -----------------------------------------------------------------------------

// Node reports the number of a result code. Other drivers report its name as `code`: `SQLITE_CONSTRAINT_UNIQUE`.
const ofSqlite = (code: string, number: number | undefined): Recognized | undefined => {
  if (code === "ERR_SQLITE_ERROR" && number !== undefined) {
    return byNumber[number] ?? byNumber[number & 0xff] ?? database.failed
  }
  return code.startsWith("SQLITE_") ? firstOf(names, code) ?? database.failed : undefined
}

/** Names of SQLite's result codes. The first matching pattern is used. */
const names: Table = [
  [/CONSTRAINT_(UNIQUE|PRIMARYKEY|ROWID)/, database.unique],
  [/CONSTRAINT_FOREIGNKEY/, database.reference],
  [/CONSTRAINT/, database.constraint],
  [/_(BUSY|LOCKED)/, database.busy],
  [/_(PERM|AUTH|READONLY)/, database.denied],
  [/_(MISMATCH|RANGE|TOOBIG)/, database.value],
  [/_CANTOPEN/, database.unreachable],
  [/_INTERRUPT/, database.late],
  [/_ERROR$/, database.query]
]

/** SQLite's result codes by number. Primary codes are below 256. */
const byNumber: Readonly<Record<number, Recognized>> = {
  1: database.query,
  3: database.denied,
  5: database.busy,
  6: database.busy,
  8: database.denied,
  9: database.late,
  14: database.unreachable,
  18: database.value,
  19: database.constraint,
  20: database.value,
  23: database.denied,
  25: database.value,
  787: database.reference,
  1555: database.unique,
  2067: database.unique,
  2579: database.unique
}
