import { configDefaults, defineConfig } from "vitest/config"

export default defineConfig({
  test: {
    include: ["test/**/*.test.ts"],
    // `vitest.long.config.ts` is for the long ones. In `.scratch` are copies of starters, with tests of their own.
    exclude: [...configDefaults.exclude, "test/long/**", "**/.scratch/**"],
    setupFiles: ["test/support/seed.ts"],
    // A worker for each core, where the default leaves one of them unused.
    maxWorkers: "100%",
    // The files that a worker runs share what they import: effect is loaded once a worker, and not once a file.
    isolate: false,
    tags: [{
      name: "slow",
      description: "Real processes, compilers, waits, laws that take a second"
    }],
    // The servers of tests are on this machine. With `NODE_USE_ENV_PROXY`, Node would ask them through a proxy.
    env: { NO_PROXY: "127.0.0.1", no_proxy: "127.0.0.1" },
    // Far above the time of any test, also on a machine that is busy with other work.
    testTimeout: 120_000,
    hookTimeout: 120_000
  }
})
