/**
 * The conversations: what each of them has said and done so far, and the questions to its user, if there are any.
 *
 * A conversation is named by an unguessable id, which the server chooses. Who has the id may continue the conversation.
 * They are kept in memory, so a restart forgets them. To keep them in a database, encode the parts with
 * `Transcript.schema`, `CallFacts.schema` and `AgentFailure.Suspension`.
 */
import { type Agent, type AgentFailure } from "@fallible/core"
import type * as Answer from "@fallible/core/Answer"
import * as CallFacts from "@fallible/core/CallFacts"
import type { RunProgress } from "@fallible/core/RunHandle"
import * as Context from "effect/Context"
import * as SecureRandom from "effect/crypto/SecureRandom"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type * as Scope from "effect/Scope"
import * as Problem from "./Problem.ts"

/** The questions that a suspended run asks its user. The token is good until replies to them are taken. */
interface Asked {
  readonly token: string
  readonly suspension: AgentFailure.Suspension
}

type Said = Answer.Answer["transcript"]

interface Conversation {
  readonly id: string
  readonly facts: CallFacts.CallFacts
  readonly transcript?: Said
  /** What was said before the last question of the user. */
  readonly before?: Said
  readonly asked?: Asked
  /** The number of runs so far: one for each question of the user, and one for each reply. */
  readonly runs: number
}

/** A conversation while one run continues it. */
export interface Turn {
  readonly conversation: string
  readonly options: Agent.RunOptions
  /** Keeps what the run has said and done, however it ends. Later runs do not repeat its effects. */
  readonly keep: (progress: RunProgress) => Effect.Effect<void>
  /** The token for the reply to the user, if the run asked its user. */
  readonly token: Effect.Effect<string | undefined>
}

/** The turn of a conversation that asked its user. */
export interface Asking extends Turn {
  readonly suspension: AgentFailure.Suspension
}

type Opened<A> = Effect.Effect<A, Problem.Problem, Scope.Scope>

export class Conversations extends Context.Service<Conversations, {
  /** Begins a conversation in which nothing is said yet. */
  readonly begin: Effect.Effect<string>
  /** Fails if there is no such conversation. */
  readonly check: (id: string) => Effect.Effect<void, Problem.Problem>
  /** Begins a conversation, or continues one, until the scope closes. */
  readonly open: (id: string | undefined) => Opened<Turn>
  /**
   * Continues a conversation from before the last question of its user, who wants another answer to it. What was done since
   * then stays done: its facts are kept.
   */
  readonly reopen: (id: string) => Opened<Turn>
  /** Continues the conversation that asked its user. */
  readonly reply: (token: string) => Opened<Asking>
  /** Continues the conversation that asked its user, whatever its token. */
  readonly replyIn: (id: string) => Opened<Asking>
}>()("example/Conversations") {}

/**
 * Above this number, the conversation that was used least recently is forgotten. All clients share it: one that begins
 * many conversations makes the server forget those of others. Where clients log in, keep a number for each of them.
 */
export const max = 1000

/** A conversation takes questions up to this number of runs. Each question takes all that was said to the model again. */
export const maxRuns = 50

export const layer: Layer.Layer<Conversations, never, SecureRandom.SecureRandom> = Layer.effect(
  Conversations,
  Effect.gen(function*() {
    const { uuidV4 } = yield* SecureRandom.SecureRandom
    // In the order of their last use.
    const kept = new Map<string, Conversation>()
    const busy = new Set<string>()

    const put = (conversation: Conversation) => {
      kept.delete(conversation.id)
      kept.set(conversation.id, conversation)
      if (kept.size > max) kept.delete(kept.keys().next().value ?? "")
    }

    const find = (id: string) => {
      const found = kept.get(id)
      return found === undefined
        ? Effect.fail(Problem.make(404, "unknown_conversation", "There is no such conversation. Begin a new one."))
        : Effect.succeed(found)
    }

    const begin = Effect.map(uuidV4(), (id) => {
      put({ id, facts: CallFacts.empty, runs: 0 })
      return id
    })

    /** Keeps other runs out until the scope closes: of two runs at once, each would miss what the other one did. */
    const occupy = (id: string): Opened<Conversation> =>
      Effect.acquireRelease(
        Effect.suspend(() =>
          busy.has(id)
            ? Effect.fail(Problem.make(409, "conversation_busy", "Wait for the answer to your last question."))
            : Effect.sync(() => busy.add(id))
        ),
        () => Effect.sync(() => busy.delete(id))
      ).pipe(Effect.andThen(Effect.suspend(() => find(id))))

    /** Keeps other runs out of a conversation that is not too long for another question. */
    const occupyForQuestion = (id: string): Opened<Conversation> =>
      Effect.filterOrFail(
        occupy(id),
        ({ runs }) => runs < maxRuns,
        () => Problem.make(409, "conversation_full", "This conversation is too long. Begin a new conversation.")
      )

    /** @param before what was said before the last question of the user */
    const turnOf = ({ facts, id, runs, transcript }: Conversation, before: Said | undefined): Turn => ({
      conversation: id,
      options: { facts, scope: id, ...(transcript === undefined ? {} : { transcript }) },
      keep: ({ facts, suspension, transcript }) =>
        Effect.sync(() =>
          put({
            id,
            facts,
            transcript,
            ...(before === undefined ? {} : { before }),
            runs: runs + 1,
            ...(suspension === undefined ? {} : { asked: { token: `${id}.${runs + 1}`, suspension } })
          })
        ),
      token: Effect.sync(() => kept.get(id)?.asked?.token)
    })

    const asking = (id: string, isOpen: (asked: Asked) => boolean): Opened<Asking> =>
      Effect.flatMap(occupy(id), (conversation) => {
        const { asked, before } = conversation
        return asked !== undefined && isOpen(asked)
          ? Effect.succeed({ ...turnOf(conversation, before), suspension: asked.suspension })
          : Effect.fail(Problem.notOpen)
      })

    return {
      begin,
      check: (id) => Effect.asVoid(find(id)),
      open: (id) =>
        (id === undefined ? begin : Effect.succeed(id)).pipe(
          Effect.flatMap(occupyForQuestion),
          Effect.map((conversation) => turnOf(conversation, conversation.transcript))
        ),
      reopen: (id) =>
        Effect.map(
          occupyForQuestion(id),
          ({ before, facts, id, runs }) =>
            turnOf({ facts, id, runs, ...(before === undefined ? {} : { transcript: before }) }, before)
        ),
      reply: (token) => asking(token.split(".")[0] ?? "", (asked) => asked.token === token),
      replyIn: (id) => asking(id, () => true)
    }
  })
)
