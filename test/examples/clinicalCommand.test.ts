/** The command of the clinical assistant: its output and its exit code. */
import { assert, describe, it } from "@effect/vitest"
import * as Planner from "@fallible/examples/02-clinical-assistant/Planner"
import { program } from "@fallible/examples/02-clinical-assistant/program"
import * as FakeModelServer from "@fallible/testing/FakeModelServer"
import { Effect } from "effect"
import { ask, mayTake } from "../support/clinic.ts"
import * as InProcess from "../support/inProcess.ts"
import { runNode, withoutTimings } from "../support/program.ts"

const clinical = (...args: ReadonlyArray<string>) => InProcess.run(program, ...args)

describe("the command", { tags: "slow" }, () => {
  it.live("shows a run without faults, step by step", () =>
    Effect.gen(function*() {
      const { code, stderr, stdout } = yield* clinical()
      assert.deepStrictEqual([code, stderr], [0, ""])
      assert.deepStrictEqual(withoutTimings(stdout).split("\n").slice(0, 14), [
        "A stand-in plays the model: a small planner in this process. No language model is asked.",
        "",
        `Question: ${mayTake}`,
        "",
        "turn 1",
        "  model  calls 2 tools  … ms",
        "  ok       get_patient {\"patientId\":\"P-1001\"}  … ms",
        "           note: from the internal database",
        "  ok       get_drug_facts {\"name\":\"ibuprofen\"}  … ms",
        "           note: from the internal database",
        "turn 2",
        "  model  calls 1 tool  … ms",
        "  ok       check_interactions {\"drugs\":[\"ibuprofen\",\"warfarin\",\"lisinopril\"]}  … ms",
        "           note: from the external API"
      ])
      assert.match(stdout, /^3 turns, 3 calls, 0 failures \(0 told to the model\)$/m)
    }))

  it.live("shows which source answered, how old it is, and what was retried", () =>
    Effect.gen(function*() {
      const { code, stdout } = yield* clinical("--database", "down", "--api", "down")
      assert.strictEqual(code, 0)
      assert.match(
        stdout,
        /^ {2}retry {4}get_drug_facts .* after attempt 2: The internal database could not be opened\. Again in \d+ ms\.$/m
      )
      assert.match(stdout, /^ {2}fallback get_drug_facts .*: The internal database could not be opened\.$/m)
      assert.match(
        stdout,
        /^ {2}retry {4}get_drug_facts .* after attempt 5: The service could not be reached: it refused the connection\. Again in/m
      )
      assert.match(stdout, /^ {11}note: from cache, 3h old; the live service is unavailable$/m)
      assert.match(stdout, /^ {2}failed {3}get_patient \{"patientId":"P-1001"\} {2}3 attempts {2}\d+ ms$/m)
    }))

  it.live("shows the tried sources when all have failed", () =>
    Effect.gen(function*() {
      const { code, stdout } = yield* clinical("--database", "locked", "--api", "garbage", "--cache", "empty")
      assert.strictEqual(code, 0)
      assert.match(
        stdout,
        /^ {11}ToolUnavailable, database_locked: The internal database is locked by somebody else\.$/m
      )
      assert.match(stdout, /^ {11}ToolUnavailable, invalid_json: .*got "<html>/m)
      assert.match(
        stdout,
        /^ {11}tried: internal database \(database_locked, 3 attempts\), then external API \(invalid_json\), then cache \(no value\)$/m
      )
    }))

  it.live("runs the same way with the same seed, and differently with another", () =>
    Effect.gen(function*() {
      const flaky = (seed: string) => clinical("What is the dose of aspirin?", "--api", "flaky", "--seed", seed)
      const [first, again, other] = yield* Effect.all([flaky("5"), flaky("5"), flaky("7")], { concurrency: 3 })
      assert.strictEqual(withoutTimings(again.stdout), withoutTimings(first.stdout))
      assert.notStrictEqual(withoutTimings(other.stdout), withoutTimings(first.stdout))
      assert.strictEqual(
        first.stdout.match(/The service answered 503: "Back in a moment\." Again in \d+ ms\.$/gm)?.length,
        2
      )
      assert.strictEqual(other.stdout.match(/The connection to the service failed/g)?.length, 1)
    }))

  it.live("prints one JSON object per line with --json, and only the answer with --quiet", () =>
    Effect.gen(function*() {
      const [json, quiet] = yield* Effect.all([
        clinical("--json", "--api", "forbidden"),
        clinical("--quiet", "--api", "down", "What is the dose of aspirin?")
      ], { concurrency: 2 })
      const events = json.stdout.trimEnd().split("\n").map((line): { readonly _tag: string } => JSON.parse(line))
      assert.deepInclude(events[0], { _tag: "RunStarted" })
      assert.deepInclude(events.at(-1), { _tag: "RunEnded" })
      assert.isTrue(events.some((event) => JSON.stringify(event).includes("\"code\":\"permission_denied\"")))
      assert.strictEqual(
        quiet.stdout,
        "aspirin: NSAID, usual dose 300 to 900 mg every 4 to 6 hours (from cache, 3h old; the live service is unavailable).\n"
      )
      assert.match(quiet.stderr, /stand-in/)
    }))

  it.live("refuses unknown arguments with one clear line and exit code 1", () =>
    Effect.gen(function*() {
      const refused = [
        [["--api", "broken"], /flag --api: "broken"\. Expected: "up" \| "down" \| "slow" \| "flaky" \| "limited"/],
        [["--database", "gone"], /flag --database: "gone"\. Expected: "up" \| "locked" \| "down"/],
        [["--cache", "old"], /flag --cache: "old"\. Expected: "full" \| "stale" \| "empty"/],
        [["--bogus"], /Unrecognized flag: --bogus/],
        [[" "], /a question, such as "Do warfarin and aspirin interact\?"/]
      ] as const
      yield* Effect.forEach(refused, ([args, says]) =>
        Effect.map(clinical(...args), ({ code, stderr, stdout }) => {
          assert.deepStrictEqual([code, stdout, stderr.trim().split("\n").length], [1, "", 1])
          assert.match(stderr, says)
        }), { concurrency: 5 })
    }))

  it.live("asks a model server if one is set, and shows the same", () =>
    Effect.gen(function*() {
      const server = yield* FakeModelServer.make(({ messages }) => Planner.reply(messages))
      const env = { OLLAMA_HOST: server.url }
      const { code, stderr, stdout } = yield* InProcess.runIn(env, program, "--quiet", "Can P-1002 take amoxicillin?")
      assert.deepStrictEqual([code, stderr], [0, "llama3.2 plays, in Ollama.\n"])
      assert.strictEqual(stdout.trimEnd(), yield* ask("Can P-1002 take amoxicillin?"))
    }).pipe(Effect.scoped))

  it.live("prints the same as a process as in this process", () =>
    Effect.gen(function*() {
      const args = ["--api", "forbidden", "What is the dose of aspirin?"]
      const ran = yield* InProcess.sameAsProcess(program, {}, "examples/run.ts clinical", ...args)
      assert.deepInclude(ran, { code: 0, stderr: "" })
    }))

  it.live("ends with exit code 1 as a process too", () =>
    Effect.gen(function*() {
      const refused = yield* InProcess.sameAsProcess(program, {}, "examples/run.ts clinical", "--api", "broken")
      assert.strictEqual(refused.code, 1)
    }))

  it.live("runs by a word of its folder's name, and explains itself with --help", () =>
    Effect.gen(function*() {
      const [help, none, unknown] = yield* Effect.all([
        clinical("--help"),
        runNode("examples/run.ts"),
        runNode("examples/run.ts", "surgical")
      ], { concurrency: 3 })
      assert.strictEqual(help.code, 0)
      for (const flag of ["database", "api", "cache", "seed", "json", "quiet", "model"]) {
        assert.include(help.stdout, `--${flag}`)
      }
      for (const { code, stderr } of [none, unknown]) {
        assert.strictEqual(code, 1)
        assert.match(stderr, /^Which example\? .*: 00-tour, 01-multi-tool-agent, 02-clinical-assistant.*\n$/)
      }
    }))
})
