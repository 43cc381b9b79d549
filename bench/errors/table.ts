/** Prints the recorded errors as a table for people: `node bench/errors/table.ts`. */
import { type Instance, isList, recorded, type Tree } from "../../test/support/errorShapes.ts"

const telling = [
  "name",
  "_tag",
  "code",
  "status",
  "statusCode",
  "errno",
  "errcode",
  "sqlState",
  "syscall",
  "fatal",
  "isRetryable",
  "retryable",
  "$retryable",
  "$fault",
  "$metadata",
  "reason",
  "request",
  "headers",
  "responseHeaders",
  "issues"
]

const short = (text: string, limit: number) => {
  const line = text.replaceAll("\n", "⏎").replaceAll("|", "¦")
  return line.length > limit ? `${line.slice(0, limit)}…` : line
}

const field = (tree: Tree, key: string): Tree | undefined =>
  isInstance(tree) ? tree.own[key] ?? tree.inherited?.[key] ?? undefinedOf(tree, key) : undefined

const undefinedOf = (tree: Instance, key: string): Tree | undefined =>
  tree.undefined?.includes(key) === true ? { kind: "undefined" } : undefined

const isInstance = (tree: Tree | undefined): tree is Instance =>
  typeof tree === "object" && tree !== null && !isList(tree) && (tree.kind === "error" || tree.kind === "object")

const brief = (tree: Tree): string =>
  isInstance(tree)
    ? (tree.classes ?? []).every((name) => name === "" || name === "null") ?
      plain(tree) :
      `${(tree.classes ?? []).join(" < ")}${
        field(tree, "code") === undefined ? "" : ` ${JSON.stringify(field(tree, "code"))}`
      }`
    : typeof tree === "object" && tree !== null
    ? isList(tree)
      ? `[${tree.map(brief).join("; ")}]`
      : tree.kind === "response"
      ? `Response ${tree.status} ${short(JSON.stringify(tree.headers), 200)}`
      : tree.kind === "headers"
      ? `Headers ${short(JSON.stringify(tree.entries), 160)}`
      : tree.kind
    : short(JSON.stringify(tree), 60)

const plain = (tree: Instance) =>
  short(`{ ${Object.entries(tree.own).map(([key, value]) => `${key}: ${brief(value)}`).join(", ")} }`, 160)

const telltales = (tree: Tree, depth = 0): string => {
  if (!isInstance(tree)) return brief(tree)
  const own = telling.flatMap((key) => {
    const value = field(tree, key)
    return value === undefined ? [] : [`${key}=${brief(value)}`]
  })
  const below = ["cause", "reason", "response"].flatMap((key) => {
    const value = field(tree, key)
    return value === undefined || typeof value !== "object" || value === null || depth > 3
      ? []
      : [`${key}: {${brief(value)}${isInstance(value) ? ` ${telltales(value, depth + 1)} ${message(value)}` : ""}}`]
  })
  const errors = field(tree, "errors")
  const list = typeof errors === "object" && errors !== null && isList(errors) && depth < 3
    ? [`errors: [${errors.map((item) => `${brief(item)} ${message(item)}`).join("; ")}]`]
    : []
  return [...own, ...below, ...list].join(", ")
}

const message = (tree: Tree) => {
  const value = field(tree, "message")
  return typeof value === "string" ? `“${short(value, 140)}”` : ""
}

const rows = recorded.map(({ name, error }) =>
  `| ${name} | ${isInstance(error) ? (error.classes ?? ["Object"]).join(" < ") : "—"} | ${
    isInstance(error)
      ? [
        ...Object.keys(error.own),
        ...(error.undefined ?? []),
        ...Object.keys(error.inherited ?? {}).map((key) => `^${key}`)
      ]
        .filter((key) => key !== "stack" && key !== "message").join(" ")
      : ""
  } | ${telltales(error)} | ${message(error)} |`
)

console.log(`| name | classes | properties (^ inherited) | telling values | message |\n| - | - | - | - | - |`)
console.log(rows.join("\n"))
