/**
 * The data of the example: four patients, nine drugs, and the interactions among these drugs. The patients
 * are invented and the drugs are simplified. None of it is medical advice.
 */
import * as Schema from "effect/Schema"

export const Patient = Schema.Struct({
  id: Schema.String,
  name: Schema.String,
  born: Schema.String,
  /** `null` for a patient who was never weighed. */
  kilograms: Schema.NullOr(Schema.Finite),
  allergies: Schema.Array(Schema.String),
  medications: Schema.Array(Schema.String)
})
export interface Patient extends Schema.Schema.Type<typeof Patient> {}

export const DrugFacts = Schema.Struct({
  name: Schema.String,
  class: Schema.String,
  dose: Schema.String,
  interactsWith: Schema.Array(Schema.String)
})
export interface DrugFacts extends Schema.Schema.Type<typeof DrugFacts> {}

export const Interaction = Schema.Struct({
  between: Schema.Tuple([Schema.String, Schema.String]),
  severity: Schema.Literals(["moderate", "major"]),
  effect: Schema.String
})
export interface Interaction extends Schema.Schema.Type<typeof Interaction> {}

/** The known interactions among some drugs, the drugs that the service knows, and those that it does not. */
export const Interactions = Schema.Struct({
  interactions: Schema.Array(Interaction),
  covered: Schema.Array(Schema.String),
  uncovered: Schema.Array(Schema.String)
})
export interface Interactions extends Schema.Schema.Type<typeof Interactions> {}

/** A patient, and the permission that a reader of the record needs. */
export const PatientRecord = Schema.Struct({ ...Patient.fields, permission: Schema.String })
export interface PatientRecord extends Schema.Schema.Type<typeof PatientRecord> {}

const patient = (id: string, name: string, born: string, kilograms: number | null, rest: Partial<PatientRecord>) => ({
  id,
  name,
  born,
  kilograms,
  allergies: [],
  medications: [],
  permission: "ward",
  ...rest
})

export const patients: ReadonlyArray<PatientRecord> = [
  patient("P-1001", "Ada Rowe", "1954-03-02", 61, { medications: ["warfarin", "lisinopril"] }),
  patient("P-1002", "Ben Okoro", "1988-11-19", 84, { allergies: ["penicillin"], medications: ["metformin"] }),
  patient("P-1003", "Cleo Marsh", "1971-06-30", null, { medications: ["simvastatin", "ginkgo"] }),
  patient("P-1004", "Dan Silva", "1995-01-08", 70, { permission: "psychiatry" })
]

const interactions: ReadonlyArray<Interaction> = [
  { between: ["ibuprofen", "warfarin"], severity: "major", effect: "bleeding is more likely" },
  { between: ["ibuprofen", "lisinopril"], severity: "moderate", effect: "the blood pressure may rise" },
  { between: ["aspirin", "warfarin"], severity: "major", effect: "bleeding is more likely" },
  { between: ["aspirin", "ibuprofen"], severity: "moderate", effect: "aspirin may protect the heart less" },
  { between: ["amoxicillin", "warfarin"], severity: "moderate", effect: "warfarin may act more strongly" },
  { between: ["clarithromycin", "simvastatin"], severity: "major", effect: "muscle damage is more likely" }
]

const drug = (name: string, kind: string, dose: string): DrugFacts => ({
  name,
  class: kind,
  dose,
  interactsWith: interactions.flatMap(({ between }) =>
    between.includes(name) ? between.filter((one) => one !== name) : []
  )
})

/** The drugs that the external service knows. */
export const drugs: ReadonlyArray<DrugFacts> = [
  drug("ibuprofen", "NSAID", "200 to 400 mg every 6 to 8 hours"),
  drug("paracetamol", "analgesic", "500 to 1,000 mg every 6 hours"),
  drug("warfarin", "anticoagulant", "by blood test"),
  drug("lisinopril", "ACE inhibitor", "10 mg once a day"),
  drug("metformin", "biguanide", "500 mg twice a day"),
  drug("amoxicillin", "penicillin antibiotic", "500 mg every 8 hours"),
  drug("aspirin", "NSAID", "300 to 900 mg every 4 to 6 hours"),
  drug("clarithromycin", "macrolide antibiotic", "250 mg twice a day"),
  drug("simvastatin", "statin", "20 mg in the evening")
]

/** The drugs in the hospital's own database. */
export const inHouse: ReadonlyArray<DrugFacts> = drugs.slice(0, 6)

export const findDrug = (name: string): DrugFacts | undefined => drugs.find((drug) => drug.name === name)

export const interactionsAmong = (names: ReadonlyArray<string>): Interactions => ({
  interactions: interactions.filter(({ between }) => between.every((name) => names.includes(name))),
  covered: names.filter((name) => findDrug(name) !== undefined),
  uncovered: names.filter((name) => findDrug(name) === undefined)
})
