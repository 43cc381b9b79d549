/**
 * A stand-in for a language model, behind the same `Model` service. It reads the question and the tool
 * messages, and decides what to do next. It is a small deterministic program that knows only the three
 * tools.
 *
 * Like a model, it sees only text. First it looks up the patient and the drugs that the question names.
 * Then it checks how those drugs interact with each other and with the patient's medications. Then it
 * reports its findings, their sources, and the gaps. It never corrects the name of a drug, and it never
 * calls anything safe.
 */
import { Model, type ToolCall, type Transcript } from "@fallible/core"
import * as Effect from "effect/Effect"
import type * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import { type Failure, type Result, resultsOf } from "../shared/ToolMessages.ts"
import { DrugFacts, drugs as knownDrugs, Interactions, Patient } from "./World.ts"

export const notice = "A stand-in plays the model: a small planner in this process. No language model is asked."

export const layer: Layer.Layer<Model.Model> = Model.layer({
  respond: ({ transcript }) => Effect.sync(() => reply(Array.from(transcript)))
})

/** Returns the model's next message. */
export const reply = (messages: ReadonlyArray<Transcript.Message>): Model.Reply => {
  const questionIndex = messages.findLastIndex(({ role }) => role === "user")
  const question = messages[questionIndex]
  const wish = wishOf(question?.role === "user" ? question.text : "")
  const results = resultsOf(messages.slice(questionIndex + 1))
  const findings = findingsFor(wish, results)
  const calls = nextCalls(wish, findings)
  return calls.length > 0
    ? { text: "", calls: calls.map((call, index) => ({ id: `call_${results.length + index + 1}`, ...call })) }
    : { text: answer(wish, findings), calls: [] }
}

// -----------------------------------------------------------------------------
// The question
// -----------------------------------------------------------------------------

interface Wish {
  readonly patientId: string | undefined
  readonly drugs: ReadonlyArray<string>
}

const wishOf = (question: string): Wish => ({
  patientId: /\bP-?\d+\b/i.exec(question)?.[0].toUpperCase(),
  drugs: unique(Array.from(question.matchAll(drugPattern), ([, known, named]) => (known ?? named ?? "").toLowerCase()))
})

/** Matches a known drug, or a word in a position where the name of a drug is likely. */
const drugPattern = new RegExp(
  `\\b(${knownDrugs.map(({ name }) => name).join("|")})\\b` +
    "|(?<=\\b(?:give|take|prescribe|add|about|of|with|and) )" +
    "(?!(?:the|what|which|how|is|are|it|this|that|tell|any|patient)\\b)([a-z][a-z'-]{3,})\\b",
  "gi"
)

const unique = (names: ReadonlyArray<string>): ReadonlyArray<string> => Array.from(new Set(names))

// -----------------------------------------------------------------------------
// The findings so far, and the next calls
// -----------------------------------------------------------------------------

interface Findings {
  readonly patient: Finding<Patient> | undefined
  readonly facts: ReadonlyMap<string, Finding<DrugFacts>>
  readonly interactions: Finding<Interactions> | undefined
}

/** One result: a complete or partial value, the notes on it, and the failure if the call failed. */
interface Finding<A> {
  readonly value: A | undefined
  readonly notes: ReadonlyArray<string>
  readonly failure: Failure | undefined
}

const findingsFor = ({ drugs }: Wish, results: ReadonlyArray<Result>): Findings => {
  const last = (tool: string, name?: string) =>
    results.findLast(({ args, tool: called }) => called === tool && (name === undefined || args["name"] === name))
  return {
    patient: findingIn(Patient, last("get_patient")),
    facts: new Map(drugs.flatMap((name) => {
      const finding = findingIn(DrugFacts, last("get_drug_facts", name))
      return finding === undefined ? [] : [[name, finding]]
    })),
    interactions: findingIn(Interactions, last("check_interactions"))
  }
}

const findingIn = <A>(schema: Schema.ConstraintDecoder<A>, result: Result | undefined): Finding<A> | undefined => {
  if (result === undefined) return undefined
  const valueIn = (json: unknown) => Option.getOrUndefined(Schema.decodeUnknownOption(schema)(json))
  const { message } = result
  return message._tag === "Value"
    ? { value: valueIn(message.value), notes: message.notes, failure: undefined }
    : { value: valueIn(message.failure.data), notes: [], failure: message.failure }
}

type NextCall = Omit<ToolCall.ToolCall, "id">

const nextCalls = (wish: Wish, findings: Findings): ReadonlyArray<NextCall> => {
  const { drugs, patientId } = wish
  const lookUps = [
    ...(patientId !== undefined && findings.patient === undefined ? [callOf("get_patient", { patientId })] : []),
    ...drugs.filter((name) => !findings.facts.has(name)).map((name) => callOf("get_drug_facts", { name }))
  ]
  if (lookUps.length > 0 || findings.interactions !== undefined) return lookUps
  const together = takenTogether(wish, findings)
  return together.length > 1 ? [callOf("check_interactions", { drugs: together })] : []
}

const callOf = (name: string, args: Schema.JsonObject): NextCall => ({ name, arguments: JSON.stringify(args) })

/** The real drugs of the question, then the patient's medications. Empty if the question names no real drug. */
const takenTogether = ({ drugs }: Wish, { facts, patient }: Findings): ReadonlyArray<string> => {
  const real = drugs.filter((name) => facts.get(name)?.failure?.error !== "SemanticGarbage")
  return real.length === 0 ? [] : unique([...real, ...(patient?.value?.medications ?? [])])
}

