/**
 * A stand-in for a language model, behind the same `Model` service. It reads the question and the tool
 * messages, and decides what to do next. It is a small deterministic program that knows only the four
 * tools, their cities and their currencies.
 *
 * Like a model, it sees only text. On each turn it
 *
 *   1. splits the question into wishes ("the weather in London", "50 GBP in JPY"),
 *   2. searches the tool messages for the result of each wish,
 *   3. calls a tool for each wish without a result, and corrects a misspelled city once,
 *   4. answers when no call is left, or says what it can do if the question has no wish.
 */
import { Model, type ToolCall, type Transcript } from "@fallible/core"
import * as Suggestion from "@fallible/core/Suggestion"
import * as Effect from "effect/Effect"
import type * as Layer from "effect/Layer"
import type * as Schema from "effect/Schema"
import { type Result, resultsOf } from "../shared/ToolMessages.ts"
import { cityNames } from "./World.ts"

export const notice = "A stand-in plays the model: a small planner in this process. No language model is asked."

export const layer: Layer.Layer<Model.Model> = Model.layer({
  respond: ({ transcript }) => Effect.sync(() => reply(Array.from(transcript)))
})

/** Returns the model's next message. */
export const reply = (messages: ReadonlyArray<Transcript.Message>): Model.Reply => {
  const questionIndex = messages.findLastIndex(({ role }) => role === "user")
  const wishes = wishesOf(messages.slice(0, questionIndex + 1))
  const results = resultsOf(messages.slice(questionIndex + 1))
  const calls = wishes.flatMap((wish) => nextCall(wish, results))
  return calls.length > 0
    ? { text: "", calls: calls.map((call, index) => ({ id: `call_${results.length + index + 1}`, ...call })) }
    : { text: answer(wishes, results), calls: [] }
}

// -----------------------------------------------------------------------------
// 1. The question
// -----------------------------------------------------------------------------

type CityTool = "get_weather" | "get_local_time" | "get_population"

type Wish =
  | { readonly tool: CityTool; readonly city: string }
  | { readonly tool: "convert_currency"; readonly amount: number; readonly from: string; readonly to: string }

