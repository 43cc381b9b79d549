/*
 * Checks the input of a run before anything runs: a program may have parsed stored input without decoding it.
 */
import { type Names, unknownOption } from "@fallible/arguments/internal"
import * as Predicate from "effect/Predicate"
import * as Schema from "effect/Schema"
import { Postponement, RunRefused, Suspension } from "../../AgentFailure.ts"
import * as CallFacts from "../../CallFacts.ts"
import type { FieldIssue } from "../../ToolFailure.ts"
import * as Transcript from "../../Transcript.ts"
import { issuesBy } from "../arguments/schemaIssues.ts"
import { cut, firstIssue, list, oneLine } from "../value/text.ts"
import { attempt, isA } from "../value/untrusted.ts"
import { Account } from "./runAccount.ts"
import type { WhyNotBeside } from "./scopeRuns.ts"

/** The input of a new run. */
export interface Opening {
  readonly question: string | Omit<Transcript.MessageOf<"user">, "role">
  readonly transcript: Transcript.Transcript
  readonly id?: string | undefined
  readonly scope?: string | undefined
  readonly facts?: CallFacts.CallFacts | undefined
  readonly deltas?: unknown
  readonly keep?: unknown
}

/**
 * Returns the refusal of a new run with invalid input; `undefined` if the input is valid.
 *
 * @param acting the names of the tools that may act twice if their earlier calls are not known
 */
export const refusalOfOpening = (opening: Opening, acting: ReadonlySet<string>): RunRefused | undefined => {
  const { deltas, facts, id, keep, question, scope, transcript } = opening
  const unknown = unknownOption("A run", opening, names) ??
    attempt(() => Predicate.isObject(question) ? unknownOption("A question", question, questionFields) : undefined)
  const isTranscript = isA(Transcript.Transcript)(transcript)
  // Most inputs are this simple, and need no check by a schema.
  const isSimple = id === undefined && scope === undefined && facts === undefined && deltas === undefined &&
    keep === undefined && unknown === undefined
  const forgotten = isTranscript && facts === undefined ? actingIn(transcript, acting) : []
  if (typeof question === "string" && isTranscript && isSimple && forgotten.length === 0) return undefined
  const carried = {
    transcript: isTranscript ? transcript : Transcript.make([]),
    // A refused run passes the facts of earlier runs on, so that they are not lost.
    facts: areFacts(facts) ? facts : CallFacts.empty
  }
  if (unknown !== undefined) return refusalOf(`${what}: ${unknown}`, [], carried)
  const refusal = refused(what, ofOpening, opening, carried)
  if (refusal !== undefined) return refusal
  if (forgotten.length > 0) return refusalOf(`${what}: ${withoutFacts(forgotten)}`, [forgottenFacts], carried)
  const wrong = wrongScope(opening)
  return wrong === undefined ? undefined : refusalOf(`${what}: ${firstIssue([wrong])}.`, [wrong], carried)
}

const what = "The run was not started"

// Without their facts, the effects of these calls could be repeated, even those in doubt.
const actingIn = (transcript: Transcript.Transcript, acting: ReadonlySet<string>): ReadonlyArray<string> =>
  acting.size === 0 ? [] : Array.from(
    new Set(
      Array.from(transcript).flatMap((message) =>
        message.role === "assistant" ? message.calls.map(({ name }) => name).filter((name) => acting.has(name)) : []
      )
    )
  )

const withoutFacts = (tools: ReadonlyArray<string>): string =>
  `its transcript has calls of ${
    list(tools)
  }, and it has no facts of them, so their effects could be repeated. Pass the 'facts' of the run that made them. Where there are none, pass CallFacts.empty: then nothing is known of those calls.`

const forgottenFacts: FieldIssue = {
  path: ["facts"],
  expected: "the facts of the transcript's calls",
  actual: "nothing"
}

/** Returns the refusal of a run beside another one of its scope. */
export const refusalBeside = (
  why: WhyNotBeside,
  { scope: name = "" }: Pick<CallFacts.CallFacts, "scope">,
  { facts, transcript }: Carried,
  isResumed = false
): RunRefused => {
  const scope = cut(oneLine(name), 60)
  const reason = why === "running"
    ? `another run of the scope '${scope}' has not ended. Runs of one scope need each other's facts, so run one after the other.`
    : `a later run of the scope '${scope}' has begun, and its effects are not known here. Ask again in a new run, with the facts of that run.`
  return refusalOf(`${isResumed ? notResumed : what}: ${reason}`, [], { facts, transcript })
}

interface Settings {
  readonly modelOptions?: unknown
  readonly limits?: unknown
  readonly deltas?: unknown
  readonly handle?: unknown
  readonly keep?: unknown
}

const settings: Names<Settings> = { modelOptions: true, limits: true, deltas: true, handle: true, keep: true }

const names: Names<Opening & Settings> = {
  question: true,
  transcript: true,
  facts: true,
  scope: true,
  id: true,
  ...settings
}

const questionFields: Names<Exclude<Opening["question"], string>> = { text: true, files: true, cache: true }

