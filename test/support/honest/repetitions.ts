/** Work that looks like a loop, and what comes later. */
import { Schema } from "effect"
import { act, read, text } from "./plainTool.ts"
import { call, dataOf, heard, type HonestScenario, say, until, type World } from "./scenario.ts"

/** Makes a tool that counts how often it has run, and records it. */
const counted = (name: string, description: string, result: (time: number) => unknown) => ({ ran }: World) =>
  read(name, description, async () => {
    ran.push(name)
    const value = result(ran.filter((one) => one === name).length)
    if (value instanceof Error || value instanceof Response) throw value
    return value
  })

const polls = (name: string, looks: number, pending: unknown, over: unknown, pattern: RegExp): HonestScenario => ({
  kind: "repetition",
  name: `${name}: ${looks} looks`,
  tools: (world) => [counted("job_status", "How a job stands", (time) => time < looks ? pending : over)(world)],
  model: until(pattern, "job_status"),
  replies: looks + 1,
  says: pattern
})

const alternating = (first: string, second: string, end: RegExp): HonestScenario["model"] => (request, index) =>
  end.test(heard(request)) ? say(heard(request)) : call(index % 2 === 0 ? first : second)

const coin = ["heads", "heads", "heads", "heads", "heads", "tails"]

export const repetitions: ReadonlyArray<HonestScenario> = [
  polls("a build", 6, { status: "running" }, { status: "succeeded" }, /succeeded/),
  polls("a report", 9, { ready: false }, { ready: true, url: "r-1" }, /"ready":true/),
  polls("a deployment with two of three replicas", 7, { replicas: 2 }, { replicas: 3 }, /"replicas":3/),
  {
    kind: "repetition",
    name: "waiting and looking in turn, six rounds",
    tools: (world) => [
      read("wait", "Waits for some seconds", async () => {
        await world.hold(5000)
        return "waited"
      }),
      counted("get_order", "An order", (time) => ({ order: "o-7", state: time < 6 ? "being packed" : "shipped" }))(
        world
      )
    ],
    model: alternating("wait", "get_order", /shipped/),
    replies: 13,
    says: /shipped/
  },
  {
    kind: "repetition",
    name: "throwing a coin until it shows tails",
    tools: (world) => [counted("flip_coin", "Flips a coin", (time) => ({ side: coin[time - 1] }))(world)],
    model: until(/tails/, "flip_coin"),
    replies: 7,
    says: /tails/
  },
  {
    kind: "repetition",
    name: "editing and testing in turn, with the same failure each time",
    tools: (world) => [
      act("edit_file", "Edits a file", async ({ text }) => {
        world.done.push(`edit ${text}`)
        return "saved"
      }, { fields: text("text") }),
      counted("run_tests", "Runs the tests", (time) => time < 5 ? { failing: ["a.test"] } : { failing: [] })(world)
    ],
    model: (request, index) =>
      /"failing":\[\]/.test(heard(request))
        ? say("All tests pass.")
        : index % 2 === 0
        ? call("edit_file", { text: `try ${index / 2 + 1}` })
        : call("run_tests"),
    replies: 11,
    says: /All tests pass/,
    done: [1, 2, 3, 4, 5].map((n) => `edit try ${n}`)
  },
  {
    kind: "repetition",
    name: "the same search before and after a write",
    tools: (world) => [
      read("search_notes", "Searches the notes", async () => world.done.length === 0 ? ["old"] : ["old", "new"], {
        fields: text("query")
      }),
      act("add_note", "Adds a note", async ({ text }) => {
        world.done.push(text ?? "")
        return "added"
      }, { fields: text("text") })
    ],
    model: (request, index) =>
      index === 3
        ? say(heard(request))
        : index === 1
        ? call("add_note", { text: "new" })
        : call("search_notes", { query: "a" }),
    replies: 4,
    says: /old.*new/,
    done: ["new"]
  },
  {
    kind: "repetition",
    name: "the same file read again between other steps",
    tools: () => [
      read("read_file", "Reads a file", async ({ path }) => `The text of ${path}.`, { fields: text("path") })
    ],
    model: (request, index) =>
      index === 10
        ? say(heard(request))
        : call("read_file", { path: index % 3 === 0 ? "plan.md" : `part-${index}.md` }),
    replies: 11,
    says: /plan\.md/
  },
  {
    kind: "repetition",
    name: "five readings of a sensor that stays the same",
    tools: (
      world
    ) => [
      counted("read_sensor", "The temperature of the oven, as its sensor shows it now", () => ({ celsius: 180 }))(world)
    ],
    model: (request, index) =>
      index < 5 ? call("read_sensor") : say(`Steady: ${JSON.stringify(dataOf(heard(request)))}`),
    replies: 6,
    says: /Steady: .*180/
  },
  {
    kind: "repetition",
    name: "a mail that arrives at the seventh look",
    tools: (world) => [
      counted(
        "list_inbox",
        "The mails in the inbox",
        (time) => time < 7 ? [{ from: "bob" }] : [{ from: "bob" }, { from: "ada" }]
      )(world)
    ],
    model: until(/ada/, "list_inbox"),
    replies: 8,
    says: /ada/
  }
]

