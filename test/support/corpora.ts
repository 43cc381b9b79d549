/**
 * The corpora of argument texts. Only our own are in this repository. Those of other projects are read from
 * the folder that `FALLIBLE_CORPORA` names, or else from `../shared/corpora` beside the repository. A fresh
 * clone has neither folder, so its tests skip those corpora.
 */
import type { Schema } from "effect"
import { existsSync, readFileSync } from "node:fs"
import { join, resolve } from "node:path"
import { root } from "./program.ts"

/** A text, and the result that its project expects. */
export interface Row {
  readonly id: string
  readonly input: string
  readonly verdict: "value" | "invalid" | "either"
  /** The value, or the word "invalid". `verdict` tells whether "invalid" is itself a value. */
  readonly expected: Schema.Json
  readonly category: string
}

/** A text of our own, and the action that our tables demand. */
export interface PolicyRow extends Row {
  readonly action: "accept" | "repair" | "note" | "refuse"
  readonly why: string
}

// An empty variable counts as unset.
const corporaFolder = process.env["FALLIBLE_CORPORA"] || undefined
/** The folder of the corpora of other projects. */
export const folder = corporaFolder === undefined ? join(root, "../shared/corpora") : resolve(corporaFolder)

/** Whether those corpora are present. If the environment names a folder, they must be there. */
export const areThere = corporaFolder !== undefined || existsSync(folder)

/** The notice when those corpora are absent. */
export const missing =
  "no corpora of other projects here (set FALLIBLE_CORPORA to their folder): their texts are passed over"

const rowsIn = (file: string) => JSON.parse(readFileSync(file, "utf8"))

/** Reads a corpus of another project. */
export const corpus = (name: string): ReadonlyArray<Row> => rowsIn(join(folder, `${name}.json`))

export const policy: ReadonlyArray<PolicyRow> = rowsIn(join(root, "test/corpora/policy.json"))

// Typical arguments: ids, amounts, text with quotes and line breaks, lists, dates with colons, code, non-ASCII text.
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

/** Returns valid calls: those of a corpus if it is present, or else some of our own. */
export const validCalls = (): ReadonlyArray<string> =>
  areThere ? corpus("toolcalls_valid").map(({ input }) => input) : samples.map((sample) => JSON.stringify(sample))
