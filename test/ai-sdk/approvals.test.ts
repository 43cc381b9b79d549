/** A provider that asks before it runs a call of its own: the run asks its user, and the provider is told the reply. */
import { assert, describe, it } from "@effect/vitest"
import { Agent, AgentFailure, type Model, Tool, Toolkit } from "@fallible/core"
import * as Question from "@fallible/core/Question"
import { ScriptedModel } from "@fallible/testing"
import * as FakeModelServer from "@fallible/testing/FakeModelServer"
import { Effect, Schema, Stream } from "effect"
import { messages, responses, serving } from "../support/models.ts"
import { asRun } from "../support/streamedRun.ts"

const request = (id: string, name: string) => ({
  type: "mcp_approval_request",
  id,
  name,
  arguments: "{\"path\":\"/tmp\"}",
  server_label: "files"
})

const asking = (...ids: ReadonlyArray<string>): Model.Reply => ({
  text: "",
  calls: [],
  native: { responses: { before: ids.map((id) => request(id, "delete_all")) } }
})

const clock = Tool.make(
  "now",
  { description: "Tells the time", success: Schema.String, sideEffect: "none" },
  () => Effect.succeed("noon")
)
const agent = Agent.make({ toolkit: Toolkit.make(clock) })

const suspended = (run: Effect.Effect<unknown, AgentFailure.AgentFailure, Model.Model>) =>
  Effect.flatMap(Effect.flip(run), (failure) => {
    if (failure._tag !== "RunSuspended") return Effect.die(failure)
    // As if the program had stored it, and ended.
    const stored = JSON.stringify(Schema.encodeSync(AgentFailure.Suspension)(failure.suspension))
    return Effect.map(
      Schema.decodeUnknownEffect(AgentFailure.Suspension)(JSON.parse(stored)),
      (suspension) => ({ question: failure.question, suspension })
    )
  })

const bodies = Effect.flatMap(
  FakeModelServer.FakeModelServer,
  ({ state }) =>
    Effect.map(state, ({ requests }) => requests.map(({ body, problem }) => ({ problem, input: inputOf(body) })))
)

const inputOf = (body: string): ReadonlyArray<Record<string, unknown>> => JSON.parse(body).input

const answers = (input: ReadonlyArray<Record<string, unknown>>) =>
  input.flatMap(({ approval_request_id: id, approve, type }) => type === "mcp_approval_response" ? [[id, approve]] : [])

