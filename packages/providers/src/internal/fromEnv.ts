/** Settings from the environment. No error quotes a variable's value, because the value may be secret. */
import * as Config from "effect/Config"
import * as Effect from "effect/Effect"
import * as Redacted from "effect/Redacted"
import * as Schema from "effect/Schema"
import * as Endpoint from "./endpoint.ts"

/** Prefers a value that the program itself gives. The variable is read only if there is no such value. */
export const given = <A>(value: A | undefined, config: Config.Config<A>): Config.Config<A> =>
  value === undefined ? config : Config.succeed(value)

/** Reads the name of a model. The variable is required. */
export const model = (name: string): Config.Config<string> => {
  const decode = Schema.decodeUnknownEffect(Schema.Struct({ [name]: Named }))
  return Config.String(name).pipe(
    Config.withDefault(""),
    Config.mapEffect((text) =>
      Effect.mapBoth(decode({ [name]: text.trim() }), {
        onSuccess: () => text.trim(),
        onFailure: (error) => new Config.ConfigError(error)
      })
    )
  )
}

const Named = Schema.String.check(Schema.makeFilter((text) => text === "" ? `Expected ${Endpoint.aModel}` : undefined))

/** Reads an address. An empty variable counts as absent. */
export const address = (
  name: string,
  options: { readonly fallback: string; readonly problem: (text: string) => string | undefined }
): Config.Config<string> =>
  Config.schema(
    Schema.String.check(
      Schema.makeFilter((text: string) => {
        const problem = text.trim() === "" ? undefined : options.problem(text)
        return problem === undefined ? undefined : `Expected ${problem}`
      })
    ),
    name
  ).pipe(
    Config.withDefault(""),
    Config.map((text) => text.trim() === "" ? options.fallback : text)
  )

/** Reads a key. An empty variable counts as absent. */
export const apiKey = (name: string): Config.Config<Redacted.Redacted | undefined> =>
  Config.schema(
    Schema.String.check(
      Schema.makeFilter((text: string) => Endpoint.isHeaderText(text) ? undefined : `Expected ${Endpoint.aKey}`)
    ),
    name
  ).pipe(
    Config.withDefault(""),
    Config.map((text) => text.trim() === "" ? undefined : Redacted.make(text.trim()))
  )
