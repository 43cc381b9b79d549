import * as HashMap from "effect/HashMap"
import * as Option from "effect/Option"

/** Returns the fact about an intent. An intent without a fact is new in its scope. */
export const factOf = <Fact>(
  { intents }: { readonly intents: HashMap.HashMap<string, Fact> },
  id: string
): Fact | { readonly number: number } => Option.getOrElse(HashMap.get(intents, id), () => ({ number: 1 }))
