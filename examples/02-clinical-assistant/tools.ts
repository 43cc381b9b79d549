/**
 * The three tools, and how each handles the faults of its sources.
 *
 *     get_patient           the internal database, tried three times
 *     get_drug_facts        the internal database, then the external API, then the cache: the first that can answer
 *     check_interactions    the external API alone, tried three times: an outdated all-clear is worse than no answer
 *
 * A failure that no policy resolves reaches the model in one shape, with a code and advice:
 *
 *     not found            unknown_patient, unknown_drug             SemanticGarbage
 *     not allowed          permission_denied                         ToolUnavailable, permanent
 *     quota used up        quota_exhausted                           ToolUnavailable, permanent
 *     down for a while     connection, database_locked, timeout,
 *                          server_error, rate_limited                ToolUnavailable, transient
 *     incomplete           incomplete_record, not_covered            PartialData: a value with a warning
 *     unreadable           invalid_json, truncated, invalid_result   SchemaMismatch of the result
 *     wrong arguments      invalid_arguments, invalid_json           SchemaMismatch of the arguments
 */
import {
  Guard,
  RetryPolicy,
  type SchemaMismatch,
  SemanticGarbage,
  Tool,
  ToolCall,
  type ToolFailure,
  Toolkit,
  ToolUnavailable
} from "@fallible/core"
import * as LastKnown from "@fallible/core/LastKnown"
import * as Suggestion from "@fallible/core/Suggestion"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import * as SchemaTransformation from "effect/SchemaTransformation"
import { Database } from "./Database.ts"
import { DrugApi } from "./DrugApi.ts"
import { DrugFacts, Interactions, Patient, type PatientRecord } from "./World.ts"

// -----------------------------------------------------------------------------
// Parameters: wrong arguments are rejected before any source is queried
// -----------------------------------------------------------------------------

const PatientId = Schema.String.annotate({ description: "The patient's id, for example 'P-1001'" }).check(
  Schema.isPattern(/^P-\d{4}$/u, { expected: "'P-' and four digits" })
)

