/**
 * The four tools. Two of them depend on the geocoder, and declare what to do when it is down:
 *
 *     deadline( fallback( retry( timeout( locate, then answer ) ) ) )
 *
 * The call is first tried three times. Then the last known place answers, marked with its age. If no place is known,
 * the user is asked which city to use instead. If the user names none, the call fails, and lists the cached cities.
 *
 * The timeout of an attempt, and the deadline of the other two tools, are defaults of the toolkit.
 */
import { Policy, RetryPolicy, SemanticGarbage, Tool, ToolCall, Toolkit, ToolUnavailable } from "@fallible/core"
import * as Suggestion from "@fallible/core/Suggestion"
import * as DateTime from "effect/DateTime"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import { Geocoder, type Place, recall, rememberedNames } from "./Geocoder.ts"
import { type City, cityNames, convert, currencies, findCity } from "./World.ts"

const InCity = Schema.Struct({
  city: Schema.String.annotate({ description: "The city's name in English, for example 'New York'" })
})

/** How long a call may take in all. The time of a person who is asked does not count: the run ends with the question. */
const deadline = "15 seconds"

const getWeather = Tool.make("get_weather", {
  description: "The weather in a city right now",
  parameters: InCity,
  success: Schema.Struct({ city: Schema.String, celsius: Schema.Finite, sky: Schema.String }),
  sideEffect: "none"
}, ({ city }) => Effect.map(locate(city), weatherAt)).pipe(
  Tool.retry(RetryPolicy.transient),
  Tool.fallback(({ city }) => Effect.map(lastKnown(city, "weather"), weatherAt)),
  Tool.deadline(deadline)
)

const getLocalTime = Tool.make("get_local_time", {
  description: "The date and time in a city right now",
  parameters: InCity,
  success: Schema.Struct({ city: Schema.String, zone: Schema.String, time: Schema.String }),
  sideEffect: "none"
}, ({ city }) => Effect.flatMap(locate(city), timeAt)).pipe(
  Tool.retry(RetryPolicy.transient),
  Tool.fallback(({ city }) => Effect.flatMap(lastKnown(city, "time"), timeAt)),
  Tool.deadline(deadline)
)

const getPopulation = Tool.make("get_population", {
  description: "How many people live in a city",
  parameters: InCity,
  success: Schema.Struct({ city: Schema.String, population: Schema.Int }),
  sideEffect: "none"
}, ({ city }) => Effect.map(knownCity(city), ({ name, population }) => ({ city: name, population })))

const convertCurrency = Tool.make("convert_currency", {
  description: "Converts an amount of money from one currency to another",
  parameters: Schema.Struct({
    amount: Schema.Finite.annotate({ description: "How much, in the currency 'from'" }),
    from: Schema.Literals(currencies),
    to: Schema.Literals(currencies)
  }),
  success: Schema.Struct({ amount: Schema.Finite, from: Schema.String, to: Schema.String, converted: Schema.Finite }),
  sideEffect: "none"
}, ({ amount, from, to }) => Effect.succeed({ amount, from, to, converted: convert(amount, from, to) }))

export const toolkit = Toolkit.make(getWeather, getLocalTime, getPopulation, convertCurrency).pipe(
  Toolkit.withDefaults(Policy.standard({ attemptTimeout: "2 seconds", totalTimeout: deadline }))
)

// -----------------------------------------------------------------------------
// Shared by the tools
// -----------------------------------------------------------------------------

const knownCity = (name: string): Effect.Effect<City, SemanticGarbage> => {
  const city = findCity(name)
  return city === undefined
    ? Effect.fail(
      new SemanticGarbage({
        code: "unknown_city",
        detail: `Unknown city: '${name}'.`,
        hint: "Choose one of the alternatives.",
        alternatives: Suggestion.nearest(name, cityNames)
      })
    )
    : Effect.succeed(city)
}

const locate = (name: string) => Effect.flatMap(knownCity(name), (city) => Geocoder.use(({ locate }) => locate(city)))

/** Returns a place without the geocoder: the cached one, or the one that the user chooses instead. */
const lastKnown = (name: string, wanted: string): Effect.Effect<Place, SemanticGarbage | ToolUnavailable, Geocoder> =>
  Effect.flatMap(knownCity(name), (city) => cachedOrChosen(city, { wanted, missing: [], unknown: [] }))

/** What has been tried so far to get a place. Its lists grow with each question, so no two questions are equal. */
interface Search {
  readonly wanted: string
  /** The cities without a place, by name. */
  readonly missing: ReadonlyArray<string>
  /** The replies of the user that are no known city. */
  readonly unknown: ReadonlyArray<string>
}

const cachedOrChosen = (city: City, search: Search): Effect.Effect<Place, ToolUnavailable, Geocoder> => {
  const entry = recall(city)
  return entry === undefined
    ? chosenInstead({ ...search, missing: [...search.missing, city.name] })
    : Effect.as(ToolCall.source({ name: "cache", age: entry.age }), entry.place)
}

/** Asks the user for another city, and locates it. */
const chosenInstead = (search: Search): Effect.Effect<Place, ToolUnavailable, Geocoder> =>
  Effect.gen(function*() {
    const { missing, unknown } = search
    const reply = (yield* ToolCall.ask(questionOf(search))).trim()
    if (/^(none|no)?$/i.test(reply)) return yield* unavailable(missing, "The user wants no other city.")
    const city = findCity(reply)
    const name = city?.name ?? reply
    if ([...missing, ...unknown].includes(name)) return yield* unavailable(missing, `The user chose ${name} again.`)
    if (city === undefined) return yield* chosenInstead({ ...search, unknown: [...unknown, name] })
    yield* ToolCall.caveat(`the user chose ${name} instead of ${missing.join(", ")}`)
    return yield* Effect.catchTag(
      Geocoder.use(({ locate }) => locate(city)),
      "ToolUnavailable",
      () => cachedOrChosen(city, search)
    )
  })

const questionOf = ({ missing, unknown, wanted }: Search): string =>
  [
    ...unknown.length === 0 ? [] : [`Unknown city: ${unknown.join(", ")}.`],
    `The ${wanted} in ${missing.join(", ")} is not available: the geocoder is down, and nothing is cached for it.`,
    `${cachedCities} Which city should be used instead? Reply "none" to go on without one.`
  ].join(" ")

const unavailable = (missing: ReadonlyArray<string>, reason: string) =>
  new ToolUnavailable({
    code: "connection",
    detail: `The geocoder is down, and nothing is cached for ${missing.join(", ")}. ${reason}`,
    hint: cachedCities,
    transient: true
  })

const cachedCities = `Cached cities: ${rememberedNames.join(", ")}.`

const weatherAt = ({ city }: Place) => ({ city: city.name, celsius: city.celsius, sky: city.sky })

const timeAt = ({ city, zone }: Place) =>
  Effect.map(DateTime.now, (now) => ({
    city: city.name,
    zone,
    time: DateTime.setZoneNamedUnsafe(now, zone).pipe(DateTime.format({
      locale: "en-GB",
      weekday: "long",
      day: "numeric",
      month: "long",
      year: "numeric",
      hour: "2-digit",
      minute: "2-digit"
    }))
  }))
