/*
 * What a run is given, looked at before anything runs: a program may have parsed it and not decoded it.
 */
import * as Schema from "effect/Schema"
import { RunRefused, Suspension } from "../../AgentFailure.ts"
import * as CallFacts from "../../CallFacts.ts"
import type { FieldIssue } from "../../ToolFailure.ts"
import * as Transcript from "../../Transcript.ts"
import { issuesBy } from "../arguments/issuesBy.ts"
import { firstIssue } from "../value/text.ts"
import { isA } from "../value/untrusted.ts"
import { Account } from "./account.ts"

/** What a run begins with. */
export interface Opening {
  readonly question: string | { readonly text: string; readonly images: ReadonlyArray<Transcript.Image> }
  readonly transcript: Transcript.Transcript
  readonly id?: string | undefined
  readonly scope?: string | undefined
  readonly facts?: CallFacts.CallFacts | undefined
}

/** Why a run does not begin, if so. */
export const refusedOpening = (opening: Opening): RunRefused | undefined => {
  const { facts, id, question, scope, transcript } = opening
  const isTranscript = isA(Transcript.Transcript)(transcript)
  // Most are, and need no schema.
  if (typeof question === "string" && isTranscript && id === undefined && scope === undefined && facts === undefined) {
    return undefined
  }
  const kept = {
    transcript: isTranscript ? transcript : Transcript.make([]),
    // What was done before is not lost with a run that does not begin.
    facts: areFacts(facts) ? facts : CallFacts.empty
  }
  const refusal = refused(what, ofOpening, opening, kept)
  if (refusal !== undefined) return refusal
  const wrong = wrongScope(opening)
  return wrong === undefined ? undefined : because(`${what}: ${firstIssue([wrong])}.`, [wrong], kept)
}

const what = "The run was not begun"

/** What a run goes on with. */
export interface Continuation {
  readonly suspension: Suspension
  readonly reply: string
}

/** Why a run does not go on, if so. */
export const refusedContinuation = (continuation: Continuation): RunRefused | undefined =>
  refused("The run was not resumed", ofContinuation, continuation, {
    transcript: Transcript.make([]),
    facts: CallFacts.empty
  })

type IssuesOf = ReturnType<typeof issuesBy>

const areFacts = Schema.is(Schema.toType(CallFacts.schema))

const Name = Schema.String.check(
  Schema.makeFilter((name) => name.trim() !== "" && name.length <= 256 ? undefined : "a name of 1 to 256 characters")
)

const ofOpening = issuesBy(
  Schema.Struct({
    question: Schema.Union([
      Schema.String,
      Schema.Struct({ text: Schema.String, images: Schema.Array(Transcript.Image) })
    ]).annotate({ expected: "a text, or a text with images" }),
    transcript: Schema.instanceOf(Transcript.Transcript, { expected: "a Transcript" }),
    id: Schema.optional(Name),
    scope: Schema.optional(Name),
    facts: Schema.optional(Schema.toType(CallFacts.schema))
  })
)

// A scope and the facts of its earlier runs go together.
const wrongScope = ({ facts, scope }: Opening): FieldIssue | undefined => {
  if (scope === undefined) return undefined
  const path = ["facts"]
  if (facts === undefined) {
    const expected = "the facts of the scope's earlier runs, or CallFacts.empty for its first run"
    return { path, expected, actual: "nothing" }
  }
  return facts.scope === undefined || facts.scope === scope
    ? undefined
    : { path, expected: `facts of the scope '${scope}'`, actual: `those of '${facts.scope}'` }
}

const ofContinuation = issuesBy(Schema.Struct({ suspension: Suspension, reply: Schema.String }))

const refused = (
  what: string,
  issuesOf: IssuesOf,
  given: object,
  kept: Kept
): RunRefused | undefined => {
  const issues = issuesOf(given)
  return issues === undefined ? undefined : because(`${what}: ${firstIssue(issues)}.${advice(issues)}`, issues, kept)
}

type Kept = Pick<RunRefused, "transcript" | "facts">

const because = (detail: string, issues: ReadonlyArray<FieldIssue>, kept: Kept): RunRefused =>
  new RunRefused({ detail, issues, ledger: Account.empty().ledger, ...kept })

// What comes from a store has to go there encoded, and to come back decoded.
const advice = ([first]: ReadonlyArray<FieldIssue>): string => {
  const schema = first === undefined ? undefined : stored.get(first.path[0])
  return schema === undefined ? "" : ` Encode it by ${schema} to store it, and decode it by the same schema.`
}

const stored: ReadonlyMap<unknown, string> = new Map([
  ["facts", "CallFacts.schema"],
  ["suspension", "AgentFailure.Suspension"],
  ["transcript", "Transcript.schema"]
])
