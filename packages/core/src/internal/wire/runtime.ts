/*
 * What the runtime tells about its requests.
 */
import * as Predicate from "effect/Predicate"
import { attempt } from "../value/untrusted.ts"

let isReporting: boolean | undefined = undefined

/**
 * True if the runtime reports the requests of its `fetch`, as Node does. Bun, Deno and others have Node's channels, and
 * `node:http` reports its requests there, but `fetch` does not. A handler or its client may have used it, so on those
 * runtimes neither silence nor a request that was refused proves anything.
 */
export const reportsFetch = (): boolean => isReporting ??= isNode()

const isNode = (): boolean => {
  const versions = at(globalAt("process"), "versions")
  return typeof at(globalAt("process"), "getBuiltinModule") === "function" && at(versions, "node") !== undefined &&
    at(versions, "bun") === undefined &&
    at(versions, "deno") === undefined &&
    globalAt("WebSocketPair") === undefined
}

/** Runs code once the running step is over: as the job of a promise. */
export const afterThisStep = (run: () => void): void => void Promise.resolve().then(run)

/** A global variable, which the types of this package may not know. */
export const globalAt = (key: string): unknown => at(globalThis, key)

/** A property of any value. */
export const at = (value: unknown, key: string): unknown =>
  attempt(() => Predicate.hasProperty(value, key) ? value[key] : undefined)