// -----------------------------------------------------------------------------
// Later
// -----------------------------------------------------------------------------

/** Repeats a call whose text says that it may be repeated, or that something is not there yet. */
const patient = (name: string, args: object = {}): HonestScenario["model"] => (request, index) =>
  index === 0 || JSON.stringify(dataOf(heard(request))) === "[]" ||
    /try again|retry|not ready|not found|you may call it again|404|\[object/i.test(heard(request))
    ? call(name, args)
    : say(JSON.stringify(dataOf(heard(request))))

const asks = (sentence: string, times: number): HonestScenario => ({
  kind: "later",
  name: `"${sentence}", ${times} times`,
  tools: (world) => [
    counted("get_report", "A report", (time) => time <= times ? new Error(sentence) : { total: 12 })(world)
  ],
  model: patient("get_report"),
  replies: times + 2,
  says: /12/
})

const created = (name: string, absent: () => unknown): HonestScenario => ({
  kind: "later",
  name: `what was just created is not there yet: ${name}`,
  tools: (world) => [
    act("create_ticket", "Creates a ticket", async () => {
      world.done.push("ticket")
      return { id: "T-77" }
    }),
    read("get_ticket", "A ticket", async () => {
      world.ran.push("get_ticket")
      const found = world.ran.length < 3 ? absent() : { id: "T-77", state: "open" }
      if (found instanceof Error || found instanceof Response) throw found
      return found
    }, { fields: text("id") })
  ],
  model: (request, index) =>
    index === 0 ? call("create_ticket") : patient("get_ticket", { id: "T-77" })(request, index - 1),
  replies: 5,
  says: /"state":"open"/,
  done: ["ticket"]
})

export const later: ReadonlyArray<HonestScenario> = [
  asks("The lock is held. Try again in a moment.", 1),
  asks("Still indexing, please retry shortly.", 2),
  asks("The report is not ready yet.", 3),
  asks("The table is locked by another process. Try again later.", 5),
  created("a 404", () => new Response("{}", { status: 404 })),
  created("a sentence", () => new Error("Ticket T-77 not found.")),
  {
    kind: "later",
    name: "an index that lags behind a write",
    tools: (world) => [
      act("add_note", "Adds a note", async () => {
        world.done.push("note")
        return "added"
      }),
      counted("search_notes", "Searches the notes", (time) => time < 3 ? [] : ["new"])(world)
    ],
    model: (request, index) => index === 0 ? call("add_note") : patient("search_notes")(request, index - 1),
    replies: 5,
    says: /new/,
    done: ["note"]
  },
  {
    kind: "later",
    name: "a resource that is locked: 423",
    tools: (world) => [
      counted("get_page", "A page", (time) => time < 2 ? new Response("{}", { status: 423 }) : { page: "free" })(world)
    ],
    model: patient("get_page"),
    replies: 3,
    says: /free/
  }
]

// -----------------------------------------------------------------------------
// Silent failures, and what only looks like one
// -----------------------------------------------------------------------------

const silent = (name: string, result: unknown): HonestScenario => ({
  kind: "silent failures",
  name: `a failure with the status 200: ${name}`,
  tools: () => [read("get_rate", "A rate", async () => result)],
  model: (request, index) =>
    index === 0
      ? call("get_rate")
      : say(/has failed|"ok":false,"error":"(Semantic|Tool)/.test(heard(request)) ? "It failed." : "The rate is fine."),
  replies: 2,
  says: /^It failed/,
  plainIsWrong: true
})

const looksSilent = (
  name: string,
  success: Schema.ConstraintCodec<unknown, unknown>,
  result: unknown,
  says: RegExp
): HonestScenario => ({
  kind: "silent failures",
  name: `no failure: ${name}`,
  tools: () => [read("look", "Looks", async () => result, { success })],
  model: (request, index) =>
    index === 0 ? call("look") : say(/has failed|may be more/.test(heard(request)) ? "It failed." : heard(request)),
  replies: 2,
  says
})

const Id = Schema.Struct({ customer_id: Schema.String })

export const silentFailures: ReadonlyArray<HonestScenario> = [
  silent("ok is false", { ok: false, reason: "service_unavailable" }),
  silent("an error", { error: "service_unavailable" }),
  silent("a status", { status: "failed", reason: "no rates today" }),
  {
    kind: "silent failures",
    name: "nothing is found, because a name was given for an id",
    tools: () => [
      read("get_orders", "The orders of a customer", async ({ customer_id }) => customer_id === "c-7" ? ["o-1"] : [], {
        fields: text("customer_id"),
        success: Schema.Array(Schema.String)
      }),
      read("find_customer", "Finds a customer by name", async () => ({ customer_id: "c-7" }), {
        fields: text("name"),
        success: Id
      })
    ],
    model: (request, index) => {
      if (index === 0) return call("get_orders", { customer_id: "Ada" })
      const finder = /(find_customer) returns it/.exec(heard(request))?.[1]
      if (finder !== undefined) return call(finder, { name: "Ada" })
      if (/c-7/.test(heard(request))) return call("get_orders", { customer_id: "c-7" })
      return say(/o-1/.test(heard(request)) ? "She has o-1." : "She has no orders.")
    },
    replies: 4,
    says: /o-1/,
    plainIsWrong: true
  },
  {
    kind: "silent failures",
    name: "a full page that says nothing of a next one",
    tools: () => [
      read(
        "list_users",
        "The users",
        async ({ page = "1" }) => Array.from({ length: Number(page) === 1 ? 20 : 3 }, (_, n) => `user ${page}-${n}`),
        {
          fields: {
            limit: Schema.optionalKey(Schema.Int),
            page: Schema.optionalKey(Schema.Int)
          },
          success: Schema.Array(Schema.String)
        }
      )
    ],
    model: (request, index) => {
      if (index === 0) return call("list_users", { limit: 20 })
      const next = /page=(\d)/.exec(heard(request))?.[1]
      if (index === 1 && next !== undefined) return call("list_users", { limit: 20, page: Number(next) })
      const names = request.messages.flatMap((message) =>
        message.role === "tool" ? message.text.match(/user \d-\d+/g) ?? [] : []
      )
      return say(`${names.length} users`)
    },
    replies: 3,
    says: /^23 users/,
    plainIsWrong: true
  },
  looksSilent("an empty inbox", Schema.Array(Schema.String), [], /^\[\]$/),
  looksSilent("no error", Schema.Unknown, { error: null, rate: 7 }, /7/),
  looksSilent(
    "the status of a build",
    Schema.Struct({ status: Schema.Literals(["passed", "failed"]) }),
    { status: "failed" },
    /^\{"status":"failed"\}$/
  ),
  looksSilent(
    "what a check of a form found",
    Schema.Struct({ ok: Schema.Boolean, errors: Schema.Array(Schema.String) }),
    { ok: false, errors: ["zip"] },
    /zip/
  )
]

// -----------------------------------------------------------------------------
// Replies that are no answer, and what only looks like one
// -----------------------------------------------------------------------------

const weather = read("get_weather", "The weather", async () => ({ celsius: 18 }), { fields: text("city") })

/** First writes a text; if it is asked again, calls the tool and answers. */
const noAnswer = (name: string, first: string): HonestScenario => ({
  kind: "replies",
  name,
  tools: () => [weather],
  model: (request, index) => {
    if (index === 0) return say(first)
    return heard(request) === "" ? call("get_weather", { city: "Paris" }) : say(heard(request))
  },
  replies: 3,
  says: /18/,
  plainIsWrong: true
})

const anAnswer = (name: string, answer: string): HonestScenario => ({
  kind: "replies",
  name: `an answer: ${name}`,
  tools: () => [weather],
  model: () => say(answer),
  replies: 1,
  says: /be here|Ada|To call the tool/
})

const written = "{\"name\":\"get_weather\",\"arguments\":{\"city\":\"Paris\"}}"

export const replies: ReadonlyArray<HonestScenario> = [
  noAnswer("a call in tags", `<tool_call>\n${written}\n</tool_call>`),
  noAnswer("a call in a fence", `\`\`\`json\n${written}\n\`\`\``),
  noAnswer("a call of Llama", "<function=get_weather>{\"city\": \"Paris\"}</function>"),
  noAnswer("a plan", "I'll look up the weather now."),
  noAnswer("nothing", ""),
  anAnswer("an offer", "I'll be here if you need me."),
  anAnswer("data with a name", "```json\n{\"name\": \"Ada\", \"age\": 36}\n```"),
  anAnswer("an explanation", `To call the tool yourself, send for example ${written} to the server.`)
]
