/** Runs tests with the mutant that `FALLIBLE_MUTANT` names. See `mutants.ts`. */
import { join } from "node:path"
import { defineConfig, mergeConfig, type Plugin } from "vitest/config"
import { BaseSequencer, type TestSpecification } from "vitest/node"
import base from "../../vitest.config.ts"
import { mutants } from "./mutantList.ts"

const root = join(import.meta.dirname, "../..")

const mutant = mutants.find(({ name }) => name === process.env["FALLIBLE_MUTANT"])
if (mutant === undefined) throw new Error("FALLIBLE_MUTANT names no mutant.")

const { file, replacement, text } = mutant

const mutating: Plugin = {
  name: "mutating",
  enforce: "pre",
  transform: (code, id) => id === join(root, file) ? code.replace(text, () => replacement) : undefined
}

/** The laws that notice most mutants soonest. */
const first = [
  "returnedValues",
  "journaledRuns",
  "runProgress",
  "secretCalls",
  "Guard.test",
  "settledDoubts",
  "joinedCalls.test",
  "approvals.test",
  "approvalAttacks",
  "keyConflictLaws",
  "deadlineTickLaws",
  "innerEffectLaws",
  "scopeLaws",
  "resumeLaws"
]

class MostNoticedFirst extends BaseSequencer {
  override sort(files: Array<TestSpecification>) {
    const rank = ({ moduleId }: TestSpecification) => {
      const index = first.findIndex((name) => moduleId.includes(name))
      return index === -1 ? first.length : index
    }
    return Promise.resolve(files.toSorted((one, other) => rank(one) - rank(other)))
  }
}

// A cache on the disk would give a mutant to later runs.
export default mergeConfig(
  base,
  defineConfig({
    root,
    plugins: [mutating],
    test: {
      fsModuleCache: false,
      env: { FALLIBLE_RUNS: "all" },
      silent: true,
      setupFiles: ["test/bench/mutants.setup.ts"],
      sequence: { sequencer: MostNoticedFirst }
    }
  })
)
