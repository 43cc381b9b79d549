import { defineConfig } from "vitest/config"
import daily from "./vitest.config.ts"

/** Laws that `pnpm test` runs a quarter as often. See `test/support/runs.ts`. */
const laws = [
  "test/intents.test.ts",
  "test/payments.test.ts",
  "test/core/workflowRuns.test.ts",
  ...[
    "approval",
    "argument",
    "bound",
    "callRecord",
    "customPolicy",
    "deadlineTick",
    "doubt",
    "fixer",
    "innerEffect",
    "joinedCall",
    "resume",
    "scope",
    "secret",
    "usage"
  ].map((name) => `test/core/${name}Laws.test.ts`)
]

/** The tests that install other libraries, tear files or hold many conversations, and run for long: `pnpm test:long`. */
export default defineConfig({
  test: {
    include: ["test/long/**/*.test.ts", ...laws],
    setupFiles: daily.test?.setupFiles ?? [],
    // A worker for each core, where the default leaves one of them unused.
    maxWorkers: "100%",
    tags: daily.test?.tags ?? [],
    env: { FALLIBLE_RUNS: "all", NO_PROXY: "127.0.0.1", no_proxy: "127.0.0.1" },
    testTimeout: 600_000,
    hookTimeout: 600_000
  }
})