const DrugName = Schema.String.annotate({ description: "The name of one drug, 2 to 60 letters, as in 'ibuprofen'" })
  .pipe(
    Schema.decodeTo(
      Schema.String.check(
        Schema.isPattern(/^\p{L}[\p{L}\d' -]{1,59}$/u, { expected: "the name of one drug, 2 to 60 letters" })
      ),
      SchemaTransformation.transform({ decode: (name) => name.trim().toLowerCase(), encode: (name) => name })
    )
  )

const DrugNames = Schema.Array(DrugName).check(
  Schema.isMinLength(2, { expected: "2 drugs or more" }),
  Schema.isMaxLength(10, { expected: "10 drugs at the most" }),
  Schema.isUnique({ expected: "each drug once" })
)

// -----------------------------------------------------------------------------
// The tools
// -----------------------------------------------------------------------------

export const getPatient = Tool.make("get_patient", {
  description: "A patient's record: date of birth, weight, allergies, current medications",
  parameters: Schema.Struct({ patientId: PatientId }),
  success: Patient,
  sideEffect: "none"
}, ({ patientId }) =>
  Database.use((database) => database.patient(patientId)).pipe(
    Effect.flatMap(recordOr(() => unknownPatient(patientId))),
    Effect.flatMap(checkPermission),
    Effect.tap(withSource("internal database")),
    Guard.partial(({ kilograms }) =>
      kilograms !== null ? undefined : {
        code: "incomplete_record",
        detail: "The record has no weight.",
        hint: "Go by no dose that depends on the weight; all else holds.",
        coverage: { have: 5, of: 6, unit: "fields" }
      }
    )
  )).pipe(
    Tool.timeout("2 seconds"),
    Tool.retry(RetryPolicy.transient),
    Tool.mapFailure(advising("Tell the user to look at the patient's chart on the ward."))
  )

/** The second source of `get_drug_facts`: a separate tool with its own retries and time limit. */
const askApi = Tool.make("ask_api", {
  description: "Facts of a drug, from the external API",
  parameters: Schema.Struct({ name: DrugName }),
  success: DrugFacts,
  sideEffect: "none"
}, ({ name }) => DrugApi.use((api) => api.facts(name))).pipe(
  // Inside the timeout, which thereby limits the search for a similar name, too.
  Tool.catchTag("SemanticGarbage", (_, { name }) => Effect.flatMap(unknownDrug(name), Effect.fail)),
  Tool.timeout("2 seconds"),
  Tool.retry(RetryPolicy.rateLimited),
  Tool.mapFailure(asUnavailable)
)

export const getDrugFacts = Tool.make("get_drug_facts", {
  description: "Facts of a drug: its class, the usual dose, what it interacts with",
  parameters: Schema.Struct({ name: DrugName }),
  success: DrugFacts,
  sideEffect: "none"
}, ({ name }) =>
  Database.use((database) => database.drug(name)).pipe(
    Effect.flatMap(recordOr(() => notInDatabase(name))),
    Effect.tap(withSource("internal database"))
  )).pipe(
    Tool.timeout("2 seconds"),
    Tool.retry(RetryPolicy.transient),
    Tool.mapFailure(asUnavailable),
    Tool.fallback(askApi.run, { name: "external API", insteadOf: "internal database" }),
    // Facts of a drug are the same for everybody, so the cache may answer a refusal, too.
    LastKnown.fallback({ maxAge: "7 days", name: "cache", when: ({ _tag }) => _tag === "ToolUnavailable" }),
    Tool.mapFailure(advising("Tell the user to contact the pharmacy team."))
  )

export const checkInteractions = Tool.make("check_interactions", {
  description: "What two to ten drugs do to each other",
  parameters: Schema.Struct({ drugs: DrugNames }),
  success: Interactions,
  sideEffect: "none",
  instead: ["get_drug_facts"]
}, ({ drugs }) =>
  DrugApi.use((api) => api.interactions(drugs)).pipe(
    Effect.tap(withSource("external API")),
    Guard.partial(({ covered, uncovered }) =>
      uncovered.length === 0 ? undefined : {
        code: "not_covered",
        detail: `Nothing is known of ${uncovered.join(", ")}.`,
        hint: "Say so: that no interaction is known does not mean that there is none.",
        coverage: { have: covered.length, of: drugs.length, unit: "drugs" }
      }
    )
  )).pipe(
    Tool.timeout("2 seconds"),
    Tool.retry(RetryPolicy.rateLimited)
  )

export const toolkit = Toolkit.make(getPatient, getDrugFacts, checkInteractions)

// -----------------------------------------------------------------------------
// Sources
// -----------------------------------------------------------------------------

/** The library names the source of a fallback's answer to the model. This adds a note about the source to other answers. */
const withSource = (name: string) => Effect.andThen(ToolCall.source({ name }), ToolCall.caveat(`from the ${name}`))

/** An unreadable reply of one source among several becomes `ToolUnavailable`: another source may have a readable one. */
function asUnavailable(
  failure: SchemaMismatch | SemanticGarbage | ToolUnavailable
): SemanticGarbage | ToolUnavailable {
  return failure._tag === "SchemaMismatch"
    ? new ToolUnavailable({ code: failure.code, detail: failure.detail, transient: false })
    : failure
}

/** Says where else the user can look, if a source is down and has no advice of its own. */
function advising(hint: string) {
  return <E extends ToolFailure.ToolFailure>(failure: E): E | ToolUnavailable =>
    failure._tag === "ToolUnavailable" && failure.hint === undefined
      ? new ToolUnavailable({ ...failure, hint })
      : failure
}

// -----------------------------------------------------------------------------
// Missing records and permissions
// -----------------------------------------------------------------------------

const recordOr = <E>(failure: () => E) => <A>(record: Option.Option<A>): Effect.Effect<A, E> =>
  Option.match(record, { onNone: () => Effect.fail(failure()), onSome: Effect.succeed })

/** Suggests no similar ids. They would reveal other patients, so only the user can say which one is meant. */
const unknownPatient = (id: string) =>
  new SemanticGarbage({
    code: "unknown_patient",
    detail: `There is no patient ${id}.`,
    hint: "No other id is shown, because it would reveal another patient.",
    askUser: true
  })

/** In a chain of sources, a source without the drug counts as unavailable, so the next one is asked. */
const notInDatabase = (name: string) =>
  new ToolUnavailable({
    code: "not_held",
    detail: `The internal database does not have '${name}'.`,
    transient: false,
    scope: "arguments"
  })

/** Suggests a drug with a similar name but leaves the choice to the user: confusing such names is a classic mistake. */
const unknownDrug = (name: string) =>
  Database.use(({ drugNames }) => drugNames).pipe(
    Effect.map((names) => Suggestion.didYouMean(name, names)),
    Effect.orElseSucceed(() => undefined),
    Effect.map((suggestion) =>
      new SemanticGarbage({
        code: "unknown_drug",
        detail: `No source knows a drug called '${name}'.`,
        hint: "Drugs with similar names differ in effect.",
        alternatives: suggestion === undefined ? [] : [suggestion],
        askUser: true
      })
    )
  )

/** The permissions that this assistant has. */
const permissions: ReadonlyArray<string> = ["ward"]

const checkPermission = ({ permission, ...patient }: PatientRecord): Effect.Effect<Patient, ToolUnavailable> =>
  permissions.includes(permission) ? Effect.succeed(patient) : Effect.fail(
    new ToolUnavailable({
      code: "permission_denied",
      detail: `The record of ${patient.id} needs the permission '${permission}', which this assistant does not have.`,
      hint:
        "This holds for this patient alone. Tell the user that somebody with the permission must look at the record.",
      transient: false,
      scope: "arguments"
    })
  )
