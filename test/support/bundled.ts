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
