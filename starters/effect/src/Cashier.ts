/** The agent, as a service of your backend. Its layer collects what the agent's tools need; who asks it needs nothing. */
import { Agent, Policy, Toolkit } from "@fallible/core"
import * as AgentEvent from "@fallible/core/AgentEvent"
import type { CallEnded, ClientEvent } from "@fallible/core/ClientEvent"
import type { RunProgress } from "@fallible/core/RunHandle"
import { Context, Effect, Layer, Metric, RcMap, type Scope, Semaphore, Stream } from "effect"
import { charge } from "./charge.ts"
import { Conversations } from "./Conversations.ts"

const agent = Agent.make({
  instructions: "You charge orders. Say what was charged, and nothing else.",
  toolkit: Toolkit.make(charge),
  policies: Policy.standard(), // timeouts, and retries where they are safe
  limits: { turns: 8, elapsed: "2 minutes" }
})

const calls = Metric.counter("agent.calls", { description: "Calls of tools, by whether they took effect" })

const count = ({ certainty, tool }: CallEnded) => Metric.update(Metric.withAttributes(calls, { tool, certainty }), 1)

export class Cashier extends Context.Service<Cashier, {
  /** Runs the agent on a question of a conversation, and streams what a client may see. */
  readonly ask: (
    conversation: string,
    question: string
  ) => Effect.Effect<Stream.Stream<ClientEvent>, never, Scope.Scope>
}>()("cashier/Cashier") {
  static readonly layer = Layer.effect(
    Cashier,
    Effect.gen(function*() {
      const conversations = yield* Conversations
      const services = yield* Effect.context<Agent.Requirements<typeof agent>>()
      // Two runs of one conversation would not know each other's charges. Several processes need a lock in the database.
      const locks = yield* RcMap.make({ lookup: (_conversation: string) => Semaphore.make(1) })

      const ask = Effect.fn("Cashier.ask")(function*(id: string, question: string) {
        yield* Semaphore.takeScoped(yield* RcMap.get(locks, id), 1)
        const earlier = yield* conversations.load(id)
        // After each call that acts, and at the end, also if the client leaves.
        const keep = (progress: RunProgress) => conversations.save(id, progress)
        // The conversation is the scope of the idempotency keys.
        return agent.stream(question, { scope: id, ...earlier, keep }).pipe(
          Stream.tapError((failure) => Effect.logWarning(String(failure))),
          AgentEvent.forClients(),
          Stream.tap((event) => event._tag === "CallEnded" ? count(event) : Effect.void),
          Stream.withSpan("Cashier.run", { attributes: { conversation: id } }),
          Stream.provideContext(services)
        )
      })

      return Cashier.of({ ask })
    })
  )
}
