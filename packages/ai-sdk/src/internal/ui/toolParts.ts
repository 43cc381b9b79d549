/*
 * The tool parts of the current step.
 *
 *     input-streaming ─ input-available ┬ output-available, output-error
 *                                       └ approval-requested ─ approval-responded ┬ output-available, output-error
 *                                                                                 └ output-denied
 *
 * The AI SDK accepts a message only if an output has an approval that was granted, or none, and a denial has one that was not.
 */
import type { CallEnded, CallStarted } from "@fallible/core/ClientEvent"
import type { Decision, Question } from "@fallible/core/Question"
import { type Fields, fieldsOf, objectAt, parsed, textAt } from "../untyped.ts"
import { cutShortText, failureText, heldBackText, ownText } from "./sentences.ts"
import type { UiApproval, UiChunk, UiFailure, UiOptions } from "./types.ts"
import { toolPartsOf } from "./untrustedMessages.ts"

interface Part {
  readonly tool: string
  /** True if the page runs the tool. It does so as soon as its input is there, so until it is asked to, the input seems partial. */
  isOfPage: boolean
  /** `partial`: not whole yet. `hidden`: the arguments are not shown, so the input is empty. */
  input: "partial" | "hidden" | "shown"
  /** The arguments, as far as the model has written them in this stream. */
  written: string
  /** True from the beginning of its call, in this stream, until its call has ended or asks. */
  isRunning: boolean
  /** What the part shows. An output that a page has added may not be a reply. */
  output: "none" | "preliminary" | "final"
  approval: { readonly id: string; readonly approved: boolean | undefined } | undefined
}

/** The tool parts of the current step. They change in place. */
export class ToolParts {
  #parts = new Map<string, Part>()
  readonly #send: (chunk: UiChunk) => void
  readonly #ownText: (failure: UiFailure) => string | undefined

  /** @param continued the message that the stream goes on with */
  constructor(
    continued: Fields | undefined,
    { failures }: Pick<UiOptions, "failures">,
    send: (chunk: UiChunk) => void
  ) {
    this.#send = send
    this.#ownText = ownText(failures)
    for (const part of toolPartsOf(continued)) this.#recall(part)
  }

  get isEmpty(): boolean {
    return this.#parts.size === 0
  }