// -----------------------------------------------------------------------------
// The answer
// -----------------------------------------------------------------------------

const answer = (wish: Wish, findings: Findings): string => {
  const { drugs, patientId } = wish
  if (patientId === undefined && drugs.length === 0) {
    return "I can look up patients (P-1001), drugs (ibuprofen), and what drugs do to each other. What would you like to know?"
  }
  const concerns = [...interactionsIn(wish, findings), ...allergiesIn(findings)]
  return [
    ...(findings.patient === undefined ? [] : [aboutPatient(patientId ?? "The patient", findings.patient)]),
    ...Array.from(findings.facts, ([name, finding]) => aboutDrug(name, finding)),
    ...(findings.interactions === undefined ? [] : [aboutInteractions(findings.interactions)]),
    ...concerns,
    ...(takenTogether(wish, findings).length > 1 || patientId !== undefined && drugs.length > 0
      ? [verdict(concerns.length > 0, findings)]
      : [])
  ].join("\n")
}

const aboutPatient = (id: string, { failure, notes, value }: Finding<Patient>): string => {
  if (value === undefined) return `${id}: ${reason(failure)}`
  const { born, kilograms, medications, name } = value
  const weight = kilograms === null ? "" : `, ${kilograms} kg`
  const allergies = value.allergies.length === 0 ? "none known" : listed(value.allergies)
  return `${id} is ${name}, born ${born}${weight}; takes ${listed(medications)}; allergies: ${allergies}` +
    remarks(notes, failure)
}

const aboutDrug = (name: string, { failure, notes, value }: Finding<DrugFacts>): string => {
  if (value !== undefined) return `${name}: ${value.class}, usual dose ${value.dose}${remarks(notes, failure)}`
  const [suggestion] = failure?.alternatives ?? []
  return `${name}: ${reason(failure)}${
    suggestion === undefined ? "" : ` Did you mean ${suggestion}? I do not guess at drugs.`
  }`
}

const aboutInteractions = ({ failure, notes, value }: Finding<Interactions>): string => {
  if (value === undefined) return `The interactions could not be checked. ${reason(failure)}`
  const summary = value.interactions.length === 0 ? "No interaction is known" : "Interactions are known"
  return `${summary} among ${listed(value.covered)}${remarks(notes, failure)}`
}

/** Lists the interactions that the check reported, or else those in the facts of each drug. */
const interactionsIn = (wish: Wish, findings: Findings): ReadonlyArray<string> => {
  const checked = findings.interactions?.value
  if (checked !== undefined) {
    return checked.interactions.map(({ between, effect, severity }) =>
      `- ${between.join(" with ")}, ${severity}: ${effect}.`
    )
  }
  const together = takenTogether(wish, findings)
  return Array.from(findings.facts).flatMap(([name, { value }]) => {
    const others = (value?.interactsWith ?? []).filter((other) => together.includes(other))
    return others.length === 0 ? [] : [`- By its facts alone, ${name} interacts with ${listed(others)}.`]
  })
}

const allergiesIn = ({ facts, patient }: Findings): ReadonlyArray<string> =>
  Array.from(facts.values()).flatMap(({ value }) =>
    value === undefined || !patient?.value?.allergies.some((allergen) => value.class.includes(allergen))
      ? []
      : [`- ${value.name} is a ${value.class}: mind the allergy.`]
  )

const verdict = (isConcerned: boolean, { facts, interactions, patient }: Findings): string => {
  const isMissing = [patient, ...facts.values(), interactions].some((finding) =>
    finding !== undefined && (finding.value === undefined || finding.failure !== undefined)
  )
  return isConcerned
    ? "So: not before a doctor or a pharmacist has agreed."
    : isMissing
    ? "So: I cannot tell. Somebody has to look who sees what I could not."
    : "So: I found nothing against it. A doctor or a pharmacist decides."
}

/** Formats the notes on a value and the failure that came with it. */
const remarks = (notes: ReadonlyArray<string>, failure: Failure | undefined): string =>
  `${notes.length === 0 ? "" : ` (${notes.join("; ")})`}.${failure === undefined ? "" : ` ${failure.detail}`}`

const reason = (failure: Failure | undefined): string => {
  if (failure === undefined) return unreadable
  const { code = "", detail, hint = "", tried = [] } = failure
  const why = /^(invalid_json|truncated|invalid_result)$/.test(code) ? unreadable : detail
  return [
    why,
    ...(tried.length === 0 ? [] : [`I tried the ${tried.join(", then the ")}.`]),
    ...adviceIn(hint)
  ].join(" ")
}

/** Passes on what the hint wants the user to know or to do. */
const adviceIn = (hint: string): ReadonlyArray<string> => {
  const [, toDo] = /Tell the user to (.*)/.exec(hint) ?? []
  if (toDo !== undefined) return [`Please ${toDo}`]
  const [, first = "", rest = ""] = /Tell the user that (.)(.*)/.exec(hint) ?? []
  return first === "" ? [] : [`${first.toUpperCase()}${rest}`]
}

const unreadable = "What came back cannot be read."

const listed = (names: ReadonlyArray<string>): string =>
  names.length < 2 ? names[0] ?? "nothing" : `${names.slice(0, -1).join(", ")} and ${names.at(-1)}`
