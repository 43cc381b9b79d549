/** Honest repetition that looks like a loop. */
import { ScriptedModel } from "@fallible/testing"
import { Schema } from "effect"
import { answer, call, find, giveUp, isFailure, resultsOf, steps, until } from "./reading.ts"
import { acts, type HonestKind, plainTool, reads, texts } from "./scenario.ts"

const Job = Schema.Struct({ job: Schema.String, state: Schema.String })

export const repetitions: HonestKind = {
  kind: "honest repetition",
  scenarios: [
    {
      name: "a job that runs for seven looks without a change",
      question: "Has the import finished? Wait for it, and tell me how many rows it has.",
      tools: (world) => [
        plainTool(
          world,
          "get_job",
          reads("The state of a job", Job, texts("job")),
          ({ job }, times) => times < 8 ? { job, state: "running" } : { job, state: "done: 4,120 rows" }
        )
      ],
      model: until("get_job", { job: "import-3" }, (results) => find(results.at(-1)!, /[\d,]+ rows/)),
      replies: 9,
      says: /4,120 rows/
    },
    {
      name: "waiting and looking in turn, six times",
      question: "Tell me when the virtual machine is up.",
      tools: (world) => {
        let waited = 0
        return [
          plainTool(
            world,
            "wait",
            reads("Waits some seconds", Schema.String, Schema.Struct({ seconds: Schema.Int })),
            async ({ seconds }) => {
              await world.hold(seconds * 1000)
              waited += seconds
              return "done"
            }
          ),
          plainTool(
            world,
            "machine_state",
            reads("The state of the machine", Schema.Struct({ state: Schema.String })),
            // It boots for half a minute.
            () => ({ state: waited < 30 ? "booting" : "up at 10.0.0.7" })
          )
        ]
      },
      model: (request) => {
        const looks = resultsOf(request, "machine_state")
        const last = looks.at(-1) ?? ""
        const failure = resultsOf(request).findLast((text) => isFailure(text))
        if (failure !== undefined) return giveUp(failure)
        const up = find(last, /up at [\d.]+/)
        if (up !== undefined) return ScriptedModel.text(`It is ${up}.`)
        return looks.length > resultsOf(request, "wait").length
          ? ScriptedModel.call("wait", { seconds: 5 })
          : ScriptedModel.call("machine_state", {})
      },
      replies: 14,
      says: /up at 10\.0\.0\.7/
    },
    {
      name: "a coin that shows heads five times",
      question: "Throw the coin until it shows tails. How many throws does it take?",
      tools: (world) => [
        plainTool(
          world,
          "throw_coin",
          reads("Throws a coin", Schema.Struct({ side: Schema.Literals(["heads", "tails"]) })),
          (_, times) => ({ side: times < 6 ? "heads" : "tails" })
        )
      ],
      model: until(
        "throw_coin",
        {},
        (results) => /tails/.test(results.at(-1)!) ? `It took ${results.length} throws.` : undefined
      ),
      replies: 7,
      says: /took 6 throws/
    },
    {
      name: "a die that shows four again and again",
      question: "Roll the die six times, and add up what it shows.",
      tools: (world) => [
        plainTool(world, "roll", reads("Rolls a die", Schema.Int), (_, times) => [4, 4, 4, 4, 4, 1][times - 1] ?? 1)
      ],
      model: until("roll", {}, (results) =>
        results.length === 6
          ? `The sum is ${results.reduce((sum, text) => sum + Number(find(text, /\d/) ?? NaN), 0)}.`
          : undefined),
      replies: 7,
      says: /sum is 21\./
    },
    {
      name: "edits whose tests fail in the same way four times",
      question: "Fix the parser until its tests pass.",
      tools: (world) => [
        plainTool(
          world,
          "edit_file",
          acts("Replaces a line of a file", Schema.String, texts("line", "text")),
          ({ line }) => {
            world.done.push(`line ${line}`)
            return "Saved."
          }
        ),
        plainTool(
          world,
          "run_tests",
          reads("Runs the tests", Schema.String),
          () => world.done.length < 5 ? "2 failed, 40 passed: parser.test" : "42 passed"
        )
      ],
      model: (request) => {
        const [edits, runs] = [resultsOf(request, "edit_file"), resultsOf(request, "run_tests")]
        const failure = resultsOf(request).findLast((text) => isFailure(text))
        if (failure !== undefined) return giveUp(failure)
        if (/42 passed/.test(runs.at(-1) ?? "")) return ScriptedModel.text("All 42 tests pass.")
        return runs.length < edits.length
          ? ScriptedModel.call("run_tests", {})
          : ScriptedModel.call("edit_file", { line: String(edits.length + 1), text: "return rest" })
      },
      replies: 11,
      says: /All 42 tests pass/,
      done: ["line 1", "line 2", "line 3", "line 4", "line 5"]
    },
    {
      name: "the same search before and after a write",
      question: "Put milk on the shopping list if it is not there, and check that it is there.",
      tools: (world) => [
        plainTool(
          world,
          "search_list",
          reads("Searches the shopping list", Schema.Array(Schema.String), texts("word")),
          ({ word }) => world.done.filter((item) => item === word)
        ),
        plainTool(world, "add_item", acts("Adds an item", Schema.String, texts("item")), ({ item }) => {
          world.done.push(item)
          return "Added."
        })
      ],
      model: steps(
        call("search_list", { word: "milk" }),
        ([found = ""]) =>
          /milk/.test(found) ? ScriptedModel.text("It is there.") : ScriptedModel.call("add_item", { item: "milk" }),
        call("search_list", { word: "milk" }),
        answer((text) => /milk/.test(text) ? "It is on the list now." : "It is not on the list.")
      ),
      replies: 4,
      says: /on the list now/,
      done: ["milk"]
    },
    {
      name: "a balance that stays the same after each of four transfers",
      question: "Make the four transfers one by one, and read the balance after each.",
      tools: (world) => [
        plainTool(world, "transfer", acts("Transfers money", Schema.String, texts("to")), ({ to }) => {
          world.done.push(`to ${to}`)
          return "Accepted: it is booked tonight."
        }),
        plainTool(world, "get_balance", reads("The balance", Schema.Struct({ balance: Schema.Finite })), () => ({
          balance: 812.4
        }))
      ],
      model: steps(
        ...["Ada", "Grace", "Alan", "Edsger"].flatMap((to) => [call("transfer", { to }), call("get_balance")]),
        answer((text) => `All four are accepted. The balance is still ${find(text, /812\.4/) ?? "unknown"}.`)
      ),
      replies: 9,
      says: /still 812\.4/,
      done: ["to Ada", "to Grace", "to Alan", "to Edsger"]
    },
    {
      name: "a file that is read again after other steps, and again at the end",
      question: "Compare the guide with the four sources, one by one. Which of them contradicts it?",
      tools: (world) => [
        plainTool(
          world,
          "read_file",
          reads("Reads a file", Schema.String, texts("path")),
          ({ path }) =>
            path === "guide.md" ? "The timeout is 30 s." : path === "c.ts" ? "timeout = 20" : "// no timeout here"
        )
      ],
      model: steps(
        ...["a.ts", "b.ts", "c.ts", "d.ts"].flatMap((path) => [
          call("read_file", { path: "guide.md" }),
          call("read_file", { path })
        ]),
        (results) => {
          const at = results.findIndex((text) => /timeout = (?!30)/.test(text))
          return ScriptedModel.text(at === -1 ? "None." : `Number ${(at + 1) / 2} contradicts it.`)
        }
      ),
      replies: 9,
      says: /Number 3 contradicts/
    },
    {
      name: "a sensor that measures the same six times",
      question: "Measure the temperature six times. Is it stable?",
      tools: (world) => [
        plainTool(world, "read_sensor", reads("Measures now", Schema.Struct({ celsius: Schema.Finite })), () => ({
          celsius: 21.5
        }))
      ],
      model: until("read_sensor", {}, (results) =>
        results.length === 6
          ? `${results.filter((text) => /"celsius":21\.5/.test(text)).length} of 6 are equal.`
          : undefined),
      replies: 7,
      says: /^6 of 6/
    },
    {
      name: "skipping four tracks, each with the same reply",
      question: "Skip four songs.",
      tools: (world) => [
        plainTool(
          world,
          "skip",
          acts("Skips the current song", Schema.Struct({ playing: Schema.Boolean }), Schema.Struct({})),
          (_, times) => {
            world.done.push(`skipped ${times}`)
            return { playing: true }
          }
        )
      ],
      model: steps(call("skip"), call("skip"), call("skip"), call("skip"), answer(() => "Four songs are skipped.")),
      replies: 5,
      says: /Four songs are skipped/,
      done: ["skipped 1", "skipped 2", "skipped 3", "skipped 4"]
    },
    {
      name: "a reader of lines, of which five are empty",
      question: "Read the scanned letter line by line, until you see the amount.",
      tools: (world) => [
        plainTool(
          world,
          "next_line",
          reads("The next line", Schema.Struct({ line: Schema.String })),
          (_, times) => ({ line: times === 1 ? "Invoice 12" : times < 7 ? "" : "Amount: 99.20" })
        )
      ],
      model: until("next_line", {}, (results) => find(results.at(-1)!, /Amount: ([\d.]+)/)),
      replies: 8,
      says: /^99\.20$/
    },
    {
      name: "four wordings of a question without a hit, and then one",
      question: "What is the password of the guest network?",
      tools: (world) => [
        plainTool(
          world,
          "search_handbook",
          reads("Searches the handbook", Schema.String, texts("words")),
          ({ words }) =>
            words === "visitors" ? "Visitors use the network 'lobby' with the word 'larch'." : "No matches."
        )
      ],
      model: (request) => {
        const results = resultsOf(request)
        const found = find(results.at(-1) ?? "", /the word '(\w+)'/)
        if (found !== undefined) return ScriptedModel.text(`It is ${found}.`)
        const words = ["guest network", "wifi", "wlan password", "guests", "visitors"][results.length]
        return words === undefined
          ? giveUp(results.at(-1)!)
          : ScriptedModel.call("search_handbook", { words })
      },
      replies: 6,
      says: /larch/
    }
  ]
}
