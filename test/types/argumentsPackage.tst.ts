import { Arguments, decode, fit, type JsonObject, message, type Refusal, type Refused } from "@fallible/arguments"
import { expect, test } from "tstyche"
import { z } from "zod"

interface Trip {
  readonly city: string
}

// A JSON Schema as its own types have it: without an index signature.
interface JSONSchema7 {
  readonly type?: string
  readonly properties?: { readonly [key: string]: JSONSchema7 | boolean }
}
declare const schema: JSONSchema7

test("a schema of zod gives the type of its output", () => {
  const args = Arguments.of(z.object({ days: z.int().default(3), at: z.string().transform(Number) }))
  expect(args).type.toBe<Arguments<{ days: number; at: number }>>()
  const decoded = args.decode("{}")
  if (decoded.ok) expect(decoded.value).type.toBe<{ days: number; at: number }>()
  else expect(decoded).type.toBe<Refused<Refusal>>()
  const fitted = args.fit({})
  if (fitted.ok) expect(fitted.value).type.toBe<{ days: number; at: number }>()
})

test("a JSON Schema gives an object, or what its user claims", () => {
  expect(Arguments.of({ type: "object" })).type.toBe<Arguments<JsonObject>>()
  expect(Arguments.of<Trip>(schema)).type.toBe<Arguments<Trip>>()
})

test("any object type is accepted as a JSON Schema, and nothing else", () => {
  expect(decode).type.toBeCallableWith("{}", schema)
  expect(fit).type.toBeCallableWith({}, schema)
  expect(decode).type.not.toBeCallableWith("{}", true)
  expect(decode).type.not.toBeCallableWith("{}", schema, { prosa: true })
  expect(decode).type.toBeCallableWith(null, schema)
})

test("the message of a refusal, or of all repairs, is a string", () => {
  const decoded = decode("{}", schema)
  expect(message(decoded.ok ? decoded.repairs : decoded.refusal)).type.toBe<string>()
})
