import type * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Effectable from "effect/Effectable"
import * as Exit from "effect/Exit"
import { NodeInspectSymbol } from "effect/Inspectable"
import * as Schema from "effect/Schema"
import * as SchemaTransformation from "effect/SchemaTransformation"
import { currentContext } from "../effect/contained.ts"
import { kind } from "../value/text.ts"
import { silence } from "../value/untrusted.ts"
import { fieldOf } from "./failureField.ts"

/**
 * The one constructor behind every failure of this library.
 *
 * A failure is a value: yieldable, typed, and an `Error` for whoever looks with
 * `instanceof` (a rejected promise, a logger, an error reporter). Only `Error`'s own
 * constructor never runs, since the stack it would capture costs a hundred times the
 * failure itself and says nothing that the tool's name and the failure's code do not.
 *
 * The `cause` is not enumerable: it is there for logs in this process, and no spread,
 * encoding or `JSON.stringify` carries it further.
 */
const effectPrototype = Effectable.Prototype<Cause.YieldableError>({
  label: "Failure",
  evaluate() {
    return Exit.fail(this)
  }
})

const prototype: object = Object.create(Error.prototype, {
  ...Object.getOwnPropertyDescriptors(effectPrototype),
  name: {
    get(this: { readonly _tag: string }) {
      return this._tag
    }
  },
  message: {
    get(this: { readonly detail: string }) {
      return this.detail
    }
  },
  toString: {
    value(this: { readonly _tag: string; readonly detail: string }) {
      return `${this._tag}: ${this.detail}`
    }
  },
  toJSON: {
    value(this: object) {
      return { ...this }
    }
  },
  // For a terminal in this process: the cause, too.
  [NodeInspectSymbol]: {
    value(this: { readonly cause?: unknown }) {
      return this.cause === undefined ? { ...this } : { ...this, cause: this.cause }
    }
  }
})

type Fields = Readonly<Record<string, unknown>>

/** What stands in for a field that every failure of a class has, where nobody has given it. */
const defaults = { code: "unspecified", detail: "The failure does not say what went wrong." }

const fill = (
  failure: Record<string, unknown>,
  fields: Fields,
  required: ReadonlyArray<keyof typeof defaults>,
  made: { readonly name: string } | undefined
) => {
  const wrong: Array<string> = []
  for (const key in fields) {
    const value = fields[key]
    const field = fieldOf(key)
    if (field === undefined) {
      silence(value)
      set(failure, key, value)
    } else if (value === undefined || field.is(value)) {
      set(failure, key, value)
    } else {
      set(failure, key, field.mend(value))
      silence(value)
      wrong.push(`'${key}' is ${kind(value)}, and not ${field.expected}`)
    }
  }
  for (const key of required) {
    if (failure[key] !== undefined) continue
    failure[key] = defaults[key]
    if (fields[key] === undefined) wrong.push(`'${key}' is missing`)
  }
  if (wrong.length > 0) warn(`A ${made?.name ?? "failure"} was made of ill-typed fields: ${wrong.join("; ")}.`)
}

// A field that is given as `undefined` counts as not given; what a failure is by itself, its message, say, is not for its fields to change.
const set = (failure: Record<string, unknown>, key: string, value: unknown) => {
  if (value === undefined) return
  if (key === "cause") Object.defineProperty(failure, key, { value, enumerable: false })
  else if (!(key in prototype)) failure[key] = value
}

// A constructor is not an Effect; the fiber that runs it knows where logs go.
const warn = (message: string) => Effect.runForkWith(currentContext<never>())(Effect.logWarning(message))

function construct(this: Record<string, unknown>, fields: Fields) {
  fill(this, fields, ["detail"], new.target)
}
construct.prototype = prototype

function constructCoded(this: Record<string, unknown>, fields: Fields) {
  fill(this, fields, ["code", "detail"], new.target)
}
constructCoded.prototype = prototype

function constructRaw(this: Record<string, unknown>, fields: Fields) {
  for (const key in fields) set(this, key, fields[key])
}
constructRaw.prototype = prototype

type FailureConstructor = abstract new<Fields extends { readonly detail: string; readonly cause?: unknown }>(
  fields: Fields
) => Cause.YieldableError & Readonly<Fields>

// The constructors above are plain functions, for which TypeScript has no class type.
const asConstructor = (value: unknown): FailureConstructor => value as FailureConstructor

/** A base class for failures whose fields are looked at where they are read. */
export const RawFailure: FailureConstructor = asConstructor(constructRaw)

/** A base class for failures that have a code. */
export const CodedFailure: FailureConstructor = asConstructor(constructCoded)

/** A base class for failures: `class MyFailure extends Failure<{ readonly detail: string }> {}`. */
export const Failure: FailureConstructor = asConstructor(construct)

/** A copy of a failure, of the same class and with the same cause, that differs in some properties. The failure may be frozen. */
const changed = <F extends object>(failure: F, changes: PropertyDescriptorMap): F =>
  Object.create(Object.getPrototypeOf(failure), { ...Object.getOwnPropertyDescriptors(failure), ...changes })

const field = (value: unknown, enumerable: boolean): PropertyDescriptor => ({
  value,
  enumerable,
  writable: true,
  configurable: true
})

/** A failure with some fields changed. One that is not enumerable stays so. */
export const withFields = <F extends object>(failure: F, fields: Partial<F>): F => {
  const isShown = (key: string) => !Object.hasOwn(failure, key) || Object.keys(failure).includes(key)
  return changed(
    failure,
    Object.fromEntries(Object.entries(fields).map(([key, value]) => [key, field(value, isShown(key))]))
  )
}

/** A failure with a field for all who look, and in every copy. */
export const withShown = <F extends object>(failure: F, key: keyof F & string, value: unknown): F =>
  changed(failure, { [key]: field(value, true) })

/**
 * A failure with the cause of another one, unless it has its own: a spread leaves the cause behind. A copy, since
 * a failure may be a constant that many share.
 */
export const withCauseOf = <F extends { readonly cause?: unknown }>(
  failure: F,
  other: { readonly cause?: unknown }
): F =>
  failure.cause !== undefined || other.cause === undefined
    ? failure
    : changed(failure, { cause: field(other.cause, false) })

/**
 * The schema of a failure, over the schema of its fields. `cause`, not being enumerable, stays behind.
 *
 * The class is asked for late, so that it can hold its own schema in a static field.
 */
export const codec = <F extends object, Fields extends object, I>(
  fields: Schema.Codec<Fields, I>,
  constructor: () => new(fields: Fields) => F & Fields
): Schema.Codec<F, I> =>
  Schema.suspend(() =>
    fields.pipe(
      Schema.decodeTo(
        Schema.instanceOf(constructor()),
        SchemaTransformation.transform<F & Fields, Fields>({
          decode: (value) => new (constructor())(value),
          encode: (failure) => ({ ...failure })
        })
      )
    )
  )
