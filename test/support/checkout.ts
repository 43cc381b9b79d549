/** Which checkout the imports of a script lead to, so that a script of this checkout can run the code of another one. */
import { registerHooks } from "node:module"
import { join, resolve } from "node:path"
import { pathToFileURL } from "node:url"

/** The packages that come from the checkout. `effect` is one of them, because its values must not mix with a copy's. */
const ofCheckout = /^(effect|@effect|@fallible)(\/|$)/

/** A file in the test package, which depends on all others. It need not exist. */
const importer = (checkout: string) => pathToFileURL(join(resolve(checkout), "test/importer.ts")).href

/** From now on, all imports of Fallible and Effect lead to one checkout, except the imports of its own packages. */
export const importFrom = (checkout: string): void => {
  const parentURL = importer(checkout)
  const support = new URL("..", import.meta.url).href
  registerHooks({
    resolve: (specifier, context, next) =>
      ofCheckout.test(specifier) && context.parentURL?.startsWith(support)
        ? next(specifier, { ...context, parentURL })
        : next(specifier, context)
  })
}