  /** True if this stream shows calls that were written and not run. */
  get hasUnrun(): boolean {
    return Array.from(this.#parts.values()).some(({ input, isRunning }) => isRunning && input === "partial")
  }

  clear(): void {
    this.#parts.clear()
  }

  write(id: string, tool: string, delta: string): void {
    const part = this.#parts.get(id) ?? this.#startInput(id, tool)
    part.written += delta
    this.#send({ type: "tool-input-delta", toolCallId: id, inputTextDelta: delta })
  }

  /** A call begins, or goes on: then its part is there. */
  start(id: string, { arguments: args, client, tool }: CallStarted): void {
    const part = this.#parts.get(id) ?? this.#begin(id, tool, "partial")
    part.isRunning = true
    if (part.input !== "partial") return
    part.isOfPage = client === true
    this.#sendInput(id, tool, args)
  }

  /** A result that a later one replaces. */
  progress(id: string, tool: string, output: unknown): void {
    const part = this.#partOf(id, tool)
    this.#grant(part)
    part.output = "preliminary"
    this.#send({ type: "tool-output-available", toolCallId: id, output, preliminary: true })
  }

  end(id: string, event: CallEnded): void {
    // It asks, or waits for the question of an equal call. The end of the stream tells.
    if (event.outcome === "suspended") return
    const part = this.#partOf(id, event.tool)
    part.isRunning = false
    if (event.code === "not_approved") return this.#deny(id, part)
    this.#grant(part)
    // What had been done before is no failure for those who wanted it done.
    if (event.outcome !== "completed" && event.code !== "already_done") {
      return this.#fail(id, part, this.#ownText({ ...event, toolCallId: id }) ?? failureText(event))
    }
    this.#send({ type: "tool-output-available", toolCallId: id, output: event.value ?? null })
  }

  /** A decision that was taken: its call is going to run, or is not. */
  decide({ approved, id, ...rest }: Decision): void {
    for (const part of this.#parts.values()) {
      if (part.approval?.id !== id || part.output === "final") continue
      this.#respond(id, part, approved, "reason" in rest ? rest.reason : undefined)
    }
  }

  askForApproval(id: string, question: Question): void {
    const { arguments: args, tool } = question
    const known = this.#parts.get(id)
    // The question shows the arguments, whatever else is seen of the tool. A part that was approved has no way back to its input,
    // unless it has an output, so there the descriptor alone has the new ones.
    const isReady = known?.output === "none" && (known.input === "shown" || known.approval !== undefined)
    const part = isReady ? known : this.#sendInput(id, tool, args)
    part.isRunning = false
    part.approval = { id: question.id, approved: undefined }
    this.#send({
      type: "tool-approval-request",
      approvalId: question.id,
      toolCallId: id,
      approvalDescriptor: descriptorOf(question),
      reason: question.text
    })
  }

  /** The page runs the call. It needs the arguments. */
  askForResult(id: string, { arguments: args, tool }: Question): void {
    const part = this.#parts.get(id) ?? this.#begin(id, tool, "partial")
    part.isOfPage = false
    part.isRunning = false
    this.#sendInput(id, tool, args)
  }

  /** A call asks in words. A page must not take its part for complete, and send the message back by itself. */
  askInWords(id: string, { arguments: args, tool }: Question): void {
    const known = this.#parts.get(id)
    if (known?.approval !== undefined) {
      if (known.output !== "preliminary") this.progress(id, tool, null)
      known.isRunning = false
      return
    }
    const part = known?.output === "none" && known.input !== "partial" ? known : this.#sendInput(id, tool, args)
    part.isRunning = false
  }

  /** Ends the parts of calls that this stream has begun, and whose end it does not know. */
  cutShort(text = cutShortText): void {
    for (const [id, part] of this.#parts) {
      if (!part.isRunning) continue
      part.isRunning = false
      this.#grant(part)
      this.#fail(id, part, text)
    }
  }

  // A part with the text of its input would keep that text beside the error, which the AI SDK warns of.
  #fail(id: string, { input, isOfPage, tool, written }: Part, errorText: string): void {
    const hasText = input === "partial" || isOfPage
    this.#send(
      hasText
        ? { type: "tool-input-error", toolCallId: id, toolName: tool, input: parsed(written) ?? {}, errorText }
        : { type: "tool-output-error", toolCallId: id, errorText }
    )
  }

  #startInput(id: string, tool: string): Part {
    const part = this.#begin(id, tool, "partial")
    part.isRunning = true
    this.#send({ type: "tool-input-start", toolCallId: id, toolName: tool })
    return part
  }

  #sendInput(id: string, tool: string, args: string | undefined): Part {
    const part = this.#parts.get(id) ?? this.#begin(id, tool, "hidden")
    part.input = args === undefined ? "hidden" : "shown"
    part.output = "none"
    // A model may write no JSON at all.
    const input = args === undefined ? {} : parsed(args) ?? args
    if (part.isOfPage) this.#writeInput(id, part, input)
    else this.#send({ type: "tool-input-available", toolCallId: id, toolName: tool, input })
    return part
  }

  // As if it were not whole yet.
  #writeInput(id: string, part: Part, input: unknown): void {
    part.written = JSON.stringify(input)
    this.#send({ type: "tool-input-start", toolCallId: id, toolName: part.tool })
    this.#send({ type: "tool-input-delta", toolCallId: id, inputTextDelta: part.written })
  }

  #partOf(id: string, tool: string): Part {
    return this.#parts.get(id) ?? this.#sendInput(id, tool, undefined)
  }

  #begin(id: string, tool: string, input: Part["input"]): Part {
    const part: Part = {
      tool,
      isOfPage: false,
      input,
      written: "",
      isRunning: false,
      output: "none",
      approval: undefined
    }
    this.#parts.set(id, part)
    return part
  }

  // Somebody may have approved elsewhere, and not in this page.
  #grant(part: Part): void {
    if (part.approval === undefined || part.approval.approved === true) return
    this.#respond(part.approval.id, part, true)
  }

  // A call may be denied without a question to this page: by a rule, or because it was denied before.
  #deny(id: string, part: Part): void {
    if (part.output !== "none") this.#sendInput(id, part.tool, undefined)
    if (part.approval === undefined) {
      part.approval = { id: `${id}/denied`, approved: undefined }
      this.#send({ type: "tool-approval-request", approvalId: part.approval.id, toolCallId: id, isAutomatic: true })
    }
    if (part.approval.approved !== false) this.#respond(part.approval.id, part, false)
    this.#send({ type: "tool-output-denied", toolCallId: id })
  }

  #respond(approvalId: string, part: Part, approved: boolean, reason?: string): void {
    part.approval = { id: approvalId, approved }
    this.#send({
      type: "tool-approval-response",
      approvalId,
      approved,
      ...(reason === undefined ? {} : { reason })
    })
  }

  #recall(shown: Fields): void {
    const { errorText, input, preliminary, state } = shown
    const isPartial = state === "input-streaming" || errorText === heldBackText
    const isEmpty = Object.keys(fieldsOf(input)).length === 0
    const [id = "", type = ""] = [textAt(shown, "toolCallId"), textAt(shown, "type")]
    const part = this.#begin(id, type.slice("tool-".length), isPartial ? "partial" : isEmpty ? "hidden" : "shown")
    const hasOutput = state === "output-available" || state === "output-error"
    if (hasOutput) part.output = preliminary === true ? "preliminary" : "final"
    // What the page has decided is said again, for a page that reads the streams of the message from its beginning.
    const approvalId = textAt(objectAt(shown, "approval"), "id")
    if (approvalId !== undefined) part.approval = { id: approvalId, approved: undefined }
  }
}

const descriptorOf = ({ again, arguments: args, digest, expires, preview, text }: Question): UiApproval => ({
  text,
  ...(digest === undefined ? {} : { digest }),
  ...(preview === undefined ? {} : { preview }),
  ...(expires === undefined ? {} : { expires }),
  ...(args === undefined ? {} : { arguments: args }),
  ...(again === undefined ? {} : { again })
})
