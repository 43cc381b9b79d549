import { Redis } from "ioredis"
import { MongoClient, MongoNetworkError, MongoNetworkTimeoutError, MongoServerError } from "mongodb"
import { createServer } from "node:net"
import { createClient } from "redis"
import { type Cases, entries, key, listen, password, type World } from "../world.ts"

/** The replies of a Redis server, by case. */
const replies = {
  "wrong type": "WRONGTYPE Operation against a key holding the wrong kind of value",
  "not an integer": "ERR value is not an integer or out of range",
  "unknown command": `ERR unknown command 'GTE', with args beginning with: '${password}'`,
  "read-only replica": "READONLY You can't write against a read only replica.",
  "loading": "LOADING Redis is loading the dataset in memory",
  "busy": "BUSY Redis is busy running a script. You can only call SCRIPT KILL or SHUTDOWN NOSAVE.",
  "out of memory": "OOM command not allowed when used memory > 'maxmemory'.",
  "no authentication": "NOAUTH Authentication required.",
  "wrong password": "WRONGPASS invalid username-password pair or user is disabled.",
  "no permission": "NOPERM this user has no permissions to run the 'get' command",
  "cluster down": "CLUSTERDOWN The cluster is down",
  "try again": "TRYAGAIN Multiple keys request during rehashing of slot",
  "master down": "MASTERDOWN Link with MASTER is down and replica-serve-stale-data is set to 'no'."
}

/** Starts a server that gives each GET the same answer, or closes the connection if it has none. */
const store = (answer: string | undefined): Promise<number> =>
  listen(createServer((socket) => {
    socket.on("error", () => {})
    socket.on("data", (bytes) => {
      for (const [, command = ""] of bytes.toString().matchAll(/\*\d+\r\n\$\d+\r\n(\w+)/g)) {
        if (!/^get$/i.test(command)) socket.write("+OK\r\n")
        else if (answer === undefined) socket.destroy()
        else socket.write(answer)
      }
    })
  }))

const gets = (get: (port: number) => unknown): Cases["cases"] => ({
  ...entries(Object.entries(replies).map(([name, reply]) => [name, async () => get(await store(`-${reply}\r\n`))])),
  "closed": async () => get(await store(undefined))
})

export const ioredisCases = ({ refusedPort }: World): Cases => {
  const get = (port: number, options: object = {}) => {
    const client = new Redis({
      host: "127.0.0.1",
      port,
      password: key,
      enableReadyCheck: false,
      disableClientInfo: true,
      maxRetriesPerRequest: 0,
      retryStrategy: () => null,
      ...options
    })
    client.on("error", () => {})
    return client.get("room")
  }
  return {
    library: "ioredis",
    cases: {
      ...gets((port) => get(port)),
      // The client's error does not give the reason.
      "no connection": () => get(refusedPort),
      "timeout": async () => get(await store(""), { commandTimeout: 50 })
    }
  }
}

export const redisCases = ({ refusedPort }: World): Cases => {
  const get = async (port: number) => {
    const client = createClient({
      url: `redis://:${key}@127.0.0.1:${port}`,
      disableClientInfo: true,
      socket: { reconnectStrategy: false },
      RESP: 2
    })
    client.on("error", () => {})
    await client.connect()
    return client.get("room")
  }
  return { library: "redis", cases: { ...gets(get), "refused": () => get(refusedPort) } }
}

/** Answers of MongoDB's server: https://github.com/mongodb/mongo/blob/master/src/mongo/base/error_codes.yml */
const ofServer = {
  "duplicate key": {
    code: 11_000,
    errmsg: `E11000 duplicate key error collection: app.users index: email_1 dup key: { email: "${password}" }`
  },
  "unauthorized": { code: 13, codeName: "Unauthorized", errmsg: "command find requires authentication" },
  "authentication failed": { code: 18, codeName: "AuthenticationFailed", errmsg: "Authentication failed." },
  "too late": { code: 50, codeName: "MaxTimeMSExpired", errmsg: "operation exceeded time limit" },
  "write conflict": {
    code: 112,
    codeName: "WriteConflict",
    errmsg: "WriteConflict",
    errorLabels: ["TransientTransactionError"]
  },
  "not primary": {
    code: 10_107,
    codeName: "NotWritablePrimary",
    errmsg: "not primary",
    errorLabels: ["RetryableWriteError"]
  },
  "shutting down": { code: 91, codeName: "ShutdownInProgress", errmsg: "shutting down" },
  "document validation": { code: 121, codeName: "DocumentValidationFailure", errmsg: "Document failed validation" },
  "bad value": { code: 2, codeName: "BadValue", errmsg: `unknown operator: $${password}` }
}

export const mongoCases = ({ refusedPort }: World): Cases => ({
  library: "mongodb",
  cases: {
    ...entries(
      Object.entries(ofServer).map(([name, answer]) => [name, () => {
        throw new MongoServerError({ ok: 0, ...answer })
      }])
    ),
    "refused": () =>
      new MongoClient(`mongodb://user:${password}@127.0.0.1:${refusedPort}`, { serverSelectionTimeoutMS: 100 })
        .db("app").collection("rooms").findOne(),
    "lost": () => {
      throw new MongoNetworkError("connection 3 to 10.0.0.7:27017 closed")
    },
    "timed out": () => {
      throw new MongoNetworkTimeoutError("connection 3 to 10.0.0.7:27017 timed out")
    },
    "bad address": () => new MongoClient(`mongo://user:${password}@db`)
  }
})
