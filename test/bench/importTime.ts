/**
 * Measures the time of `import "@fallible/core"` in an installed package, relative to `effect/Effect` and
 * `effect/Schema`, which it requires. Each import runs in a separate process. Compares the medians of 21
 * rounds. Run it with `pnpm import-time`.
 */
import { spawnSync } from "node:child_process"
import { rmSync } from "node:fs"
import { join } from "node:path"
import { packed, project, temporary } from "../../scripts/packed.ts"
import { root } from "../support/program.ts"

const folder = temporary()
const user = project(packed(folder), "4.1.0")
const node = join(root, "node_modules/.bin/node")

const millis = (code: string): number => {
  const start = process.hrtime.bigint()
  const { status, stderr } = spawnSync(node, ["--input-type=module", "-e", code], { cwd: user, encoding: "utf8" })
  if (status !== 0) throw new Error(stderr)
  return Number(process.hrtime.bigint() - start) / 1e6
}

const base = `await import("effect/Effect"); await import("effect/Schema")`
const imports: Record<string, string> = {
  "effect/Effect and effect/Schema": base,
  "and effect/Stream": `${base}; await import("effect/Stream")`,
  "@fallible/arguments": `await import("@fallible/arguments")`,
  "@fallible/core": `await import("@fallible/core")`
}
const timesByName = new Map(Object.keys(imports).map((name) => [name, Array<number>()]))
for (let round = 0; round < 21; round++) {
  for (const [name, code] of Object.entries(imports)) timesByName.get(name)!.push(millis(code))
}
const median = (times: ReadonlyArray<number>) => times.toSorted((a, b) => a - b)[Math.floor(times.length / 2)]!
const first = median(timesByName.values().next().value!)
for (const [name, times] of timesByName) {
  process.stdout.write(
    `${name.padEnd(34)} ${median(times).toFixed(0).padStart(4)} ms  ${(median(times) / first).toFixed(2)} x\n`
  )
}
for (const path of [folder, user]) rmSync(path, { recursive: true, force: true })
