/**
 * A `SqlClient` over `node:sqlite`, so that this project runs without a database server. Nothing else here knows of SQLite
 * but two statements in `Conversations.ts`: with `PgClient.layerConfig` of `@effect/sql-pg`, you can delete this file.
 */
import { Effect, Layer, Semaphore, Stream } from "effect"
import { Reactivity } from "effect/reactivity"
import { SqlClient, SqlError, Statement } from "effect/sql"
import type { Connection } from "effect/sql/SqlConnection"
import { DatabaseSync, type SQLInputValue, type StatementSync } from "node:sqlite"

const make = Effect.fnUntraced(function*(filename: string) {
  const database = yield* Effect.acquireRelease(
    attempt("open", () => new DatabaseSync(filename)),
    (database) => Effect.sync(() => database.close())
  )
  const run = <A>(
    sql: string,
    params: ReadonlyArray<unknown>,
    use: (statement: StatementSync, params: Array<SQLInputValue>) => A
  ) => attempt("execute", () => use(database.prepare(sql), params.map(asInput)))

  const rows: Connection["execute"] = (sql, params, transform) =>
    Effect.map(
      run(sql, params, (statement, params) => statement.all(...params)),
      (rows) => transform === undefined ? rows : transform(rows)
    )
  const values: Connection["executeValues"] = (sql, params) =>
    run(sql, params, (statement, params) => statement.all(...params).map((row) => Object.values(row)))

  const connection: Connection = {
    execute: rows,
    executeUnprepared: rows,
    executeRaw: (sql, params) => rows(sql, params, undefined),
    executeStream: (sql, params, transform) => Stream.fromIterableEffect(rows(sql, params, transform)),
    executeValues: values,
    executeValuesUnprepared: values
  }
  // One connection, which a transaction has for itself.
  const semaphore = yield* Semaphore.make(1)
  return yield* SqlClient.make({
    ...SqlClient.makeSqliteAcquirers({
      connection: Effect.succeed(connection),
      semaphore,
      isTransaction: () => database.isTransaction
    }),
    compiler: Statement.makeCompilerSqlite(),
    driver: "node-sqlite",
    spanAttributes: [["db.system.name", "sqlite"]]
  })
})

const attempt = <A>(operation: string, evaluate: () => A) =>
  Effect.try({
    try: evaluate,
    catch: (cause) => new SqlError.SqlError({ reason: SqlError.classifySqliteError(withCode(cause), { operation }) })
  })

/** SQLite's own number of the error, such as that of a unique constraint, by which `effect/sql` classifies it. */
const withCode = (cause: unknown): unknown =>
  cause instanceof Error && "errcode" in cause ? Object.assign(cause, { code: cause.errcode }) : cause

const asInput = (value: unknown): SQLInputValue =>
  typeof value === "boolean" ? Number(value) : value instanceof Date ? value.toISOString() : value as SQLInputValue

export const layer = (filename: string) =>
  Layer.effect(SqlClient.SqlClient, make(filename)).pipe(Layer.provide(Reactivity.layer))
