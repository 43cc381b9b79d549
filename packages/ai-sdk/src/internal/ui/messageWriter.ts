/*
 * Turns the events of a run into the chunks of a message of the AI SDK.
 *
 *     start ─ start-step ─ text, reasoning, tool parts, data parts ─ finish-step ─ start-step … finish-step ─ finish
 */
import type { CallEnded, ClientEvent, ModelReplied, RunEnded, RunSuspended } from "@fallible/core/ClientEvent"
import type { Decision, Question } from "@fallible/core/Question"
import type { FinishReason } from "ai"
import * as Duration from "effect/Duration"
import type * as Schema from "effect/Schema"
import { objectAt, parsed, textAt } from "../untyped.ts"
import { fileChunks, sourceChunk } from "./attachments.ts"
import { decisionsIn } from "./fromUiMessages.ts"
import { Recoveries } from "./recoveries.ts"
import { brokenText, heldBackText } from "./sentences.ts"
import { ToolParts } from "./toolParts.ts"
import type { UiChunk, UiMetadata, UiOptions } from "./types.ts"
import { assistantAtEnd, messagesIn } from "./untrustedMessages.ts"

/** What a stream tells that is no event of its run: it was interrupted, or it broke. */
export interface CutOff {
  readonly _tag: "Interrupted" | "Broken"
}

/** The message so far. It changes in place, because a long reply has thousands of pieces. */
export class MessageWriter {
  /** True once the message has its last chunk. */
  isOver = false
  readonly #messageId: string | undefined
  readonly #ids: ReadonlySet<unknown>
  readonly #waitedWith: string | undefined
  readonly #recoveries: Recoveries
  readonly #tools: ToolParts
  readonly #decisions: ReadonlyArray<Decision>
  #chunks: Array<UiChunk> = []
  #isStarted = false
  /** `empty`: nothing has been shown since it began. */
  #step: "none" | "empty" | "begun"
  #block: { readonly type: "text" | "reasoning"; readonly id: string } | undefined
  #blocks = 0
  /** The text of the current turn, as it is shown. */
  #text = ""
  /** What is shown of the current turn beside its text and its calls. */
  #aside: Array<UiChunk> = []
  #hasPreview = false
  /** True if the model has not said the end of what is shown. */
  #isSaying = false

  constructor(options: UiOptions) {
    const messages = messagesIn(options.originalMessages)
    const continued = assistantAtEnd(messages)
    this.#messageId = options.messageId ?? textAt(continued, "id")
    this.#ids = new Set(messages.map(({ id }) => id))
    this.#waitedWith = textAt(objectAt(continued, "metadata"), "suspension")
    this.#recoveries = new Recoveries(options)
    // A resumed call belongs to the step that is there.
    this.#step = continued === undefined ? "none" : "begun"
    this.#tools = new ToolParts(continued, options, (chunk) => this.#show(chunk))
    this.#decisions = options.replies?.filter((reply) => "approved" in reply) ?? decisionsIn(continued)
  }

  /** Returns the chunks of an event. */
  write(event: ClientEvent | CutOff): ReadonlyArray<UiChunk> {
    this.#chunks = []
    this.#start("run" in event ? event.run : undefined)
    this.#add(event)
    return this.#chunks
  }