describe("a provider that asks before it runs a call", () => {
  for (
    const [reply, approved] of [["yes", true], [" Yes. ", true], ["no", false], ["approved", false], [
      "yes, but only /tmp/a",
      false
    ]] as const
  ) {
    it.effect(`is told of the user's ${JSON.stringify(reply)}`, () =>
      Effect.gen(function*() {
        const { question, suspension } = yield* suspended(agent.run("Clean up."))
        assert.include(question, "delete_all")
        assert.include(question, "/tmp")
        const answer = yield* agent.resume(suspension, reply)
        assert.strictEqual(answer.text, "Done.")
        const requests = yield* bodies
        assert.deepStrictEqual(requests.map(({ problem }) => problem), [undefined, undefined])
        assert.deepStrictEqual(answers(requests[1]!.input), [["mcpr_1", approved]])
      }).pipe(Effect.provide(serving(responses)([asking("mcpr_1"), ScriptedModel.text("Done.")]))))
  }

  it.effect("may ask about several calls of one turn, beside calls of our tools: each is answered", () =>
    Effect.gen(function*() {
      const first = yield* suspended(agent.run("Clean up."))
      const second = yield* suspended(agent.resume(first.suspension, "yes"))
      const answer = yield* agent.resume(second.suspension, "no")
      assert.strictEqual(answer.text, "Done.")
      const [, last] = yield* bodies
      assert.strictEqual(last?.problem, undefined)
      assert.deepStrictEqual(answers(last!.input), [["mcpr_1", true], ["mcpr_2", false]])
      assert.deepInclude(last!.input, { type: "function_call_output", call_id: "call_1", output: "\"noon\"" })
    }).pipe(Effect.provide(
      serving(responses)([
        { ...asking("mcpr_1", "mcpr_2"), ...only(ScriptedModel.call("now")) },
        ScriptedModel.text("Done.")
      ])
    )))

  it.effect("takes decisions as data, with the digest that was shown, and no edits", () =>
    Effect.gen(function*() {
      const { suspension } = yield* suspended(agent.run("Clean up."))
      const [first, second] = suspension.questions
      if (first?.kind !== "approval") return assert.fail(first?.kind)
      const refusals = [
        [Question.approve(first, { arguments: { path: "/" } })],
        [{ ...Question.approve(first), digest: "other" }],
        [Question.reply(first, "yes")]
      ].map((replies) => Effect.map(Effect.flip(agent.resume(suspension, replies)), ({ detail }) => detail))
      assert.deepStrictEqual(yield* Effect.all(refusals), [
        "The run was not resumed: replies.0.arguments: expected none: the model's provider runs the call as it is, got arguments.",
        "The run was not resumed: replies.0.digest: expected the digest of the question, got \"other\".",
        "The run was not resumed: replies.0.approved: expected true or false, with the digest that was shown, got a reply in words."
      ])
      yield* agent.resume(suspension, [Question.deny(first, { reason: "yes" }), Question.approve(second!)])
      const requests = yield* bodies
      assert.deepStrictEqual(answers(requests[1]!.input), [["mcpr_1", false], ["mcpr_2", true]])
    }).pipe(Effect.provide(serving(responses)([asking("mcpr_1", "mcpr_2"), ScriptedModel.text("Done.")]))))

  it.effect("asks in a stream, too", () =>
    Effect.gen(function*() {
      const { suspension } = yield* suspended(asRun(agent.stream("Clean up.")))
      yield* Stream.runDrain(agent.resumeStream(suspension, "yes"))
      const requests = yield* bodies
      assert.deepStrictEqual(answers(requests[1]!.input), [["mcpr_1", true]])
    }).pipe(Effect.provide(serving(responses)([asking("mcpr_1"), ScriptedModel.text("Done.")]))))

  it.effect("asks about all of the arguments: nobody can approve what is not shown", () =>
    Effect.gen(function*() {
      const { question } = yield* suspended(agent.run("Clean up."))
      assert.include(question, "\"path\":\"/\"")
    }).pipe(Effect.provide(
      serving(responses)([{
        text: "",
        calls: [],
        native: {
          responses: {
            before: [{
              ...request("mcpr_1", "delete_all"),
              arguments: JSON.stringify({ note: "x".repeat(3000), path: "/" })
            }]
          }
        }
      }])
    )))

  it.effect("is asked about by no tool of the agent's, and the model cannot ask", () =>
    Effect.gen(function*() {
      const own = Tool.make(
        "approve_provider_call",
        { description: "", success: Schema.String, sideEffect: "none" },
        () => Effect.succeed("yes")
      )
      assert.throws(() => Agent.make({ toolkit: Toolkit.make(own) }), /Rename your tool/)
      const { suspension } = yield* suspended(agent.run("Clean up."))
      const answer = yield* agent.resume(suspension, "yes")
      assert.strictEqual(answer.text, "Done.")
      const { requests } = yield* (yield* FakeModelServer.FakeModelServer).state
      assert.deepStrictEqual(
        requests.map(({ asked }) => asked?.tools.map(({ name }) => name)),
        [["now"], ["now"], ["now"]]
      )
      assert.include(JSON.stringify(requests.at(-1)?.asked?.messages), "unknown_tool")
    }).pipe(Effect.provide(
      serving(responses)([
        asking("mcpr_1"),
        ScriptedModel.call("approve_provider_call", { tool: "bank", arguments: "x" }),
        ScriptedModel.text("Done.")
      ])
    )))

  it.effect("takes no call of the run's limit", () =>
    Effect.gen(function*() {
      const limited = Agent.make({ toolkit: Toolkit.make(clock), limits: { calls: 1 } })
      const { suspension } = yield* suspended(limited.run("Clean up."))
      const answer = yield* limited.resume(suspension, "yes")
      assert.strictEqual(answer.report.calls, 1)
      assert.strictEqual(answer.report.failures.length, 0)
    }).pipe(Effect.provide(
      serving(responses)([
        asking("mcpr_1"),
        ScriptedModel.call("now"),
        ScriptedModel.text("Done.")
      ])
    )))

  it.effect("is not known to another provider: that one sees an ordinary call and its result", () =>
    Effect.gen(function*() {
      const answer = yield* Effect.flatMap(
        suspended(agent.run("Clean up.")),
        ({ suspension }) => agent.resume(suspension, "yes")
      ).pipe(Effect.provide(serving(responses)([asking("mcpr_1"), ScriptedModel.text("Done.")])))
      const later = yield* Effect.gen(function*() {
        const later = yield* agent.run("And now?", { transcript: answer.transcript, facts: answer.facts })
        const { requests } = yield* (yield* FakeModelServer.FakeModelServer).state
        assert.deepStrictEqual(requests.map(({ problem }) => problem), [undefined])
        assert.notInclude(requests[0]!.body, "mcp_approval")
        return later
      }).pipe(Effect.provide(serving(messages)([ScriptedModel.text("Clean.")])))
      assert.strictEqual(later.text, "Clean.")
    }))
})

const only = ({ calls }: Model.Reply) => ({ calls })
