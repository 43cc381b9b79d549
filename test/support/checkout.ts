/** Which checkout the imports of a script lead to, so that a script of this checkout can run the code of another one. */
import { registerHooks } from "node:module"
import { join, resolve } from "node:path"
import { pathToFileURL } from "node:url"

/** The packages that come from the checkout. `effect` is one of them, because its values must not mix with a copy's. */
const ofCheckout = /^(effect|@effect|@fallible)(\/|$)/

const leadTo = (checkout: string, isImporter: (url: string) => boolean): void => {
  // A file in the test package, which depends on all others. It need not exist.
  const parentURL = pathToFileURL(join(resolve(checkout), "test/importer.ts")).href
  registerHooks({
    resolve: (specifier, context, next) =>
      ofCheckout.test(specifier) && isImporter(context.parentURL ?? "")
        ? next(specifier, { ...context, parentURL })
        : next(specifier, context)
  })
}

/** From now on, what the tests and their support import of Fallible and Effect comes from one checkout. */
export const importFrom = (checkout: string): void => {
  const tests = new URL("..", import.meta.url).href
  leadTo(checkout, (url) => url.startsWith(tests))
}

/**
 * Imports a support module in a copy of its own, and what this module itself imports of Fallible and Effect from one
 * checkout. So one process can run two checkouts.
 */
export const importCopy = (name: string, checkout: string): Promise<unknown> => {
  const url = new URL(`${name}?${encodeURIComponent(resolve(checkout))}`, import.meta.url).href
  leadTo(checkout, (importer) => importer === url)
  return import(url)
}
