/**
 * The corpora of argument texts. Only our own are in this repository; those from other projects are read from the folder that
 * `FALLIBLE_CORPORA` names, or else from `../shared/corpora` beside the repository. A clone has neither, and its tests pass over them.
 */
import type { Schema } from "effect"
import { existsSync, readFileSync } from "node:fs"
import { join, resolve } from "node:path"
import { root } from "./program.ts"

/** A text, and what the project that it is from makes of it. */
export interface Row {
  readonly id: string
  readonly input: string
  readonly verdict: "value" | "invalid" | "either"
  /** The value, or the word "invalid" (which may be a value, too: the verdict tells). */
  readonly expected: Schema.Json
  readonly category: string
}

/** A text of our own, and what is to be done with it by the tables. */
export interface PolicyRow extends Row {
  readonly action: "accept" | "repair" | "note" | "refuse"
  readonly why: string
}

// An empty setting is none.
const named = process.env["FALLIBLE_CORPORA"] || undefined
/** Where they are. */
export const folder = named === undefined ? join(root, "../shared/corpora") : resolve(named)

/** Are they there? When the environment says where, they have to be. */
export const areThere = named !== undefined || existsSync(folder)

/** What to say where they are not. */
export const missing =
  "no corpora of other projects here (set FALLIBLE_CORPORA to their folder): their texts are passed over"

const rowsIn = (file: string) => JSON.parse(readFileSync(file, "utf8"))

/** The rows of a corpus of another project. */
export const corpus = (name: string): ReadonlyArray<Row> => rowsIn(join(folder, `${name}.json`))

export const policy: ReadonlyArray<PolicyRow> = rowsIn(join(root, "test/corpora/policy.json"))

// Shapes that tool calls have: ids, amounts, free text with quotes and lines, lists, dates with colons, code, and no ASCII.
const samples = [
  { city: "Paris", unit: "celsius", days: 3 },
  { base: 10, height: 5, unit: "units" },
  { to: "ana@example.com", subject: "Re: lunch", body: "Hi Ana,\n\n\"12:30\" is fine.\n\nBest, Jo" },
  { amount: 1500.5, currency: "EUR", confirm: true, memo: null },
  { start: "2024-03-22 11:00:00", end: "2024-03-22T13:00:00+01:00", zone: "Europe/Paris" },
  { sql: "SELECT \"name\" FROM users WHERE id = 7 -- it's one", limit: 100 },
  { point1: [40.7128, -74.006], point2: [34.0522, -118.2437], unit: "degree" },
  { items: [{ id: 1, tags: ["a", "b"] }, { id: 2, tags: [] }], dry_run: false },
  { path: "C:\\Users\\jo\\a.txt", url: "https://example.com/a?b=c#d", pattern: "^\\d+/\\*" },
  { command: "다용도실, 통돌이, 중지", name: "阿迪达斯", mood: "😀" },
  { code: "const a = {b: [1, 2]}; // it's done\n```js\nf('x')\n```", language: "ts" },
  { filter: { and: [{ field: "age", op: ">", value: 25 }, { or: [] }] }, page: { size: 20, after: "eyJ=" } },
  {}
]

/** Valid calls: those of a corpus where it is there, or else some of our own. */
export const validCalls = (): ReadonlyArray<string> =>
  areThere ? corpus("toolcalls_valid").map(({ input }) => input) : samples.map((sample) => JSON.stringify(sample))
