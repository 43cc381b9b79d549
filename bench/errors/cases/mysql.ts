import { createConnection } from "mysql2/promise"
import * as Net from "node:net"
import { type Cases, listen, password, type World } from "../world.ts"

/** The codes, SQLSTATEs and messages of a real server. The library makes its own errors from them. */
const serverErrors: Readonly<Record<string, readonly [code: number, state: string, message: string]>> = {
  "duplicate": [1062, "23000", `Duplicate entry '${password}' for key 'rooms.name'`],
  "foreign key": [1452, "23000", "Cannot add or update a child row: a foreign key constraint fails"],
  "not null": [1048, "23000", "Column 'name' cannot be null"],
  "too long": [1406, "22001", "Data too long for column 'code' at row 1"],
  "wrong value": [1366, "HY000", `Incorrect integer value: '${password}' for column 'id' at row 1`],
  "undefined table": [1146, "42S02", "Table 'hotel.rooms_old' doesn't exist"],
  "undefined column": [1054, "42S22", "Unknown column 'colour' in 'field list'"],
  "syntax": [1064, "42000", "You have an error in your SQL syntax; check the manual"],
  "lock wait timeout": [1205, "HY000", "Lock wait timeout exceeded; try restarting transaction"],
  "deadlock": [1213, "40001", "Deadlock found when trying to get lock; try restarting transaction"],
  "permission denied": [1142, "42000", "SELECT command denied to user 'ada'@'localhost' for table 'secrets'"],
  "statement timeout": [3024, "HY000", "Query execution was interrupted, maximum statement execution time exceeded"],
  "read-only": [1290, "HY000", "The MySQL server is running with the --read-only option"],
  "raised": [1644, "45000", "Room 17 is already booked."],
  "shutting down": [1053, "08S01", "Server shutdown in progress"]
}

export const mysqlCases = async ({ atEnd, refusedPort }: World): Promise<Cases> => {
  const serve = async (behave: (socket: Net.Socket) => void) => {
    const server = Net.createServer((socket) => behave(socket.on("error", () => {})))
    atEnd(() => server.close())
    return listen(server)
  }
  const port = await serve((socket) => {
    socket.write(packet(0, greeting))
    socket.once("data", () => {
      socket.write(packet(2, ok))
      socket.on("data", (data) => {
        const answer = serverErrors[data.subarray(5).toString().split("'")[1] ?? ""]
        if (answer === undefined) socket.destroy()
        else socket.write(packet(1, error(...answer)))
      })
    })
  })
  const refusing = (...answer: Parameters<typeof error>) =>
    serve((socket) => {
      socket.write(packet(0, greeting))
      socket.once("data", () => socket.write(packet(2, error(...answer))))
    })
  const crowded = await serve((socket) => socket.write(packet(0, error(1040, "08004", "Too many connections"))))
  const strict = await refusing(1045, "28000", "Access denied for user 'ada'@'localhost' (using password: YES)")
  const empty = await refusing(1049, "42000", "Unknown database 'hotel'")
  const silent = await serve(() => {})
  const config = { host: "127.0.0.1", port, user: "ada", password }
  const connected = async () => {
    const connection = await createConnection(config)
    connection.on("error", () => {})
    return connection
  }
  const query = async (sql: string, timeout?: number) => {
    const connection = await connected()
    try {
      return await connection.query({ sql, ...(timeout === undefined ? {} : { timeout }) })
    } finally {
      connection.destroy()
    }
  }
  return {
    library: "mysql2",
    cases: {
      ...Object.fromEntries(
        Object.keys(serverErrors).map((name) => [name, () => query(`SELECT '${name}', '${password}'`)])
      ),
      "connection lost in a query": () => query("SELECT 1"),
      "refused": () => createConnection({ ...config, port: refusedPort }),
      "unknown host": () => createConnection({ ...config, host: "nowhere.invalid" }),
      "too many connections": () => createConnection({ ...config, port: crowded }),
      "access denied": () => createConnection({ ...config, port: strict }),
      "unknown database": () => createConnection({ ...config, port: empty }),
      "connect timeout": () => createConnection({ ...config, port: silent, connectTimeout: 50 }),
      "query after the end": async () => {
        const connection = await connected()
        connection.destroy()
        return connection.query("SELECT 1")
      }
    }
  }
}

// The part of MySQL's protocol that an error needs.

const packet = (sequence: number, body: Buffer) =>
  Buffer.concat([Buffer.from([body.length & 0xff, body.length >> 8, 0, sequence]), body])

const ok = Buffer.from([0, 0, 0, 2, 0, 0, 0])

const error = (code: number, state: string, message: string) =>
  Buffer.concat([Buffer.from([0xff, code & 0xff, code >> 8]), Buffer.from(`#${state}${message}`)])

const greeting = Buffer.concat([
  Buffer.from("\x0a8.0.0\0"),
  Buffer.from([1, 0, 0, 0]),
  Buffer.alloc(8, 1),
  // Filler, lower capability flags, character set, status, upper capability flags, length of the auth data.
  Buffer.from([0, 0xff, 0xf7, 33, 2, 0, 0x0f, 0, 21]),
  Buffer.alloc(10),
  Buffer.alloc(12, 1),
  Buffer.from("\0mysql_native_password\0")
])
