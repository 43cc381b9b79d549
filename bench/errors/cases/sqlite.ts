import BetterSqlite from "better-sqlite3"
import { join } from "node:path"
import { DatabaseSync } from "node:sqlite"
import { type Cases, password, type World } from "../world.ts"

const tables = `
  CREATE TABLE rooms (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, beds INTEGER CHECK (beds > 0));
  CREATE TABLE bookings (room INTEGER NOT NULL REFERENCES rooms (id), day TEXT);
  CREATE TABLE strict_rooms (id INTEGER) STRICT;
  CREATE TRIGGER never BEFORE DELETE ON rooms BEGIN SELECT RAISE(ABORT, 'Rooms are never deleted.'); END;
  INSERT INTO rooms VALUES (1, 'Blue', 2);
`

/** The statements that both drivers run. */
const statements = {
  "unique": `INSERT INTO rooms VALUES (2, 'Blue', 2)`,
  "primary key": `INSERT INTO rooms VALUES (1, '${password}', 2)`,
  "foreign key": `INSERT INTO bookings VALUES (99, '${password}')`,
  "not null": `INSERT INTO rooms VALUES (3, NULL, 2)`,
  "check": `INSERT INTO rooms VALUES (3, 'Red', 0)`,
  "trigger": `DELETE FROM rooms`,
  "type of a strict table": `INSERT INTO strict_rooms VALUES ('seventeen')`,
  "type of a key": `INSERT INTO rooms VALUES ('seventeen', 'Red', 2)`,
  "no such table": `SELECT * FROM rooms_old WHERE password = '${password}'`,
  "no such column": `SELECT colour FROM rooms`,
  "no such function": `SELECT colour_of(1)`,
  "syntax": `SELEC * FROM rooms WHERE password = '${password}'`,
  "incomplete": `SELECT * FROM`,
  "bad JSON": `SELECT json('{')`
}

export const nodeSqliteCases = ({ directory, atEnd }: World): Cases => {
  const file = join(directory, "node.db")
  const open = (options: { readonly readOnly?: boolean } = {}) => {
    const database = new DatabaseSync(file, { timeout: 20, ...options })
    atEnd(() => database.isOpen && database.close())
    return database
  }
  const database = open()
  database.exec(tables)
  return {
    library: "node:sqlite",
    cases: {
      ...Object.fromEntries(
        Object.entries(statements).map(([name, sql]) => [name, () => database.prepare(sql).all()])
      ),
      "locked": () => {
        const other = open()
        other.exec("BEGIN EXCLUSIVE")
        try {
          database.prepare("INSERT INTO rooms VALUES (7, 'Green', 2)").run()
        } finally {
          other.exec("ROLLBACK")
        }
      },
      "locked table": () => {
        const rows = database.prepare("SELECT * FROM rooms").iterate()
        rows.next()
        database.exec("DROP TABLE rooms")
      },
      "read-only": () => open({ readOnly: true }).exec("INSERT INTO rooms VALUES (7, 'Green', 2)"),
      "cannot open": () => new DatabaseSync(join(directory, "none", "x.db")),
      "not a database": () => {
        const database = new DatabaseSync(join(directory, "file.txt"))
        return database.exec("SELECT * FROM rooms")
      },
      "too big": () => database.prepare("SELECT zeroblob(3000000000)").all(),
      "unknown parameter": () => database.prepare("SELECT :id").all({ room: 1 }),
      "parameter of a wrong type": () => database.prepare("SELECT ?").all(Symbol() as unknown as string),
      "statement of a wrong type": () => database.prepare(5 as unknown as string),
      "closed": () => {
        const other = open()
        other.close()
        return other.prepare("SELECT 1")
      }
    }
  }
}

export const betterSqliteCases = ({ directory, atEnd }: World): Cases => {
  const file = join(directory, "better.db")
  const open = (options: BetterSqlite.Options = {}) => {
    const database = new BetterSqlite(file, { timeout: 20, ...options })
    atEnd(() => database.close())
    return database
  }
  const database = open()
  database.exec(tables)
  database.pragma("foreign_keys = ON")
  return {
    library: "better-sqlite3",
    cases: {
      ...Object.fromEntries(
        Object.entries(statements).map(([name, sql]) => [name, () => {
          const statement = database.prepare(sql)
          return statement.reader ? statement.all() : statement.run()
        }])
      ),
      "locked": () => {
        const other = open()
        other.exec("BEGIN EXCLUSIVE")
        try {
          database.prepare("INSERT INTO rooms VALUES (7, 'Green', 2)").run()
        } finally {
          other.exec("ROLLBACK")
        }
      },
      "read-only": () => open({ readonly: true }).exec("INSERT INTO rooms VALUES (7, 'Green', 2)"),
      "cannot open": () => new BetterSqlite(join(directory, "file.txt", "x.db"), { fileMustExist: true }),
      "missing file": () => new BetterSqlite(join(directory, "none.db"), { fileMustExist: true }),
      "unknown parameter": () => database.prepare("SELECT :id").all({ room: 1 }),
      "parameter of a wrong type": () => database.prepare("SELECT ?").all(Symbol() as unknown as string),
      "statement that returns nothing": () => database.prepare("UPDATE rooms SET beds = 2").all(),
      "closed": () => {
        const other = open()
        other.close()
        return other.prepare("SELECT 1")
      }
    }
  }
}
