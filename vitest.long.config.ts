import { defineConfig } from "vitest/config"

/** The tests that install other libraries, tear files or hold many conversations, and run for long: `pnpm test:long`. */
export default defineConfig({
  test: {
    include: ["test/long/**/*.test.ts"],
    env: { NO_PROXY: "127.0.0.1", no_proxy: "127.0.0.1" },
    testTimeout: 600_000,
    hookTimeout: 600_000
  }
})