  #add(event: ClientEvent | CutOff): void {
    switch (event._tag) {
      case "TurnStarted":
        return this.#nextStep()
      case "TextDelta":
        return this.#grow("text", turnOf(event), event.text)
      case "ReasoningDelta":
        return this.#grow("reasoning", turnOf(event), event.text)
      case "ModelRetried":
        return this.#discardStep()
      case "ModelReplied":
        return this.#complete(event)
      case "AnswerPreview":
        return this.#preview(event.soFar)
      case "ArgumentsDelta":
        this.#endBlock()
        return this.#tools.write(idOf(event), event.tool, event.text)
      case "CallStarted":
        this.#endBlock()
        return this.#tools.start(idOf(event), event)
      case "FailureHandled":
        return this.#show(this.#recoveries.handled(idOf(event), event))
      case "ProgressMade":
        return this.#tools.progress(idOf(event), event.tool, event.value)
      case "CallEnded":
        return this.#endCall(event)
      case "RunEnded":
        return this.#end(event)
      case "RunSuspended":
        return this.#suspend(event)
      case "RunPostponed": {
        const { message, retryAfter } = event
        // The turn is asked for again.
        if (this.#isSaying) this.#discardStep()
        this.#show({
          type: "data-postponed",
          id: event.run,
          data: { message, retryAfter: Duration.toMillis(retryAfter) }
        })
        return this.#finish("other", this.#goneOn)
      }
      case "RunFailed":
        return this.#fail(event.message)
      case "Broken":
        return this.#fail(brokenText)
      case "Interrupted":
        this.#tools.cutShort()
        this.#endStep()
        this.#send({ type: "abort" })
        // A page does not go on by itself after this reason.
        return this.#finish("interrupted")
      case "LimitReached":
      case "LoopNoticed":
        return
    }
  }

  // -----------------------------------------------------------------------------
  // The message and its steps
  // -----------------------------------------------------------------------------

  #start(run: string | undefined): void {
    if (this.#isStarted) return
    this.#isStarted = true
    const messageId = this.#messageId ?? (run === undefined ? undefined : this.#unused(run))
    this.#send({ type: "start", ...(messageId === undefined ? {} : { messageId }) })
    for (const decision of this.#decisions) this.#tools.decide(decision)
  }

  // A run that goes on after the user's words begins another message. A page would put it in the place of the first one.
  #unused(run: string): string {
    let id = run
    for (let count = 2; this.#ids.has(id); count++) id = `${run}/message/${count}`
    return id
  }

  #nextStep(): void {
    // The calls of a reply that is not used.
    if (this.#tools.hasUnrun) this.#discardStep()
    // After a reply that was discarded, its step is still there.
    if (this.#step === "empty") return
    this.#endStep()
    this.#send({ type: "start-step" })
    this.#step = "empty"
  }

  #endStep(): void {
    this.#endBlock()
    if (this.#step !== "none") this.#send({ type: "finish-step" })
    this.#step = "none"
    this.#forget()
  }

  #discardStep(): void {
    this.#block = undefined
    if (this.#step === "begun") {
      this.#send({ type: "reset-step" })
      this.#step = "empty"
    }
    this.#forget()
  }

  #forget(): void {
    this.#tools.clear()
    this.#text = ""
    this.#aside = []
    this.#hasPreview = false
    this.#isSaying = false
  }

  #finish(finishReason: FinishReason, metadata?: UiMetadata): void {
    this.#endStep()
    this.isOver = true
    this.#send({ type: "finish", finishReason, ...(metadata === undefined ? {} : { messageMetadata: metadata }) })
  }

  // The suspension that the message has waited with is used up.
  get #goneOn(): UiMetadata | undefined {
    return this.#waitedWith === undefined ? undefined : { suspension: null }
  }

  // A page throws at an error and reads no further. So all that is open is ended before it.
  #fail(errorText: string): void {
    this.#tools.cutShort()
    this.#endStep()
    this.#send({ type: "error", errorText })
    this.#finish("error")
  }

  #send(chunk: UiChunk): void {
    this.#chunks.push(chunk)
  }

  // Sends a part of the message.
  #show(chunk: UiChunk): void {
    if (this.#step === "none") this.#send({ type: "start-step" })
    this.#step = "begun"
    this.#send(chunk)
  }

  // -----------------------------------------------------------------------------
  // What the model says
  // -----------------------------------------------------------------------------

  /** @param place where in its run it is said, for an id that no other part of the message has */
  #grow(type: "text" | "reasoning", place: string, delta: string): void {
    if (this.#block?.type !== type) {
      this.#endBlock()
      this.#block = { type, id: `${place}/${type}/${++this.#blocks}` }
      this.#showSaid(type, { type: `${type}-start`, id: this.#block.id })
    }
    if (type === "text") this.#text += delta
    this.#isSaying = true
    this.#showSaid(type, { type: `${type}-delta`, id: this.#block.id, delta })
  }

  #endBlock(): void {
    if (this.#block === undefined) return
    const { id, type } = this.#block
    this.#block = undefined
    this.#showSaid(type, { type: `${type}-end`, id })
  }

  #showSaid(type: "text" | "reasoning", chunk: UiChunk): void {
    if (type === "text") this.#show(chunk)
    else this.#showAside(chunk)
  }

  #showAside(chunk: UiChunk): void {
    this.#aside.push(chunk)
    this.#show(chunk)
  }

  // A reply that a journal returns, or a server sends whole, has had no pieces.
  #complete(event: ModelReplied): void {
    const { files = [], sources = [], text } = event
    const place = turnOf(event)
    if (!text.startsWith(this.#text)) this.#replaceText(place, text)
    else if (text !== this.#text) this.#grow("text", place, text.slice(this.#text.length))
    this.#endBlock()
    this.#isSaying = false
    sources.forEach((source, index) => this.#showAside(sourceChunk(source, `${place}/source/${index + 1}`)))
    for (const chunk of files.flatMap(fileChunks)) this.#showAside(chunk)
  }

  // What was shown beside the text stays.
  #replaceText(place: string, text: string): void {
    this.#endBlock()
    if (this.#text !== "") {
      const aside = this.#aside
      this.#discardStep()
      for (const chunk of aside) this.#showAside(chunk)
    }
    if (text !== "") this.#grow("text", place, text)
  }

  #preview(soFar: Schema.Json): void {
    this.#hasPreview = true
    this.#show({ type: "data-answer", id: "answer", data: soFar })
  }

  // -----------------------------------------------------------------------------
  // Calls and endings
  // -----------------------------------------------------------------------------

  #endCall(event: CallEnded): void {
    const id = idOf(event)
    this.#tools.end(id, event)
    for (const chunk of event.files?.flatMap(fileChunks) ?? []) this.#show(chunk)
    const recovery = this.#recoveries.ended(id, event)
    if (recovery !== undefined) this.#show(recovery)
  }

  #end({ concluded, run, text, truncated }: RunEnded): void {
    const hasPreview = this.#hasPreview
    // A page may send a message back by itself if the last step has only calls that are complete. So the answer has its own.
    if (!this.#tools.isEmpty) this.#nextStep()
    if (text !== this.#text) this.#replaceText(`${run}/answer`, text)
    const answer = hasPreview ? jsonIn(text) : undefined
    if (answer !== undefined) this.#preview(answer)
    this.#finish(truncated ? "length" : concluded === undefined ? "stop" : "other", this.#goneOn)
  }

  #suspend({ questions, suspension }: RunSuspended): void {
    this.#endBlock()
    for (const question of questions) this.#ask(question)
    this.#tools.cutShort(heldBackText)
    this.#finish("tool-calls", { suspension })
  }

  #ask(question: Question): void {
    const { choices, id, kind, text, tool } = question
    const toolCallId = id.slice(0, id.lastIndexOf("/question/"))
    if (kind === "approval") return this.#tools.askForApproval(toolCallId, question)
    if (kind === "client") return this.#tools.askForResult(toolCallId, question)
    this.#tools.askInWords(toolCallId, question)
    const asked = { id, toolCallId, kind, tool, text, ...(choices === undefined ? {} : { choices }) }
    this.#show({ type: "data-question", id, data: asked })
  }
}

type InTurn = Pick<ModelReplied, "run" | "turn">

const turnOf = ({ run, turn }: InTurn): string => `${run}/turn/${turn}`

const idOf = (event: InTurn & Pick<CallEnded, "index">): string => `${turnOf(event)}/call/${event.index}`

// A typed answer is JSON, and so is nothing else that has previews.
const jsonIn = (text: string): Schema.Json | undefined => parsed(text) as Schema.Json | undefined
