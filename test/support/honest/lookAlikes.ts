/** Results that look like a silent failure, and are what was asked for. They must be left alone. */
import { ScriptedModel } from "@fallible/testing"
import { Schema } from "effect"
import { answer, call, find, resultsOf, steps } from "./reading.ts"
import { acts, type HonestKind, type Model, plainTool, reads, texts } from "./scenario.ts"
import { counting, orders, page } from "./silentFailures.ts"

/** Whether a text claims that the call itself did not work. The data of a look-alike never does. */
const claimsCallFailed = (text: string): boolean =>
  /\b(call|tool|request|service) (has |may have |might have )?(failed|did not)|could not be (read|run)|do not (repeat|call)|^Error/i
    .test(text)

/** Reads once, and answers with the data, unless the call is told to have failed. */
const trusting = (name: string, args: object, data: (text: string) => string | undefined): Model =>
  steps(
    call(name, args),
    answer((text) => claimsCallFailed(text) ? "I could not find out." : data(text) ?? "I could not find out.")
  )

export const honestLookAlikes: HonestKind = {
  kind: "what looks like a silent failure",
  scenarios: [
    {
      name: "an empty inbox",
      question: "Do I have new mail?",
      tools: (world) => [
        plainTool(
          world,
          "list_messages",
          reads("Lists new mail", Schema.Struct({ messages: Schema.Array(Schema.String) })),
          () => ({ messages: [] })
        )
      ],
      model: trusting(
        "list_messages",
        {},
        (text) => /"messages":\[\]/.test(text) ? "You have no new mail." : undefined
      ),
      replies: 2,
      says: /no new mail/,
      isPlain: true
    },
    {
      name: "a customer without orders, whose id was just looked up",
      question: "Does Ada have orders?",
      tools: (world) => [
        plainTool(
          world,
          "find_customer",
          reads("Finds a customer by name", Schema.Struct({ customer_id: Schema.String }), texts("name")),
          () => ({ customer_id: "c-17" })
        ),
        plainTool(
          world,
          "list_orders",
          reads("A customer's orders", Schema.Array(Schema.String), texts("customer_id")),
          () => []
        )
      ],
      // Told of the lookup once more, it would make it once more.
      model: (request) => {
        const [customers, orders] = [resultsOf(request, "find_customer"), resultsOf(request, "list_orders")]
        const last = orders.at(-1)
        if (customers.length === 0 || last?.includes("find_customer") === true && customers.length < 2) {
          return ScriptedModel.call("find_customer", { name: "Ada" })
        }
        if (last !== undefined) return ScriptedModel.text(/\[\]/.test(last) ? "No, none." : "I could not find out.")
        return ScriptedModel.call("list_orders", { customer_id: find(customers[0]!, /"(c-\d+)"/) ?? "" })
      },
      replies: 3,
      says: /^No, none/,
      isPlain: true
    },
    {
      name: "the status of a build, which has failed",
      question: "Did the last build pass?",
      tools: (world) => [
        plainTool(
          world,
          "get_build",
          reads(
            "The result of a build",
            Schema.Struct({ number: Schema.Int, status: Schema.String, reason: Schema.String }),
            texts("branch")
          ),
          () => ({ number: 871, status: "failed", reason: "2 tests failed" })
        )
      ],
      model: trusting("get_build", { branch: "main" }, (text) => {
        const status = find(text, /"status":"(\w+)"/)
        return status === undefined ? undefined : `Build 871 has the status ${status}.`
      }),
      replies: 2,
      says: /871 has the status failed/,
      isPlain: true
    },
    {
      name: "a validation whose errors are its data",
      question: "Is this configuration valid?",
      tools: (world) => [
        plainTool(
          world,
          "validate",
          reads(
            "Validates a configuration",
            Schema.Struct({ ok: Schema.Boolean, errors: Schema.Array(Schema.String) }),
            texts("text")
          ),
          () => ({ ok: false, errors: ["line 3: unknown key 'prot'", "line 9: missing value"] })
        )
      ],
      model: trusting("validate", { text: "prot: 80" }, (text) => {
        const errors = text.match(/line \d+/g)
        return errors === null ? undefined : `No: there are errors on ${errors.join(" and ")}.`
      }),
      replies: 2,
      says: /line 3 and line 9/,
      isPlain: true
    },
    {
      name: "a full page whose total says that it is all",
      question: "How many open orders are there?",
      tools: (world) => [
        plainTool(
          world,
          "list_orders",
          reads(
            "Lists the open orders",
            Schema.Struct({ orders: Schema.Array(Schema.String), total: Schema.Int }),
            Schema.Struct(page)
          ),
          () => ({ orders: orders(20), total: 20 })
        )
      ],
      model: counting,
      replies: 2,
      says: /^There are 20 /,
      isPlain: true
    },
    {
      name: "an error that is null",
      question: "Publish the post.",
      tools: (world) => [
        plainTool(
          world,
          "publish",
          acts(
            "Publishes a post",
            Schema.Struct({ url: Schema.String, error: Schema.NullOr(Schema.String) }),
            texts("post")
          ),
          ({ post }) => {
            world.done.push(`published ${post}`)
            return { url: "https://blog.example/7", error: null }
          }
        )
      ],
      model: trusting("publish", { post: "7" }, (text) => find(text, /https:[\w./]+/)),
      replies: 2,
      says: /blog\.example\/7/,
      done: ["published 7"],
      isPlain: true
    },
    {
      name: "a log that is full of errors",
      question: "What is the last error in the log?",
      tools: (world) => [
        plainTool(
          world,
          "read_log",
          reads("Reads a log", Schema.Array(Schema.Struct({ level: Schema.String, error: Schema.String }))),
          () => [{ level: "error", error: "timeout of upstream" }, { level: "error", error: "disk is full" }]
        )
      ],
      model: trusting("read_log", {}, (text) => find(text, /disk is full/)),
      replies: 2,
      says: /disk is full/,
      isPlain: true
    },
    {
      name: "a search for which false is the answer",
      question: "Is the name 'fallible' still free?",
      tools: (world) => [
        plainTool(
          world,
          "is_name_free",
          reads("Is a name free?", Schema.Struct({ success: Schema.Boolean, free: Schema.Boolean }), texts("name")),
          () => ({ success: true, free: false })
        )
      ],
      model: trusting(
        "is_name_free",
        { name: "fallible" },
        (text) => /"free":false/.test(text) ? "No, it is taken." : undefined
      ),
      replies: 2,
      says: /^No, it is taken/,
      isPlain: true
    }
  ]
}
