/**
 * Makes random calls, lets them drift as models do, and checks that none is read as another call. What "another
 * value" means is written at the head of `test/bench/drifts.ts`.
 */
import { decode, type Json, type JsonObject } from "@fallible/arguments"
import { randomly } from "./dialects.ts"
import { driftedCall } from "./driftedCalls.ts"
import { record, schemaOf } from "./driftKinds.ts"

/** A call that was read as another value. */
export interface Example {
  readonly schema: JsonObject
  readonly intended: Json
  readonly text: string
  readonly read: unknown
  readonly drifts: ReadonlyArray<string>
}

export interface Drifts {
  readonly restored: number
  readonly refused: number
  readonly another: number
  /** For each set of drifts, the shortest text that was read as another value. The most frequent set is first. */
  readonly examples: ReadonlyArray<Example>
}

/** Reads `count` drifted calls. */
export const drifts = (count: number, seed: number): Drifts => {
  const next = randomly(seed)
  let restored = 0
  let refused = 0
  const another = new Map<string, { count: number; example: Example }>()
  for (let left = count; left > 0;) {
    const kind = record(0, next)
    const schema = schemaOf(kind, next)
    // Preparing a schema takes longer than reading a text, so each is used for several calls.
    for (let calls = 20; calls > 0 && left > 0; calls--) {
      const call = driftedCall(kind, next)
      if (call === undefined) continue
      left--
      const read = reading(call.text, schema)
      if (!read.ok) refused++
      else if (call.isMeant(read.value)) restored++
      else {
        const example = { schema, intended: call.intended, text: call.text, read: read.value, drifts: call.drifts }
        const key = call.drifts.toSorted().join()
        const known = another.get(key)
        if (known === undefined) another.set(key, { count: 1, example })
        else {
          known.count++
          if (sizeOf(example) < sizeOf(known.example)) known.example = example
        }
      }
    }
  }
  const kinds = [...another.values()].toSorted((one, other) => other.count - one.count)
  return {
    restored,
    refused,
    another: kinds.reduce((sum, { count }) => sum + count, 0),
    examples: kinds.map(({ example }) => example)
  }
}

const sizeOf = ({ schema, text }: Example): number => text.length + JSON.stringify(schema).length

const reading = (text: string, schema: JsonObject): { readonly ok: boolean; readonly value?: unknown } => {
  try {
    return decode(text, schema)
  } catch (error) {
    // No text may make the package throw, so it counts as another value.
    return { ok: true, value: `thrown: ${String(error)}` }
  }
}
