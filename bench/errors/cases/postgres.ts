import { execFileSync, spawn } from "node:child_process"
import { chownSync, existsSync, mkdirSync, readdirSync, writeFileSync } from "node:fs"
import * as Net from "node:net"
import { join } from "node:path"
import { setTimeout as sleep } from "node:timers/promises"
import pg from "pg"
import { type Cases, freePort, listen, password, type World } from "../world.ts"

const tables = `
  CREATE TABLE rooms (id int PRIMARY KEY, name text NOT NULL UNIQUE, beds int CHECK (beds > 0));
  CREATE TABLE bookings (room int NOT NULL REFERENCES rooms (id), day date, code varchar(4));
  CREATE TABLE secrets (word text);
  INSERT INTO rooms VALUES (1, 'Blue', 2), (2, 'Red', 2);
  INSERT INTO secrets VALUES ('${password}');
  CREATE ROLE guest LOGIN PASSWORD 'guest';
  CREATE ROLE crowded LOGIN PASSWORD 'crowded' CONNECTION LIMIT 0;
  GRANT SELECT ON rooms TO guest;
  CREATE FUNCTION refuse() RETURNS void LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'Room 17 is already booked.'; END $$;
  CREATE FUNCTION refuse_retry() RETURNS void LANGUAGE plpgsql AS
    $$ BEGIN RAISE EXCEPTION 'Try later.' USING ERRCODE = '40001', HINT = 'Wait.', DETAIL = 'Busy.'; END $$;
`

const statements = {
  "unique": `INSERT INTO rooms VALUES (3, 'Blue', 2)`,
  "foreign key": `INSERT INTO bookings VALUES (99, '2026-05-03')`,
  "foreign key still referenced": `INSERT INTO bookings VALUES (1, '2026-05-03'); DELETE FROM rooms WHERE id = 1`,
  "not null": `INSERT INTO rooms VALUES (3, NULL, 2)`,
  "check": `INSERT INTO rooms VALUES (3, '${password}', 0)`,
  "undefined table": `SELECT * FROM rooms_old WHERE password = '${password}'`,
  "undefined column": `SELECT colour FROM rooms`,
  "undefined function": `SELECT colour_of(1)`,
  "syntax": `SELEC * FROM rooms WHERE password = '${password}'`,
  "invalid input": `SELECT * FROM rooms WHERE id = 'seventeen-${password}'`,
  "invalid date": `INSERT INTO bookings VALUES (1, 'tomorrowish')`,
  "date out of range": `INSERT INTO bookings VALUES (1, '2026-13-45')`,
  "number out of range": `SELECT 99999999999::int`,
  "too long": `INSERT INTO bookings VALUES (1, '2026-05-03', 'too long')`,
  "division by zero": `SELECT 1 / 0`,
  "raised": `SELECT refuse()`,
  "raised with a code": `SELECT refuse_retry()`,
  "read-only": `BEGIN READ ONLY; INSERT INTO rooms VALUES (3, 'Green', 2)`,
  "statement timeout": `SET statement_timeout = 30; SELECT pg_sleep(5)`,
  "transaction aborted": `SELECT 1`
}