/** Returns the refusal of a run that goes on with unknown options; `undefined` if they are known. */
export const refusalOfSettings = (options: object, carried: Carried): RunRefused | undefined => {
  const unknown = unknownOption("A run that goes on", options, settings)
  return unknown === undefined
    ? refused(notResumed, ofSettings, options, carriedOf(carried))
    : refusalOf(`${notResumed}: ${unknown}`, [], carriedOf(carried))
}

/** Returns the refusal of a run with wrong limits. */
export const refusalOfLimits = (why: string, carried: Carried): RunRefused =>
  refusalOf(`${what}: ${why}`, [], carriedOf(carried))

const carriedOf = ({ facts, transcript }: Carried): Carried => ({ facts, transcript })

/** Returns the refusal of a postponed run with invalid input; `undefined` if the input is valid. */
export const refusalOfPostponement = (postponement: Postponement): RunRefused | undefined =>
  refusedFailure(postponement) ??
    refused(notResumed, ofPostponement, { postponement })

const notResumed = "The run was not resumed"

// Returns the refusal of a failure that was passed in place of its field.
const refusedFailure = (input: unknown): RunRefused | undefined => {
  const field = ["suspension", "postponement"].find((field) => attempt(() => Predicate.hasProperty(input, field)))
  return field === undefined
    ? undefined
    : refusalOf(`${notResumed}: this is the failure itself. Pass its '${field}'.`, [])
}

/** Returns the refusal of a resumed run whose suspension is no suspension; `undefined` if it is one. */
export const refusalOfSuspended = (suspension: Suspension): RunRefused | undefined =>
  refusedFailure(suspension) ?? refused(notResumed, ofContinuation, { suspension })

/** Returns the refusal of a resumed run. */
export const refusalOfResume = (why: string, issues: ReadonlyArray<FieldIssue>, carried: Carried): RunRefused =>
  refusalOf(`${notResumed}: ${why.replace(/\.$/, "")}.`, issues, carriedOf(carried))

type IssuesOf = ReturnType<typeof issuesBy>

const areFacts = Schema.is(Schema.toType(CallFacts.schema))

const Name = Schema.String.check(
  Schema.makeFilter((name) => name.trim() !== "" && name.length <= 256 ? undefined : "a name of 1 to 256 characters")
)

const Keep = Schema.optional(
  Schema.declare((u): u is unknown => Predicate.isFunction(u)).annotate({
    expected: "a function that returns an Effect"
  })
)

const Deltas = Schema.optional(Schema.Array(Schema.Literals(["reasoning", "arguments"])))

const ofOpening = issuesBy(
  Schema.Struct({
    question: Schema.Union([
      Schema.String,
      Schema.Struct({
        text: Schema.String,
        files: Schema.optional(Schema.Array(Transcript.File)),
        cache: Schema.optional(Schema.Boolean)
      })
    ]).annotate({ expected: "a string, or a text with files" }),
    transcript: Schema.instanceOf(Transcript.Transcript, { expected: "a Transcript" }),
    id: Schema.optional(Name),
    scope: Schema.optional(Name),
    facts: Schema.optional(Schema.toType(CallFacts.schema)),
    deltas: Deltas,
    keep: Keep
  })
)

// Returns an issue if a scope is given without facts, or with the facts of another scope.
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

const ofSettings = issuesBy(Schema.Struct({ deltas: Deltas, keep: Keep }))

const ofPostponement = issuesBy(Schema.Struct({ postponement: Postponement }))

const ofContinuation = issuesBy(Schema.Struct({ suspension: Suspension }))

const refused = (
  what: string,
  issuesOf: IssuesOf,
  input: object,
  carried?: Carried
): RunRefused | undefined => {
  const issues = issuesOf(input)
  return issues === undefined
    ? undefined
    : refusalOf(`${what}: ${firstIssue(issues)}.${advice(issues)}`, issues, carried)
}

/** What a refused run hands on. */
export type Carried = Pick<RunRefused, "transcript" | "facts">

/**
 * Returns the refusal of a run, which has spent nothing.
 *
 * @param carried what it hands on; default: nothing
 */
export const refusalOf = (
  detail: string,
  issues: ReadonlyArray<FieldIssue>,
  carried: Carried = { transcript: Transcript.make([]), facts: CallFacts.empty }
): RunRefused => new RunRefused({ detail, issues, report: Account.empty.report, ...carried })

// Returns advice on an invalid value that has its own schema: encode the value to store it, and decode it for use.
const advice = ([first]: ReadonlyArray<FieldIssue>): string => {
  const schema = first === undefined ? undefined : stored.get(first.path[0])
  return schema === undefined ? "" : ` Encode it by ${schema} to store it, and decode it by the same schema.`
}

const stored: ReadonlyMap<unknown, string> = new Map([
  ["facts", "CallFacts.schema"],
  ["postponement", "AgentFailure.Postponement"],
  ["suspension", "AgentFailure.Suspension"],
  ["transcript", "Transcript.schema"]
])
