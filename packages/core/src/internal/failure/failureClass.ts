import type * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Effectable from "effect/Effectable"
import * as Exit from "effect/Exit"
import { NodeInspectSymbol } from "effect/Inspectable"
import * as Schema from "effect/Schema"
import * as SchemaTransformation from "effect/SchemaTransformation"
import { currentContext } from "../fiber/runContained.ts"
import { kind } from "../value/text.ts"
import { silence } from "../value/untrusted.ts"
import { fieldOf } from "./failureField.ts"

/**
 * The base of every failure of this library.
 *
 * A failure is a value: yieldable, typed, and an `Error` for `instanceof` checks in loggers and error
 * reporters. `Error`'s own constructor never runs. It would capture a stack, which costs a hundred times as
 * much as the failure. A stack would add nothing to the tool's name and the failure's code.
 *
 * The `cause` is not enumerable. It is meant for logs in this process: no spread, encoding or
 * `JSON.stringify` carries it further.
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
  // Node's inspection, as in `console.log`, also shows the cause.
  [NodeInspectSymbol]: {
    value(this: { readonly cause?: unknown }) {
      return this.cause === undefined ? { ...this } : { ...this, cause: this.cause }
    }
  }
})

type Fields = Readonly<Record<string, unknown>>

/** Values for required fields that are missing. */
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
      set(failure, key, value === undefined || field.read === undefined ? value : field.read(value))
    } else {
      set(failure, key, field.mend(value))
      silence(value)
      wrong.push(`'${key}' must be ${field.expected}; got ${kind(value)}`)
    }
  }
  for (const key of required) {
    if (failure[key] !== undefined) continue
    failure[key] = defaults[key]
    if (fields[key] === undefined) wrong.push(`'${key}' is missing`)
  }
  if (wrong.length > 0) {
    warn(`A ${made?.name ?? "failure"} was made with fields of the wrong type: ${wrong.join("; ")}.`)
  }
}

// Sets a field, unless its value is `undefined`. A field cannot override a member of the prototype, such as
// `message`.
const set = (failure: Record<string, unknown>, key: string, value: unknown) => {
  if (value === undefined) return
  if (key === "cause") Object.defineProperty(failure, key, own(value, false))
  else if (!(key in prototype)) failure[key] = value
}

// A constructor is not an Effect, so the current fiber supplies the logger.
const warn = (message: string) => Effect.runForkWith(currentContext<never>())(Effect.logWarning(message))

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

/**
 * A base class for failures whose constructor does not check its fields. The fields are checked by the code
 * that reads the failure.
 */
export const RawFailure: FailureConstructor = asConstructor(constructRaw)

/** A base class for failures that have a code. */
export const CodedFailure: FailureConstructor = asConstructor(constructCoded)

/**
 * Returns a base class for failures, like {@link Failure}.
 *
 * @param members replace members of the prototype, for example `toString`
 */
export const failureWith = (members: PropertyDescriptorMap): FailureConstructor => {
  function construct(this: Record<string, unknown>, fields: Fields) {
    fill(this, fields, ["detail"], new.target)
  }
  construct.prototype = Object.create(prototype, members)
  return asConstructor(construct)
}

/** A base class for failures: `class MyFailure extends Failure<{ readonly detail: string }> {}`. */
export const Failure: FailureConstructor = failureWith({})

/** Returns a copy of a failure, of the same class, with some fields changed. The failure itself may be frozen. */
export const withFields = <F extends object>(failure: F, fields: Partial<F> & { readonly cause?: unknown }): F => {
  const { cause = "cause" in failure ? failure.cause : undefined, ...shown } = fields
  const copy: F = Object.create(Object.getPrototypeOf(failure))
  // Defined, not assigned: a class of the user may have an accessor of the same name.
  for (const [key, value] of Object.entries({ ...failure, ...shown })) {
    Object.defineProperty(copy, key, own(value, true))
  }
  return cause === undefined ? copy : Object.defineProperty(copy, "cause", own(cause, false))
}

const own = (value: unknown, enumerable: boolean): PropertyDescriptor => ({
  value,
  enumerable,
  writable: true,
  configurable: true
})

/**
 * Returns a failure with the cause of another failure, unless the first has its own cause. This restores a
 * cause that a spread has lost. The failure itself does not change, since it may be a shared constant.
 */
export const withCauseOf = <F extends { readonly cause?: unknown }>(
  failure: F,
  other: { readonly cause?: unknown }
): F =>
  failure.cause !== undefined || other.cause === undefined
    ? failure
    : withFields(failure, { cause: other.cause } as Partial<F>)

/**
 * Returns the schema of a failure, built on the schema of its fields. `cause` is not enumerable, so it is not
 * encoded.
 *
 * @param constructor returns the class on first use, so that the class can hold its own schema in a static field
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