/** The errors of `pg` against a real PostgreSQL server. `undefined` if it is not installed. */
export const postgresCases = async (world: World): Promise<Cases | undefined> => {
  const programs = programsOf("/usr/lib/postgresql")
  if (programs === undefined) {
    console.log("pg: no PostgreSQL here, so what was recorded before is kept")
    return undefined
  }
  const port = await startPostgres(programs, world)
  const config = { host: "127.0.0.1", port, user: "postgres", password, database: "postgres" }
  const connect = async (more: pg.ClientConfig = {}) => {
    const client = new pg.Client({ ...config, ...more })
    // A connection that the server ends also emits an error event later, which would end the process.
    client.on("error", () => {})
    await client.connect()
    return client
  }
  const within = async <A>(work: (client: pg.Client) => Promise<A>, more: pg.ClientConfig = {}): Promise<A> => {
    const client = await connect(more)
    try {
      return await work(client)
    } finally {
      client.end().catch(() => {})
    }
  }
  /** Starts a server that accepts connections and handles them with `behave`. */
  const pretending = async (behave: (socket: Net.Socket) => void) => {
    const server = Net.createServer((socket) => behave(socket.on("error", () => {})))
    const port = await listen(server)
    world.atEnd(() => server.close())
    return port
  }
  await within((client) => client.query(tables))
  return {
    library: "pg",
    cases: {
      ...Object.fromEntries(
        Object.entries(statements).map(([name, sql]) => [
          name,
          () =>
            within(async (client) => {
              if (name === "transaction aborted") await client.query("BEGIN; SELECT 1 / 0").catch(() => {})
              return client.query(sql)
            })
        ])
      ),
      "parameters": () => within((client) => client.query("SELECT * FROM rooms WHERE id = $1", [password])),
      "parameters missing": () => within((client) => client.query("SELECT $1::int, $2::int", [1])),
      "permission denied": () =>
        within((client) => client.query("SELECT * FROM secrets"), { user: "guest", password: "guest" }),
      "lock timeout": () =>
        within((one) =>
          within(async (two) => {
            await one.query("BEGIN; LOCK TABLE rooms")
            return two.query("SET lock_timeout = 30; SELECT * FROM rooms")
          })
        ),
      "lock not available": () =>
        within((one) =>
          within(async (two) => {
            await one.query("BEGIN; SELECT * FROM rooms FOR UPDATE")
            return two.query("SELECT * FROM rooms FOR UPDATE NOWAIT")
          })
        ),
      "deadlock": () =>
        within((one) =>
          within(async (two) => {
            await one.query("SET deadlock_timeout = 50; BEGIN; UPDATE rooms SET beds = 3 WHERE id = 1")
            await two.query("SET deadlock_timeout = 5000; BEGIN; UPDATE rooms SET beds = 3 WHERE id = 2")
            const second = two.query("UPDATE rooms SET beds = 3 WHERE id = 1").catch(() => {})
            const first = one.query("UPDATE rooms SET beds = 3 WHERE id = 2")
            await first
            return second
          })
        ),
      "serialization": () =>
        within((one) =>
          within(async (two) => {
            await one.query("BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT * FROM rooms")
            await two.query("UPDATE rooms SET beds = beds + 1 WHERE id = 1")
            return one.query("UPDATE rooms SET beds = beds + 1 WHERE id = 1")
          })
        ),
      "idle in a transaction": () =>
        within(async (client) => {
          await client.query("SET idle_in_transaction_session_timeout = 30; BEGIN")
          await sleep(200)
          return client.query("SELECT 1")
        }),
      "terminated by an administrator": () =>
        within((one) =>
          within(async (two) => {
            const { rows } = await one.query<{ pid: number }>("SELECT pg_backend_pid() AS pid")
            const query = sleeping(one)
            await sleep(50)
            await two.query("SELECT pg_terminate_backend($1)", [rows[0]?.pid])
            return query
          })
        ),
      "cancelled by an administrator": () =>
        within((one) =>
          within(async (two) => {
            const { rows } = await one.query<{ pid: number }>("SELECT pg_backend_pid() AS pid")
            const query = sleeping(one)
            await sleep(50)
            await two.query("SELECT pg_cancel_backend($1)", [rows[0]?.pid])
            return query
          })
        ),
      "query after the connection was lost": () =>
        within((one) =>
          within(async (two) => {
            const { rows } = await one.query<{ pid: number }>("SELECT pg_backend_pid() AS pid")
            await two.query("SELECT pg_terminate_backend($1)", [rows[0]?.pid])
            await sleep(50)
            return one.query("SELECT 1")
          })
        ),
      "query after the end": async () => {
        const client = await connect()
        await client.end()
        return client.query("SELECT 1")
      },
      "end during a query": async () => {
        const client = await connect()
        const query = sleeping(client)
        await sleep(50)
        client.connection.stream.destroy()
        return query
      },
      "query timeout of the client": () =>
        within((client) => client.query("SELECT pg_sleep(1)"), { query_timeout: 30 }),
      "wrong password": () => connect({ password: `not-${password}` }),
      "no password": () => connect({ password: "" }),
      "unknown user": () => connect({ user: "nobody-there" }),
      "unknown database": () => connect({ database: "nowhere" }),
      "too many connections of a role": () => connect({ user: "crowded", password: "crowded" }),
      "too many connections": async () => {
        const clients: Array<pg.Client> = []
        try {
          for (let i = 0; i < 20; i++) clients.push(await connect({ user: "guest", password: "guest" }))
        } finally {
          await Promise.all(clients.map((client) => client.end()))
        }
      },
      "TLS refused": () => connect({ ssl: true }),
      "refused": () => connect({ port: world.refusedPort }),
      "refused localhost": () => connect({ host: "localhost", port: world.refusedPort }),
      "unknown host": () => connect({ host: "nowhere.invalid" }),
      "connection timeout": async () => connect({ port: await pretending(() => {}), connectionTimeoutMillis: 50 }),
      "reset on connecting": async () => connect({ port: await pretending((socket) => socket.resetAndDestroy()) }),
      "closed on connecting": async () => connect({ port: await pretending((socket) => socket.end()) }),
      "pool timeout": async () => {
        const pool = new pg.Pool({ ...config, max: 1, connectionTimeoutMillis: 50 })
        const client = await pool.connect()
        try {
          return await pool.query("SELECT 1")
        } finally {
          client.release()
          await pool.end()
        }
      },
      "pool ended": async () => {
        const pool = new pg.Pool(config)
        await pool.end()
        return pool.query("SELECT 1")
      },
      "pool refused": () => new pg.Pool({ ...config, port: world.refusedPort }).query("SELECT 1"),
      "shutting down": () =>
        within((client) => {
          const query = sleeping(client)
          setTimeout(() => stopPostgres?.(), 50)
          return query
        })
    }
  }
}

