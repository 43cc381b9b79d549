/*
 * Errors of databases without SQL: Redis reports the first word of a reply, MongoDB reports a number.
 */
import { database } from "./databaseErrors.ts"
import type { Recognized } from "./kind.ts"
import { listAt, namesOf, textAt, wholeAt } from "./reading.ts"

export const ofStore = (error: object): Recognized | undefined => ofRedis(error) ?? ofMongo(error)

const isNamed = (error: object, pattern: RegExp): boolean => namesOf(error).some((name) => pattern.test(name))

// -----------------------------------------------------------------------------
// Redis
// -----------------------------------------------------------------------------

const ofRedis = (error: object): Recognized | undefined => {
  if (!isNamed(error, /^(ReplyError|ErrorReply)$/)) return undefined
  const reply = textAt(error, "message") ?? ""
  return replies.find(([pattern]) => pattern.test(reply))?.[1] ?? database.failed
}

/**
 * Replies of Redis. The first matching pattern is used. Replies of failed scripts are left out, since a
 * script may have done something before it failed.
 */
const replies: ReadonlyArray<readonly [reply: RegExp, Recognized]> = [
  [/^BUSY(GROUP|KEY)\b/, database.unique],
  [/^(BUSY|LOADING|TRYAGAIN|CLUSTERDOWN|MASTERDOWN|NOREPLICAS)\b/, database.busy],
  [/^READONLY\b/, database.standby],
  [/^OOM\b/, database.outOfMemory],
  [/^(NOAUTH|WRONGPASS|NOPERM)\b/, database.denied],
  [/^ERR value is not\b/, database.value],
  [/^(WRONGTYPE|NOSCRIPT|EXECABORT|CROSSSLOT|ERR (unknown|syntax|wrong number|no such|invalid))\b/, database.query]
]

// -----------------------------------------------------------------------------
// MongoDB
// -----------------------------------------------------------------------------

const duplicate = 11_000

const ofMongo = (error: object): Recognized | undefined => {
  const code = wholeAt(error, "code")
  if (code === undefined || code !== duplicate && !isNamed(error, /^Mongo.*Error$/)) return undefined
  // Some of the writes may have taken effect.
  if (isNamed(error, /^MongoBulkWriteError$/)) return database.partly
  const isUndone = listAt(error, "errorLabels").includes("TransientTransactionError")
  return byNumber[code] ?? (isUndone ? database.conflict : database.failed)
}

/** MongoDB's error codes: https://github.com/mongodb/mongo/blob/master/src/mongo/base/error_codes.yml */
const byNumber: Readonly<Record<number, Recognized>> = {
  2: database.query,
  6: database.lost,
  7: database.lost,
  9: database.query,
  13: database.denied,
  14: database.value,
  18: database.denied,
  24: database.busy,
  26: database.query,
  50: database.late,
  59: database.query,
  89: database.lost,
  91: database.lost,
  112: database.conflict,
  121: database.constraint,
  189: database.standby,
  262: database.late,
  [duplicate]: database.unique,
  10_107: database.standby,
  11_600: database.lost,
  11_602: database.lost,
  13_435: database.standby,
  13_436: database.standby
}
