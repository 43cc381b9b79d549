/**
 * Checks the README: its first example prints what it shows, its commands run, and its figures are those of scripts.
 *
 * @module-tag slow
 */
import { assert, describe, it } from "@effect/vitest"
import * as Planner from "@fallible/examples/01-multi-tool-agent/Planner"
import { program } from "@fallible/examples/01-multi-tool-agent/program"
import * as FakeModelServer from "@fallible/testing/FakeModelServer"
import { Effect } from "effect"
import { readFileSync } from "node:fs"
import { join } from "node:path"
import { runIn } from "./support/inProcess.ts"
import { picture, pictureFile } from "./support/picture.ts"
import { root } from "./support/program.ts"
import { blocks, readme, readmeRun } from "./support/readmeRun.ts"

const read = (file: string) => readFileSync(join(root, file), "utf8")

it("has at most 900 words", () => {
  assert.isAtMost(readme.split(/\s+/).filter((word) => word !== "").length, 900)
})

it.live("shows what its program prints, and the picture of that run, if the bank's first answer is lost", () =>
  Effect.gen(function*() {
    const run = yield* readmeRun
    assert.deepStrictEqual(run.finished, { code: 0, stdout: blocks("text")[0], stderr: "" })
    assert.deepStrictEqual([...run.charges.values()], [{ order: "7", euros: 249, note: "two chairs" }])
    assert.strictEqual(picture(run), readFileSync(pictureFile, "utf8"), "npx -y pnpm@12 picture")
  }))

// -----------------------------------------------------------------------------
// Commands
// -----------------------------------------------------------------------------

/** Splits a command line into words. A quoted part is one word. */
const wordsOf = (text: string) =>
  Array.from(text.matchAll(/"([^"]*)"|(\S+)/g), ([, quoted, plain]) => quoted ?? plain ?? "")

const demo = /^((?:\w+=\S+ )*)npx -y pnpm@12 demo\b(.*)$/

describe("the commands of the demo", () => {
  const commands = `${readme}\n${read("examples/README.md")}`.split("\n").filter((line) => demo.test(line))

  for (const command of commands) {
    it.live(`run: ${command}`, () =>
      Effect.gen(function*() {
        // Commands that name a model server get a fake one.
        const server = yield* FakeModelServer.make(({ messages }) => Planner.reply(messages))
        const [, settings = "", args = ""] = demo.exec(command)!
        const env = Object.fromEntries(
          wordsOf(settings).map((setting) => {
            const [name = "", value = ""] = setting.split("=")
            return [name, name === "OLLAMA_HOST" ? server.url : name === "OPENAI_BASE_URL" ? `${server.url}/v1` : value]
          })
        )
        const address = args.includes("anthropic/") ? { ANTHROPIC_BASE_URL: `${server.url}/v1` } : {}
        const { code, stdout } = yield* runIn({ ...env, ...address }, program, ...wordsOf(args))
        assert.strictEqual(code, 0)
        if (args.includes("--reply")) assert.match(stdout, /\n> Tokyo\n/)
        assert.strictEqual((yield* server.state).requests.length > 0, settings !== "")
      }).pipe(Effect.scoped))
  }

  it("are several", () => {
    assert.isAtLeast(commands.length, 4)
  })
})

it("shows no output that is not checked: its program's here, and the tour's in the tour's own test", () => {
  assert.strictEqual(blocks("text").length, 2)
  assert.include(blocks("text")[1], "In all")
})

// -----------------------------------------------------------------------------
// Figures
// -----------------------------------------------------------------------------

/** The rows of all tables in a document, as cells. */
const rowsOf = (text: string): ReadonlyArray<ReadonlyArray<string>> =>
  text.split("\n").filter((line) => line.startsWith("| ")).map((line) =>
    line.split("|").slice(1, -1).map((cell) => cell.trim())
  )

describe("the comparison with other libraries", () => {
  const results = rowsOf(read("bench/frameworks/RESULTS.md"))
  const shown = rowsOf(readme).filter((row) => row.length === 5 && /^\d+$/.test(row[2] ?? ""))
  const totals = (name: string, setting: string) => results.find(([one, two]) => one === name && two === setting)

  it("has the figures of the script", () => {
    assert.strictEqual(shown.length, 6)
    for (const [library = "", , plain, weak, careful] of shown) {
      const name = library.replace(/^\[([^\]]*)\].*$/, "$1").replaceAll("`", "")
      const [, , weakest] = totals(name, "plain") ?? []
      const [, , recovered, , , , best] = totals(name, "recovering") ?? []
      assert.deepStrictEqual([plain, weak, careful], [weakest, recovered, best], name)
    }
  })

  it("has their number, and the lines of recovery of each library", () => {
    const page = read("bench/frameworks/RESULTS.md").replaceAll("\n", " ")
    const [, scenarios] = /(\d+) scenarios, which took/.exec(page) ?? []
    const [, lines = "", shared] =
      /"Recovery" of each library's file: (.*?)\. All but Fallible also share the (\d+) lines/.exec(page) ?? []
    const [[, own] = [], ...others] = Array.from(
      lines.matchAll(/[^,]+ (\d+)/g),
      ([, count]) => ["", Number(count)] as const
    )
    const counts = others.map(([, count]) => count)
    const text = readme.replaceAll("\n", " ")
    assert.include(text, `and of a careful one, in [${scenarios} scenarios]`)
    assert.include(
      text,
      `Recovery code: ${Math.min(...counts)} to ${
        Math.max(...counts)
      } lines each, besides ${shared} that they share; for Fallible, ${own}, besides its identities.`
    )
  })
})
