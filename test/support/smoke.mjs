/* Runs a built `@fallible/arguments` over our own corpora, in whatever Node runs this: `node smoke.mjs path/to/dist/index.js`. */
import { deepStrictEqual } from "node:assert"
import { readFileSync } from "node:fs"
import { pathToFileURL } from "node:url"

const { decode, fit } = await import(pathToFileURL(process.argv[2]).href)
const rows = (name) => JSON.parse(readFileSync(new URL(`../corpora/${name}.json`, import.meta.url), "utf8"))

for (const { action, expected, input } of rows("policy")) {
  const result = decode(input, {}, { prose: true })
  deepStrictEqual(result.ok ? result.value : "refused", action === "refuse" ? "refused" : expected, input)
}
for (const { action, expected, input_value: value, schema } of rows("coercion")) {
  if (typeof value === "object" && value !== null && "$raw" in value) continue
  const fitted = fit(value, schema)
  deepStrictEqual(
    fitted.ok ? fitted.value : "refused",
    action === "refuse" ? "refused" : expected,
    JSON.stringify(value)
  )
}
