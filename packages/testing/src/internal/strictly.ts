/** Decodes requests as strictly as servers that refuse unknown fields. */
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import * as SchemaIssue from "effect/SchemaIssue"

/** The first problem of a request's body. */
export interface Fault {
  readonly path: ReadonlyArray<string | number>
  readonly kind: "missing" | "unknown" | "invalid"
  readonly message: string
}

/** Makes a decoder that refuses unknown fields, also those inside of other fields. */
export const strictly = <A>(schema: Schema.Codec<A, unknown>): (body: unknown) => Result.Result<A, Fault> => {
  const decode = Schema.decodeUnknownResult(schema, { onExcessProperty: "error" })
  return (body) => Result.mapError(decode(body), ({ issue }) => faultOf(issue))
}

const format = SchemaIssue.makeFormatterStandardSchemaV1({
  leafHook: (issue) =>
    issue._tag === "MissingKey"
      ? "missing"
      : issue._tag === "UnexpectedKey"
      ? "unknown"
      : SchemaIssue.defaultLeafHook(issue)
})

const faultOf = (issue: SchemaIssue.Issue): Fault => {
  const [first] = format(issue).issues
  const message = first?.message ?? "invalid"
  return {
    path: (first?.path ?? []).map(keyOf),
    kind: message === "missing" || message === "unknown" ? message : "invalid",
    message
  }
}

const keyOf = (segment: PropertyKey | { readonly key: PropertyKey }): string | number => {
  const key = typeof segment === "object" ? segment.key : segment
  return typeof key === "number" ? key : String(key)
}

/** Writes a path as in JavaScript: `input[0].call_id`. */
export const inBrackets = (path: Fault["path"]): string =>
  path.map((key, index) => typeof key === "number" ? `[${key}]` : index === 0 ? key : `.${key}`).join("")
