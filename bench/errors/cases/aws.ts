import { DynamoDBClient, DynamoDBServiceException, GetItemCommand, PutItemCommand } from "@aws-sdk/client-dynamodb"
import * as Http from "node:http"
import { type Cases, key, listen, password, type World } from "../world.ts"

/** The service's answers, by the name of the requested table. */
const answers: Readonly<Record<string, readonly [status: number, type: string, message: string]>> = {
  "throttled": [400, "ThrottlingException", "Rate exceeded"],
  "throughput exceeded": [400, "ProvisionedThroughputExceededException", "The level of throughput was exceeded."],
  "access denied": [400, "AccessDeniedException", `User: arn:aws:iam::123:user/${key} is not authorized to read`],
  "unknown token": [400, "UnrecognizedClientException", "The security token included in the request is invalid."],
  "expired token": [400, "ExpiredTokenException", "The security token has expired."],
  "not found": [400, "ResourceNotFoundException", "Requested resource not found: Table: rooms not found"],
  "condition failed": [400, "ConditionalCheckFailedException", "The conditional request failed"],
  "validation": [400, "ValidationException", "One or more parameter values were invalid"],
  "serialization": [400, "SerializationException", ""],
  "too many requests": [429, "TooManyRequestsException", "Slow down"],
  "internal": [500, "InternalServerError", "Internal server error"],
  "unavailable": [503, "ServiceUnavailable", "The service is down"],
  "unknown": [418, "NeverHeardOf", `It is a teapot: ${password}`]
}

/** An error that is marked retryable as in the AWS clients. */
class SlowDown extends DynamoDBServiceException {
  override readonly $retryable = { throttling: true }
}

export const awsCases = async ({ atEnd, origin, refused, unknownHost }: World): Promise<Cases> => {
  const server = Http.createServer((request, response) => {
    let text = ""
    request.on("data", (chunk: Buffer) => (text += chunk.toString())).on("end", () => {
      const { TableName } = JSON.parse(text) as { readonly TableName: string }
      const [status, type, message] = answers[TableName.replaceAll("_", " ")] ?? [500, "None", ""]
      response.sendDate = false
      response.writeHead(status, { "content-type": "application/x-amz-json-1.0", "x-amzn-requestid": "req_1" })
      response.end(JSON.stringify({ __type: `com.amazonaws.dynamodb.v20120810#${type}`, message }))
    })
  })
  const endpoint = `http://127.0.0.1:${await listen(server)}`
  atEnd(() => server.close())
  const client = (endpoint: string, requestHandler = {}) =>
    new DynamoDBClient({
      endpoint,
      region: "eu-central-1",
      maxAttempts: 1,
      credentials: { accessKeyId: key, secretAccessKey: password },
      requestHandler
    })
  const Key = { id: { S: password } }
  const get = (TableName: string, at = endpoint, handler = {}) =>
    client(at, handler).send(new GetItemCommand({ TableName: TableName.replaceAll(" ", "_"), Key }))
  return {
    library: "@aws-sdk/client-dynamodb",
    cases: {
      ...Object.fromEntries(Object.keys(answers).map((name) => [name, () => get(name)])),
      "internal PUT": () => client(endpoint).send(new PutItemCommand({ TableName: "internal", Item: Key })),
      "retryable by its model": () => {
        throw new SlowDown({
          name: "SlowDown",
          $fault: "client",
          $metadata: { httpStatusCode: 400 },
          message: `Reduce your request rate: ${password}`
        })
      },
      "refused": () => get("rooms", refused),
      "unknown host": () => get("rooms", unknownHost),
      "reset": () => get("rooms", `${origin}/reset`),
      "HTML for JSON": () => get("rooms", `${origin}/502-html`),
      "cut JSON": () => get("rooms", `${origin}/cut-json`),
      "cut body": () => get("rooms", `${origin}/cut-body`),
      "timeout": () => get("rooms", `${origin}/hang`, { requestTimeout: 50, throwOnRequestTimeout: true }),
      "aborted": () => {
        const controller = new AbortController()
        setTimeout(() => controller.abort(), 50)
        return client(`${origin}/hang`).send(new GetItemCommand({ TableName: "rooms", Key }), {
          abortSignal: controller.signal
        })
      },
      "no credentials": () =>
        new DynamoDBClient({
          endpoint,
          region: "eu-central-1",
          credentials: () => Promise.reject(new Error("Could not load credentials from any providers"))
        }).send(new GetItemCommand({ TableName: "rooms", Key }))
    }
  }
}
