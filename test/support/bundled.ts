import { join } from "node:path"
import { rolldown } from "rolldown"
import { root } from "./program.ts"

/**
 * Returns the code of a package, bundled and minified.
 *
 * @param global the name of the global variable with its exports
 */
export const bundled = async (name: string, global: string): Promise<string> => {
  const built = await rolldown({ input: join(root, `packages/${name}/src/index.ts`) })
  const { output: [{ code }] } = await built.generate({ format: "iife", minify: true, name: global })
  return code
}

/** Returns the code that somebody bundles who imports one function of a package, minified. */
export const bundledAlone = async (name: string, one: string): Promise<string> => {
  const built = await rolldown({
    input: "entry",
    plugins: [{
      name: "entry",
      resolveId: (id) => id === "entry" ? id : null,
      load: (id) =>
        id === "entry" ? `export { ${one} } from ${JSON.stringify(join(root, `packages/${name}/src/index.ts`))}` : null
    }]
  })
  const { output: [{ code }] } = await built.generate({ format: "es", minify: true })
  return code
}
