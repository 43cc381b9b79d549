/**
 * Runs one example, chosen by a word of its folder's name: `pnpm example clinical "A question" --api down`.
 */
import { readdirSync } from "node:fs"

const folders = readdirSync(import.meta.dirname).filter((name) => /^\d\d-/.test(name))
// Removes the word from `argv`. The rest of the command line belongs to the example.
const [word = ""] = process.argv.splice(2, 1)
const matches = folders.filter((folder) => folder === word || folder.split("-").includes(word))

if (matches.length === 1) await import(`./${matches[0]}/main.ts`)
else {
  process.stderr.write(`Which example? One of these, by a word of its name: ${folders.join(", ")}.\n`)
  process.exitCode = 1
}