const topics: ReadonlyArray<readonly [CityTool, RegExp]> = [
  ["get_weather", /\b(weather|temperature|forecast|warm|hot|cold|rain\w*|sunny|umbrella|degrees)\b/i],
  ["get_local_time", /\b(time|o'clock|clock|date|day is it)\b/i],
  ["get_population", /\b(population|inhabitants|people|how big|residents)\b/i]
]

/** Extracts the wishes of the latest question. If it only names places, the topics of earlier questions apply. */
const wishesOf = (messages: ReadonlyArray<Transcript.Message>): ReadonlyArray<Wish> => {
  const questions = messages.flatMap((message) => message.role === "user" ? [message.text] : [])
  const latest = questions.at(-1) ?? ""
  const earlier = questions.slice(0, -1).flatMap((question) => topicsOf(question))
  const wishes = sentencesOf(latest).flatMap((sentence, _, all) => {
    const own = topicsOf(sentence)
    const tools = own.length > 0 ? own : all.some((other) => topicsOf(other).length > 0) ? [] : earlier
    return [...placesOf(sentence).flatMap((city) => tools.map((tool) => ({ tool, city }))), ...conversionsOf(sentence)]
  })
  return wishes.filter((wish, index) => wishes.findIndex((other) => same(wish, other)) === index)
}

const sentencesOf = (question: string): ReadonlyArray<string> =>
  question.split(/(?<=[.?!;])\s+|,?\s+\b(?=(?:and|then|also)\s+(?:convert|what|how|tell)\b)/i)

const topicsOf = (sentence: string): ReadonlyArray<CityTool> =>
  topics.flatMap(([tool, pattern]) => pattern.test(sentence) ? [tool] : [])

/** Finds known cities, whatever their case and accents, and other words that look like the name of a place. */
const placesOf = (sentence: string): ReadonlyArray<string> => {
  const plain = sentence.normalize("NFD").replace(/\p{M}/gu, "")
  const knownCities = cityNames.flatMap((city) => {
    const at = plain.search(new RegExp(`\\b${city}\\b`, "i"))
    return at < 0 ? [] : [{ city, at }]
  })
  const others = Array.from(plain.matchAll(/\b\p{Lu}[\p{L}'-]+(?:\s+\p{Lu}[\p{L}'-]+)*/gu), ({ 0: city, index }) => ({
    city,
    at: index
  })).filter(({ at, city }) =>
    at > 0 && !/^[A-Z]{3}$/.test(city) && !noPlace.test(city) &&
    !knownCities.some((one) => city.toLowerCase().includes(one.city.toLowerCase()))
  )
  return [...knownCities, ...others].toSorted((a, b) => a.at - b.at).map(({ city }) => city)
}

const noPlace = /^(And|Also|Then|What|When|Where|How|Is|Are|Convert|Tell|Please|The|In|I|Monday|Tuesday)\b/

const conversionsOf = (sentence: string): ReadonlyArray<Wish> =>
  Array.from(
    sentence.matchAll(/(?<![\w.,])(-?[\d,]*\.?\d+)\s*([a-z]{3})\s+(?:in\s?to|to|in|as)\s+([a-z]{3})\b/gi),
    ([, amount = "", from = "", to = ""]) => ({
      tool: "convert_currency",
      amount: Number(amount.replaceAll(",", "")),
      from: from.toUpperCase(),
      to: to.toUpperCase()
    })
  )

// -----------------------------------------------------------------------------
// 2. and 3. The result of a wish, and its next call
// -----------------------------------------------------------------------------

type NextCall = Omit<ToolCall.ToolCall, "id">

const nextCall = (wish: Wish, results: ReadonlyArray<Result>): ReadonlyArray<NextCall> => {
  const last = resultFor(wish, results)
  if (last === undefined) return [callFor(wish)]
  const corrected = correction(wish, last)
  return corrected === undefined || resultFor(corrected, results) !== undefined ? [] : [callFor(corrected)]
}

const callFor = ({ tool, ...args }: Wish): NextCall => ({ name: tool, arguments: JSON.stringify(args) })

const resultFor = (wish: Wish, results: ReadonlyArray<Result>): Result | undefined =>
  results.findLast(({ args, tool }) => tool === wish.tool && callFor(wish).arguments === JSON.stringify(args))

/** Returns the wish with the city that was probably meant: "Tokio" is unknown, but "Tokyo" is known. */
const correction = (wish: Wish, { message }: Result): Wish | undefined => {
  if (message._tag !== "Failure" || message.failure.error !== "SemanticGarbage" || !("city" in wish)) return undefined
  const city = Suggestion.didYouMean(wish.city, message.failure.alternatives ?? [])
  return city === undefined ? undefined : { ...wish, city }
}

const same = (a: Wish, b: Wish): boolean => JSON.stringify(a) === JSON.stringify(b)

// -----------------------------------------------------------------------------
// 4. The answer
// -----------------------------------------------------------------------------

const answer = (wishes: ReadonlyArray<Wish>, results: ReadonlyArray<Result>): string => {
  if (wishes.length === 0) {
    return `I can tell the weather, the time and the population of ${cityNames.join(", ")}, ` +
      "and convert money between eight currencies (\"50 GBP to JPY\"). What would you like to know?"
  }
  const last = wishes.map((wish) => {
    const first = resultFor(wish, results)
    const corrected = first === undefined ? undefined : correction(wish, first)
    return corrected === undefined ? first : resultFor(corrected, results) ?? first
  })
  return wishes.map((wish, index) => sentenceFor(wish, last[index])).join("\n")
}

const sentenceFor = (wish: Wish, result: Result | undefined): string => {
  if (result === undefined) return `${nameOf(wish)}: I could not find out.`
  const { message } = result
  if (message._tag === "Value") {
    const notes = message.notes.length === 0 ? "" : ` (${message.notes.join("; ")})`
    return `${valueFor(wish, message.value)}${notes}.`
  }
  const { alternatives, data, detail, error, hint } = message.failure
  switch (error) {
    case "SemanticGarbage":
      return `${nameOf(wish)} is unknown. I know ${(alternatives ?? []).join(", ")}.`
    case "PartialData":
      return `${nameOf(wish)}: ${JSON.stringify(data)} (${detail})`
    case "ToolUnavailable":
      return `${nameOf(wish)}: not available right now. ${
        [detail, hint].filter((part) => part !== undefined).join(" ")
      }`
    default:
      return `${nameOf(wish)}: I could not find out. ${detail}`
  }
}

const nameOf = (wish: Wish): string => "city" in wish ? wish.city : `${wish.amount} ${wish.from} in ${wish.to}`

const valueFor = (wish: Wish, value: Schema.JsonObject): string => {
  const text = (key: string): string => JSON.stringify(value[key] ?? "?").replace(/^"|"$/g, "")
  switch (wish.tool) {
    case "get_weather":
      return `${text("city")}: ${text("celsius")} °C, ${text("sky")}`
    case "get_local_time":
      return `${text("city")}: ${text("time")} (${text("zone")})`
    case "get_population":
      return `${text("city")}: ${grouped(Number(value["population"]))} people`
    case "convert_currency":
      return `${grouped(Number(value["amount"]))} ${text("from")} is ${money(Number(value["converted"]))} ${text("to")}`
  }
}

const grouped = (n: number): string => n.toLocaleString("en-US")
const money = (n: number): string => n.toLocaleString("en-US", { minimumFractionDigits: 2, maximumFractionDigits: 2 })
