import { globSync, readFileSync } from "node:fs"
import { defineConfig } from "vitest/config"
import daily from "./vitest.config.ts"

/** The laws that `pnpm test` runs a tenth as often: see `test/support/runs.ts`. */
const laws = globSync("test/**/*.test.ts", { cwd: import.meta.dirname, exclude: ["**/node_modules", "**/.scratch"] })
  .filter((file) => readFileSync(`${import.meta.dirname}/${file}`, "utf8").includes("support/runs.ts\""))

/** The tests that need a browser, a terminal, other libraries or many processes, and the laws in full: `pnpm test:long`. */
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
