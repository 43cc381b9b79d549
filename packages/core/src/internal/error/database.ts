/*
 * What a database says went wrong: SQLSTATEs (ISO 9075, as PostgreSQL and MySQL have them) and SQLite's result codes.
 */
import { garbage, mismatch, type Recognized, refused, transient } from "./kind.ts"
import { textAt, wholeAt } from "./look.ts"

const unavailable = (kind: Recognized["kind"], sentence: string): Recognized => ({ kind, sentence })

export const database = {
  unique: unavailable(garbage("rejected"), "The database refused it: there is such a record already."),
  reference: unavailable(garbage("unknown_entity"), "The database refused it: a record that it refers to is missing."),
  constraint: unavailable(garbage("rejected"), "The database refused it: a value breaks one of its rules."),
  value: unavailable(mismatch("arguments"), "The database does not accept one of the values."),
  denied: unavailable(refused("permission_denied"), "The database denied access."),
  query: unavailable(refused("server_error"), "The database could not run the query."),
  failed: unavailable(
    { _tag: "ToolUnavailable", code: "server_error", transient: false, outcome: "open" },
    "The database failed."
  ),
  conflict: unavailable(transient("server_error"), "The database rolled the transaction back because of a conflict."),
  busy: unavailable(transient("server_error"), "The database is busy."),
  full: unavailable(transient("server_error", "not_executed"), "The database takes no more connections."),
  unreachable: unavailable(transient("connection", "not_executed"), "The database could not be reached."),
  lost: unavailable(transient("connection"), "The connection to the database failed."),
  late: unavailable(transient("timeout"), "The database did not answer in time.")
}

/** An error of a database's driver, by its code. */
export const ofDatabase = (error: object): Recognized | undefined => {
  const code = textAt(error, "code") ?? ""
  // MySQL's own codes have the standard's beside them.
  const state = textAt(error, "sqlState") ?? textAt(error, "sqlstate") ?? code
  return /^[\dA-Z]{5}$/.test(state)
    ? states.find(([pattern]) => pattern.test(state))?.[1]
    : ofSqlite(code, wholeAt(error, "errcode"))
}

/** The first that fits. */
const states: ReadonlyArray<readonly [state: RegExp, Recognized]> = [
  [/^08(001|004)$/, database.unreachable],
  [/^08/, database.lost],
  [/^22/, database.value],
  [/^23505$/, database.unique],
  [/^23503$/, database.reference],
  [/^23/, database.constraint],
  [/^(25006|28|42501)/, database.denied],
  // It is not known whether the statement was completed.
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

// Node tells the number; other drivers have the name as their code: SQLITE_CONSTRAINT_UNIQUE.
const ofSqlite = (code: string, number: number | undefined): Recognized | undefined => {
  if (code === "ERR_SQLITE_ERROR" && number !== undefined) {
    return byNumber[number] ?? byNumber[number & 0xff] ?? database.failed
  }
  return code.startsWith("SQLITE_") ? names.find(([name]) => name.test(code))?.[1] ?? database.failed : undefined
}

/** The first that fits. */
const names: ReadonlyArray<readonly [name: RegExp, Recognized]> = [
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

/** SQLite's result codes: the primary ones are below 256. */
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
