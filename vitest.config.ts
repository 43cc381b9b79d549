import { defineConfig } from "vitest/config"

export default defineConfig({
  test: {
    include: ["test/**/*.test.ts"],
    testTimeout: 30_000,
    // Two runs at once over one cache on disk may wait for each other for ever.
    fsModuleCache: false
  }
})
