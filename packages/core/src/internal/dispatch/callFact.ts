import * as HashMap from "effect/HashMap"
import * as Option from "effect/Option"

/**
 * Returns the fact about an intent. An intent without a fact counts as new in this run. So if a fact was dropped,
 * the next call with that intent gets a different key.
 */
export const factOf = <Fact>(
  { intents, keyRun, run }: {
    readonly intents: HashMap.HashMap<string, Fact>
    readonly keyRun?: number
    readonly run: number
  },
  id: string
): Fact | { readonly run: number; readonly number: number } =>
  Option.getOrElse(HashMap.get(intents, id), () => ({ run: keyRun ?? run, number: 1 }))
