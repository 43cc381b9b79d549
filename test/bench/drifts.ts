/**
 * Searches for calls that are read as another call after they drifted, as a model's calls do.
 *
 * Makes random schemas, and some random valid calls for each: the intended calls. Applies one to three drifts to each
 * call, such as numbers as text, other spellings of keys, blanks, or single quotes, and lets `decode` read the text.
 * The text may be refused, or read as the intended call. Everything else is *another value*:
 *
 * - An accepted value is another value if it is not equal to the intended one: all keys, all items and all scalars.
 *   Numbers are compared as numbers, so 1.0 equals 1. The order of keys does not count.
 * - An absent field that was sent as `null` or as a blank text has to be absent. For a nullable field, a blank text says
 *   `null`, and leaving the field out is another value. For an optional boolean, object or map, and for a union with
 *   one of these, only `null` may be left out: whatever a blank text is read as, it is another value.
 * - An empty list that was sent as `""`, `"null"`, `"None"` or `"undefined"` may also be absent, or null where null is
 *   allowed. A list that was sent as other words for nothing (`"none"`, `"n/a"`) has to be the empty or absent one.
 * - A number that was written for a text has to become its source text: `1.1` is `"1.1"`, even if `"1.10"` was intended.
 * - An undeclared key in an open object stays, with its value as it was written. This holds for a surplus key, for an
 *   optional key with a typo, and for another spelling of a key that is there as well. Another spelling of a declared
 *   key that is absent never stays.
 * - Some texts do not say what was meant: a key twice with different values, two other spellings of an absent key,
 *   `null` or a blank for a required value, and a value that fits two members of a `oneOf`. Whatever they are read as,
 *   it is another value.
 * - An error that is thrown is another value.
 *
 * A drift is not applied if it makes another valid call. A support module, `driftKinds.ts`, decides this without the
 * package: the drifted call, and the call with only some of its drifts, must not fit the schema. Inside a union, only
 * one drift is applied, and none whose text is plainer for another member than for the intended one, as `"3 days"` is
 * for a list of texts.
 *
 * Run it with `node test/bench/drifts.ts`. Arguments: the number of calls (default: 100,000) and a seed (default: a new
 * one, which is printed). The shortest examples are printed, for at most ten sets of drifts.
 */
import { drifts } from "../support/drifts.ts"

const maxListed = 10

const [count = "100000", seed = String(Date.now() % 1_000_000_007)] = process.argv.slice(2)
const began = performance.now()
const { another, examples, refused, restored } = drifts(Number(count), Number(seed))

console.log(`${count} drifted calls, seed ${seed}, ${((performance.now() - began) / 1000).toFixed(0)} s`)
console.log(`restored: ${restored}, refused: ${refused}, another value: ${another}`)
for (const { drifts, intended, read, schema, text } of examples.slice(0, maxListed)) {
  console.log(
    [
      `ANOTHER VALUE, after: ${drifts.join(", ")}`,
      `  schema:   ${JSON.stringify(schema)}`,
      `  intended: ${JSON.stringify(intended)}`,
      `  text:     ${JSON.stringify(text)}`,
      `  read:     ${JSON.stringify(read)}`
    ].join("\n")
  )
}
if (another > 0) process.exitCode = 1
