import * as HashMap from "effect/HashMap"
import * as Option from "effect/Option"

/** Returns the fact about an effect. An effect without one is new in this run, so a forgotten one gets another key. */
export const factOf = <Fact>(
  { intents, run }: { readonly intents: HashMap.HashMap<string, Fact>; readonly run: number },
  id: string
): Fact | { readonly run: number; readonly number: number } =>
  Option.getOrElse(HashMap.get(intents, id), () => ({ run, number: 1 }))
