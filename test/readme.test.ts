import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { readFileSync } from "node:fs"
import { join } from "node:path"
import { root, runNode, withoutTimings } from "./support/program.ts"

const readme = readFileSync(join(root, "README.md"), "utf8")
const blocks = (language: string) =>
  Array.from(readme.matchAll(new RegExp(`\`\`\`${language}\n([\\s\\S]*?)\`\`\``, "g")), ([, block]) => block!)

describe("README", () => {
  it.live("shows what the demo prints, timings aside", () =>
    Effect.gen(function*() {
      const [shown] = blocks("text")
      const { stdout } = yield* runNode("examples/01-multi-tool-agent/main.ts")
      assert.strictEqual(withoutTimings(shown!), withoutTimings(stdout))
    }))

  it.live("shows what a model reads of a failure", () =>
    Effect.gen(function*() {
      const [shown] = blocks("json")
      const payload: Record<string, unknown> = JSON.parse(shown!)
      const { stdout } = yield* runNode("examples/01-multi-tool-agent/main.ts", "--json")
      const failed = stdout.split("\n").find((line) => line.includes("\"Failed\""))!
      const { outcome }: { readonly outcome: { readonly failure: object } } = JSON.parse(failed)
      const { error, ok, retry, alternatives, ...fields } = payload
      assert.deepInclude(outcome.failure, fields)
      assert.deepInclude(outcome.failure, { _tag: error })
      assert.deepStrictEqual([ok, typeof retry, Array.isArray(alternatives)], [false, "string", true])
    }))

  it("names commands that exist", () => {
    const { scripts }: { readonly scripts: Record<string, string> } = JSON.parse(
      readFileSync(join(root, "package.json"), "utf8")
    )
    const contributing = readFileSync(join(root, "CONTRIBUTING.md"), "utf8")
    const named = Array.from(`${readme}${contributing}`.matchAll(/pnpm@12 (\w+)/g), ([, name]) => name!)
    assert.isAbove(named.length, 5)
    assert.deepStrictEqual(named.filter((name) => !(name in scripts)), [])
  })
})
