/**
 * The seed of all laws (fast-check). It is the same in each run, so a test fails because of a change, and never by chance.
 * `FALLIBLE_SEED=random` searches on: each run then has another seed, which a failure prints. A number repeats such a run.
 */
import * as fc from "fast-check"

const seed = process.env["FALLIBLE_SEED"] ?? "20261128"

if (seed !== "random") {
  if (!/^-?\d+$/.test(seed)) throw new Error(`FALLIBLE_SEED is a whole number, or "random"; got "${seed}".`)
  fc.configureGlobal({ ...fc.readConfigureGlobal(), seed: Number(seed) })
}
