/*
 * Copies errors without the secrets that they quote. Errors are not what they seem: they refer to themselves, they hold requests
 * and sockets, and reading them may throw.
 */
import * as Predicate from "effect/Predicate"

/**
 * Returns an error if it has no secret, or else a copy without it.
 *
 * @param isComplete whether `hide` finds every secret. Otherwise, what cannot be copied is left out, and so is all after the
 * first thousand fields
 */
export const copyWithout = (hide: (text: string) => string, error: unknown, isComplete: boolean): unknown => {
  try {
    return cleaned({ hide, isComplete, copies: new Map(), fields: 0 }, error, 0)
  } catch {
    return "an error that cannot be read"
  }
}

interface Cleaning {
  readonly hide: (text: string) => string
  readonly isComplete: boolean
  /** What was made of each object, because an error may refer to itself. */
  readonly copies: Map<object, unknown>
  /** How many fields were read. */
  fields: number
}

const cleaned = (cleaning: Cleaning, value: unknown, depth: number): unknown => {
  const { copies, hide, isComplete } = cleaning
  if (typeof value === "string") return hide(value)
  if (!Predicate.isObjectOrArray(value)) return value
  if (copies.has(value)) return copies.get(value)
  if (!isCopied(value) || depth > 10 || (!isComplete && cleaning.fields > mostFields)) {
    // Another object may have a secret where no copy reaches it, such as the headers of a request.
    return isComplete ? value : `<${value.constructor?.name ?? "object"}>`
  }
  const copy: object = Array.isArray(value) ? [] : Object.create(prototypeOf(value))
  copies.set(value, copy)
  let isChanged = false
  for (const [name, field] of fieldsOf(value)) {
    cleaning.fields++
    const isText = name !== "name" && name !== "code"
    const clean = isText ? cleaned(cleaning, field.value, depth + 1) : field.value
    if (clean !== field.value) isChanged = true
    Object.defineProperty(copy, name, "value" in field ? { ...field, value: clean } : field)
  }
  if (!isChanged) copies.set(value, value)
  return copies.get(value)
}

const mostFields = 1000

const isCopied = (value: object): boolean => {
  const prototype: unknown = Object.getPrototypeOf(value)
  return value instanceof Error || Array.isArray(value) || prototype === Object.prototype || prototype === null
}

// A platform's own error, such as an AbortError, has getters that refuse a copy.
const isOfPlatform = (error: object): error is Error =>
  Object.prototype.toString.call(error) === "[object DOMException]"

const prototypeOf = (error: object): object | null =>
  isOfPlatform(error) ? Error.prototype : Object.getPrototypeOf(error)

const fieldsOf = (error: object): ReadonlyArray<readonly [name: PropertyKey, field: PropertyDescriptor]> => {
  const fields = Reflect.ownKeys(error).map((name) => [name, Object.getOwnPropertyDescriptor(error, name)!] as const)
  return isOfPlatform(error)
    ? [...fields, ["name", { value: error.name }], ["message", { value: error.message }]]
    : fields
}
