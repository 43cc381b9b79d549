/**
 * The tour: eight faults over real HTTP, through an agent and through a plain loop.
 *
 * @module-tag slow
 */
import { assert, describe, it } from "@effect/vitest"
import { faults } from "@fallible/examples/00-tour/faults/all"
import * as Page from "@fallible/examples/00-tour/Page"
import * as Played from "@fallible/examples/00-tour/Played"
import { program } from "@fallible/examples/00-tour/program"
import { Effect } from "effect"
import { readFileSync } from "node:fs"
import { join } from "node:path"
import * as InProcess from "../support/inProcess.ts"
import { root, runNodeIn, runNodeUnread, withoutTimings } from "../support/program.ts"
import { passingBy } from "../support/virtualTime.ts"

const main = "examples/00-tour/main.ts"

interface Line {
  readonly fault: number
  readonly title: string
  readonly runs: ReadonlyArray<Played.Played & { readonly loop: string }>
}

/** Runs the tour under virtual time, so that no request is given up because the machine is slow. */
const run = (...args: ReadonlyArray<string>) =>
  Effect.flatMap(Effect.forkChild(InProcess.run(program, ...args)), (fiber) => passingBy("100 millis", fiber))

const playedAsJson = (...args: ReadonlyArray<string>) =>
  Effect.map(run("--json", ...args), ({ code, stderr, stdout }) => {
    assert.deepStrictEqual([code, stderr], [0, ""])
    return stdout.trimEnd().split("\n").map((line): Line => JSON.parse(line))
  })

const ended = ({ answer, endedWell, payments, replies, requests, why }: Played.Played) =>
  [
    `${endedWell ? "well" : "badly"}: ${answer ?? why}`,
    `${replies} replies`,
    `${requests} requests`,
    ...(payments.length === 0 ? [] : [`paid ${payments.join(" + ")}`])
  ].join(", ")

const plain = "A plain loop"