/** Starts a query to be lost midway. It may reject before it is awaited, so a no-op handler keeps the process alive. */
const sleeping = (client: pg.Client) => {
  const query = client.query("SELECT pg_sleep(5)")
  query.catch(() => {})
  return query
}

let stopPostgres: (() => void) | undefined

const programsOf = (folder: string) => {
  if (!existsSync(folder)) return undefined
  const newest = readdirSync(folder).sort((a, b) => Number(b) - Number(a))[0]
  return newest === undefined ? undefined : join(folder, newest, "bin")
}

/** Starts a PostgreSQL server. It refuses to run as root, so root runs it as `postgres`. */
const startPostgres = async (programs: string, { atEnd, directory, refusedPort }: World) => {
  const data = join(directory, "postgres")
  const root = process.getuid?.() === 0
  const id = (flag: string) => Number(execFileSync("id", [flag, "postgres"], { encoding: "utf8" }))
  const user = root ? { uid: id("-u"), gid: id("-g") } : {}
  mkdirSync(data, { mode: 0o700 })
  const words = join(directory, "password")
  writeFileSync(words, password)
  if (user.uid !== undefined) {
    chownSync(data, user.uid, user.gid)
    chownSync(words, user.uid, user.gid)
    chownSync(directory, user.uid, user.gid)
  }
  const as = { ...user, cwd: directory, env: { ...process.env, LC_ALL: "C.UTF-8" } }
  execFileSync(join(programs, "initdb"), ["-D", data, "-A", "scram-sha-256", "-U", "postgres", "--pwfile", words], as)
  const port = await freePort(refusedPort + 1)
  const settings = ["port=" + port, "listen_addresses=127.0.0.1", "max_connections=12", "fsync=off"]
  const flags = ["-D", data, "-k", directory, ...settings.flatMap((setting) => ["-c", setting])]
  const server = spawn(join(programs, "postgres"), flags, { ...as, stdio: "ignore" })
  process.on("exit", () => server.kill("SIGKILL"))
  stopPostgres = () => server.kill("SIGINT")
  atEnd(() => server.exitCode === null && new Promise((done) => server.on("exit", done).kill("SIGINT")))
  for (let i = 0; i < 600; i++) {
    const client = new pg.Client({ host: "127.0.0.1", port, user: "postgres", password })
    const up = await client.connect().then(() => true, () => false)
    await client.end()
    if (up) return port
    await sleep(50)
  }
  throw new Error("PostgreSQL did not start")
}
