/**
 * Runs an example by a word of its folder's name: `pnpm example clinical "A question" --api down`.
 */
import { readdirSync } from "node:fs"

const folders = readdirSync(import.meta.dirname).filter((name) => /^\d\d-/.test(name))
// What is left of the command line is the example's own.
const [word = ""] = process.argv.splice(2, 1)
const found = folders.filter((folder) => folder.split("-").includes(word))

if (found.length === 1) await import(`./${found[0]}/main.ts`)
else {
  process.stderr.write(`Which example? One of these, by a word of its name: ${folders.join(", ")}.\n`)
  process.exitCode = 1
}