describe("the tour", () => {
  it.effect("plays each fault to its end, in both loops", () =>
    Effect.gen(function*() {
      const lines = yield* playedAsJson()
      const ends = lines.map(({ fault, runs }) => [
        fault,
        Object.fromEntries(runs.map((run) => [run.loop, ended(run)]))
      ])
      assert.deepStrictEqual(ends, [
        [1, {
          Fallible: "well: Order 7 is paid., 3 replies, 2 requests, paid 30",
          [plain]: "badly: Order 7 is paid., 3 replies, 2 requests, paid 30 + 30"
        }],
        [2, {
          Fallible: "well: It was 1.08, 3h ago., 2 replies, 3 requests",
          [plain]: "badly: I could not find out., 4 replies, 3 requests"
        }],
        [3, {
          Fallible: "well: 550 euros., 2 replies, 3 requests",
          [plain]: "badly: 145 euros., 2 replies, 1 requests"
        }],
        [4, {
          Fallible: "well: Ada has her 1500., 3 replies, 1 requests, paid 1500",
          [plain]: "well: Ada has her 1500., 3 replies, 1 requests, paid 1500",
          [`${plain} with a parser that closes brackets`]: "badly: Ada has her 1500., 2 replies, 1 requests, paid 1"
        }],
        [5, {
          Fallible: "well: 2161000 people., 2 replies, 1 requests",
          [plain]: "well: 2161000 people., 3 replies, 1 requests"
        }],
        [6, {
          Fallible: "well: 18 °C., 2 replies, 3 requests",
          [plain]: "well: 18 °C., 4 replies, 3 requests"
        }],
        [7, {
          Fallible: "well: The documents do not say., 4 replies, 3 requests",
          [plain]: "badly: No answer after 10 replies., 10 replies, 10 requests"
        }],
        [8, {
          Fallible: "well: It is 18 °C. I could not get the news., 2 replies, 2 requests",
          [plain]: "badly: The loop hung. The tour stopped it after 2s., 1 replies, 2 requests"
        }]
      ])
      assert.deepStrictEqual(
        lines.map(({ runs }) => runs[0]?.steps.flatMap(({ below }) => below.map(withoutTimings))),
        [
          ["did not retry the call: it may have acted"],
          [
            "retried after … ms (server_error)",
            "retried after … ms (server_error)",
            "answered from the cache, 3h old"
          ],
          ["fetched a further page", "fetched a further page"],
          ["did not run the call (invalid_json)"],
          ["repaired the arguments: unquoted key, single quotes, trailing comma"],
          ["retried after … ms (connection)", "retried after … ms (connection)"],
          ["noticed a loop, and warned the model"],
          ["stopped waiting (timeout)"]
        ]
      )
      for (const run of lines.flatMap(({ runs }) => runs.slice(1))) {
        assert.isTrue(run.steps.every(({ below }) => below.length === 0), "nothing stands below a plain loop")
      }
    }))

  it.effect("shows the faults in order, and then the totals: in a pipe, with whole lines and without colour", () =>
    Effect.gen(function*() {
      const { code, stderr, stdout } = yield* run()
      assert.deepStrictEqual([code, stderr], [0, ""])
      const lines = stdout.split("\n")
      assert.deepStrictEqual(
        lines.filter((line) => /^\d of 8/.test(line)),
        faults.map(({ title }, index) => `${index + 1} of 8  ${title}`)
      )
      for (const { setUp } of faults) assert.include(lines, setUp)
      assert.notInclude(stdout, "\u001b")
      // The README shows the totals.
      const [totals = "no totals"] = /^In all[^`]*/m.exec(readFileSync(join(root, "README.md"), "utf8")) ?? []
      assert.include(stdout, totals.trimEnd().replace(/^/gm, "  "))
    }))

  it.live("begins with a payment whose answer is lost: what the model read, what the library did, what it cost", () =>
    Effect.gen(function*() {
      const { stdout } = yield* InProcess.sameAsProcess(program, { FORCE_COLOR: "" }, main, "1")
      assert.include(
        stdout,
        `
1 of 8  A payment is made, and its answer is lost
The service pays, and then drops the connection.

  Fallible
    calls    pay {"order":7}
    library  did not retry the call: it may have acted
    reads    pay failed (outcome_unknown): The connection to the service failed before its answer was complete. \
Call payment_status to find out. Do not repeat this call: it may already have taken effect. Find out whether it has, \
or tell the user.
    calls    payment_status {"order":7}
    reads    {"paid":true}
    answers  Order 7 is paid.
    ends     well: 3 replies, 2 requests, paid 30

  A plain loop
    calls    pay {"order":7}
    reads    TypeError: fetch failed
    calls    pay {"order":7}
    reads    {"paid":true}
    answers  Order 7 is paid.
    ends     badly: 3 replies, 2 requests, paid 30 + 30 instead of 30
`
      )
    }))

  it.live("fits into a terminal of any width, with or without colour, and loses no word", () =>
    Effect.gen(function*() {
      const played = yield* Effect.forEach(faults.slice(0, 6), (fault) =>
        Effect.map(Effect.all([Played.fallible(fault), Played.plain(fault)]), (runs) => ({ fault, runs })))
      const totals = ["Fallible", plain].map((name) => ({ name, well: 6, replies: 30, paid: 1560 }))
      const shown = (columns: number | undefined, hasColor = false) =>
        [
          Page.opening({ columns, hasColor }, 8),
          ...played.flatMap(({ fault, runs }) => [
            Page.title({ columns, hasColor }, fault, "1 of 8"),
            ...runs.map((run) =>
              Page.played({ columns, hasColor }, fault, run)
            )
          ]),
          Page.closing({ columns, hasColor }, faults, totals)
        ].join("\n")
      const letters = (text: string) => text.replace(/\s+/g, "")
      const whole = shown(undefined)
      for (const columns of [30, 31, 40, 46, 47, 49, 50, 60, 80, 120]) {
        const bare = shown(columns)
        assert.isAtMost(Math.max(...bare.split("\n").map(({ length }) => length)), columns)
        // The totals are set below each other where they do not fit side by side: that is another text.
        const upTo = (text: string) => letters(text.slice(0, text.indexOf("In all")))
        assert.strictEqual(upTo(bare), upTo(whole))
        const coloured = shown(columns, true)
        assert.notStrictEqual(coloured, bare)
        assert.strictEqual(coloured.replace(/\u001b\[\d+m/g, ""), bare)
      }
      assert.include(shown(40), "In all, paid\n  Fallible      1560 of 1530\n  A plain loop  1560 of 1530\n")
      assert.include(shown(40), "  npx -y pnpm@12 tour 3\n    plays one fault\n")
    }))
})

describe("the command line of the tour", () => {
  it.effect("plays one fault, chosen by its number or by --only", () =>
    Effect.gen(function*() {
      for (const args of [["3"], ["--only", "3"]]) {
        const lines = yield* playedAsJson(...args)
        assert.deepStrictEqual(lines.map(({ fault, title }) => [fault, title]), [[3, faults[2]?.title]])
      }
    }))

  for (
    const [args, says] of [
      [["9"], /from 1 to 8/],
      [["0"], /from 1 to 8/],
      [["--only", "1.5"], /integer/],
      [["3", "--only", "3"], /Choose a fault once/],
      [["--fault", "3"], /Unrecognized flag/]
    ] as const
  ) {
    it.live(`refuses ${args.join(" ")} in one line, with code 1`, () =>
      Effect.gen(function*() {
        const { code, stderr, stdout } = yield* InProcess.run(program, ...args)
        assert.deepStrictEqual([code, stdout, stderr.trimEnd().split("\n").length], [1, "", 1])
        assert.match(stderr, says)
      }))
  }

  it.live("is an example, found by a word of its folder, and has colours if they are wanted", () =>
    Effect.gen(function*() {
      const env = { FORCE_COLOR: "1", NO_COLOR: "" }
      const { code, stdout } = yield* runNodeIn(env, "examples/run.ts", "tour", "3")
      assert.strictEqual(code, 0)
      assert.include(stdout, "\u001b[1m3 of 8")
    }))

  it.live("ends with code 0 and without a message if its reader leaves", () =>
    Effect.gen(function*() {
      const finished = yield* runNodeUnread("stdout", {}, main, "3")
      assert.deepStrictEqual(finished, { code: 0, stdout: "", stderr: "" })
    }))

  it.live("shows a loop before it plays, and can be interrupted while the loop hangs", () =>
    Effect.gen(function*() {
      const stdout = yield* InProcess.printedUpTo("A plain loop\n", {}, program, "8")
      assert.match(stdout, /I could not get the news[^]*A plain loop\n$/)
    }))
})
