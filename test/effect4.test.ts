/** The names of Effect 4 in `docs/migrating.md` exist. */
import { assert, it } from "@effect/vitest"
import * as Effect4 from "effect"
import * as Testing from "effect/testing"
import { readFileSync } from "node:fs"
import { createRequire } from "node:module"
import { join } from "node:path"
import { root } from "./support/program.ts"

const modules: Readonly<Record<string, unknown>> = { ...Effect4, ...Testing }

/** The right-hand cells of the section's table. */
const [, section = ""] = readFileSync(join(root, "docs/migrating.md"), "utf8").split("\n## From Effect 3\n")
const cells = section.split("\n## ")[0]!
  .split("\n")
  .filter((line) => line.startsWith("| ") && !line.startsWith("| ---") && !line.startsWith("| Effect 3"))
  .map((line) => line.split(" | ")[1] ?? "")

const found = (pattern: RegExp) => Array.from(new Set(cells.flatMap((cell) => cell.match(pattern) ?? [])))

it("the guide to Effect 4 names only what exists", () => {
  const names = found(/\b[A-Z]\w+\.\w+/g)
  const missing = names.filter((name) => {
    const [module = "", member = ""] = name.split(".")
    const members = modules[module]
    return typeof members === "object" && members !== null && !(member in members)
  })
  assert.isAbove(names.length, 30)
  assert.deepStrictEqual(missing, [])
})

it("the guide to Effect 4 names only entry points that exist", () => {
  const { resolve } = createRequire(import.meta.url)
  const entries = found(/\beffect\/[\w-]+/g)
  assert.isAbove(entries.length, 4)
  for (const entry of entries) assert.isNotEmpty(resolve(entry), entry)
})

it("each row of the guide to Effect 4 names something that is checked", () => {
  assert.isAbove(cells.length, 20)
  assert.deepStrictEqual(cells.filter((cell) => !/\b[A-Z]\w+\.\w+|\beffect\/\w/.test(cell)), [])
})
