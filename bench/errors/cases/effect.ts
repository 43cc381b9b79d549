import { NodeFileSystem } from "@effect/platform-node"
import { Cause, Duration, Effect, FileSystem, PlatformError, Schema } from "effect"
import { AiError } from "effect/ai"
import { FetchHttpClient, HttpClient, HttpClientError, HttpClientRequest, HttpClientResponse } from "effect/http"
import { SqlError } from "effect/sql"
import { join } from "node:path"
import { authorization, type Cases, entries, failing, password, query, type World } from "../world.ts"

export const effectCases = ({ directory, origin, refused }: World): Cases => {
  const failed = <E>(effect: Effect.Effect<unknown, E, HttpClient.HttpClient | FileSystem.FileSystem>) =>
    Effect.runPromise(Effect.flip(effect).pipe(Effect.provide([FetchHttpClient.layer, NodeFileSystem.layer])))
      .then((error) => {
        throw error
      })
  const ok = (url: string, method: "GET" | "POST" = "GET") =>
    HttpClient.execute(
      HttpClientRequest.make(method)(url + query).pipe(HttpClientRequest.setHeaders({ authorization }))
    ).pipe(Effect.flatMap(HttpClientResponse.filterStatusOk))
  const some = ["404", "429 in seconds", "503"]
  const request = HttpClientRequest.get(origin + query)
  const response = HttpClientResponse.fromWeb(request, new Response("", { status: 200 }))
  const fields = { message: `Statement failed: ${password}`, cause: new Error(password), operation: "execute" }
  const sql = {
    ConnectionError: SqlError.ConnectionError,
    AuthenticationError: SqlError.AuthenticationError,
    AuthorizationError: SqlError.AuthorizationError,
    SqlSyntaxError: SqlError.SqlSyntaxError,
    ConstraintError: SqlError.ConstraintError,
    DeadlockError: SqlError.DeadlockError,
    SerializationError: SqlError.SerializationError,
    LockTimeoutError: SqlError.LockTimeoutError,
    StatementTimeoutError: SqlError.StatementTimeoutError,
    UnknownError: SqlError.UnknownError
  }
  const tags: ReadonlyArray<PlatformError.SystemErrorTag> = [
    "AlreadyExists",
    "BadResource",
    "Busy",
    "InvalidData",
    "NotFound",
    "PermissionDenied",
    "TimedOut",
    "UnexpectedEof",
    "Unknown",
    "WouldBlock",
    "WriteZero"
  ]
  const room = Schema.Struct({ room: Schema.Number, status: Schema.Literals(["free", "taken"]) })
  const thrown = (error: unknown) => () => {
    throw error
  }
  const ai = {
    RateLimitError: new AiError.RateLimitError({ retryAfter: Duration.seconds(7) }),
    AuthenticationError: new AiError.AuthenticationError({ kind: "InvalidKey" }),
    InternalProviderError: new AiError.InternalProviderError({ description: "Server error" }),
    InvalidOutputError: new AiError.InvalidOutputError({ description: "No JSON" })
  }
  return {
    library: "effect",
    cases: {
      ...entries(
        failing.filter(([name]) => some.includes(name)).map(([name, path]) => [
          `HttpClientError StatusCodeError ${name}`,
          () => failed(ok(origin + path))
        ])
      ),
      "HttpClientError StatusCodeError POST 500": () => failed(ok(`${origin}/500`, "POST")),
      "HttpClientError TransportError refused": () => failed(ok(refused)),
      "HttpClientError TransportError reset": () => failed(ok(`${origin}/reset`)),
      "HttpClientError InvalidUrlError": () => failed(ok("http://:80/")),
      "HttpClientError DecodeError": () =>
        failed(ok(`${origin}/cut-json`).pipe(Effect.flatMap((response) => response.json))),
      "HttpClientError DecodeError cut body": () =>
        failed(ok(`${origin}/cut-body`).pipe(Effect.flatMap((response) => response.json))),
      "HttpClientError EmptyBodyError": thrown(
        new HttpClientError.HttpClientError({ reason: new HttpClientError.EmptyBodyError({ request, response }) })
      ),
      "HttpClientError EncodeError": thrown(
        new HttpClientError.HttpClientError({
          reason: new HttpClientError.EncodeError({ request, cause: new Error("circular") })
        })
      ),
      "HttpClientError schema": () =>
        failed(ok(`${origin}/none`).pipe(Effect.flatMap(HttpClientResponse.schemaBodyJson(room)))),
      ...Object.fromEntries(
        Object.entries(sql).map(([name, Reason]) => [
          `SqlError ${name}`,
          thrown(new SqlError.SqlError({ reason: new Reason(fields) }))
        ])
      ),
      "SqlError UniqueViolation": thrown(
        new SqlError.SqlError({ reason: new SqlError.UniqueViolation({ ...fields, constraint: "rooms_name_key" }) })
      ),
      ...Object.fromEntries(
        tags.map((_tag) => [
          `PlatformError ${_tag}`,
          thrown(
            PlatformError.systemError({
              _tag,
              module: "FileSystem",
              method: "open",
              pathOrDescriptor: `/app/data/${password}`,
              description: "no such file"
            })
          )
        ])
      ),
      "PlatformError BadArgument": thrown(
        PlatformError.badArgument({ module: "FileSystem", method: "open", description: "bad path" })
      ),
      "PlatformError of a real file": () =>
        failed(Effect.flatMap(FileSystem.FileSystem, (files) => files.readFileString(join(directory, password)))),
      "SchemaError": () => failed(Schema.decodeUnknownEffect(room)({ room: "seventeen", status: password })),
      "SchemaError thrown": () => Schema.decodeUnknownSync(room)({ room: "seventeen", status: password }),
      "SchemaError promise": () => Schema.decodeUnknownPromise(room)({ room: "seventeen", status: password }),
      "SchemaError standard": async () => {
        throw await Schema.toStandardSchemaV1(room)["~standard"].validate({ room: "seventeen", status: password })
      },
      "TimeoutError": () => failed(Effect.timeout(Effect.never, 10)),
      "NoSuchElementError": thrown(new Cause.NoSuchElementError()),
      "IllegalArgumentError": thrown(new Cause.IllegalArgumentError("odd")),
      "ExceededCapacityError": thrown(new Cause.ExceededCapacityError("full")),
      "UnknownError": () => failed(Effect.tryPromise(() => fetch(refused))),
      "UnknownError of a sentence": () =>
        failed(Effect.tryPromise(() => Promise.reject(new Error("Room 17 is already booked.")))),
      ...Object.fromEntries(
        Object.entries(ai).map(([name, reason]) => [
          `AiError ${name}`,
          thrown(AiError.make({ module: "OpenAi", method: "generateText", reason }))
        ])
      )
    }
  }
}
