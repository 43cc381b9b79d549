/**
 * The data of the four tools: seven cities and eight currencies. Only the time changes.
 */

export interface City {
  readonly name: string
  /** IANA time zone. */
  readonly zone: string
  readonly celsius: number
  readonly sky: string
  /** Inhabitants, rounded. */
  readonly population: number
}

export const cities: ReadonlyArray<City> = [
  { name: "London", zone: "Europe/London", celsius: 14, sky: "light rain", population: 8_982_000 },
  { name: "Tokyo", zone: "Asia/Tokyo", celsius: 22, sky: "clear", population: 13_960_000 },
  { name: "Sao Paulo", zone: "America/Sao_Paulo", celsius: 25, sky: "thunderstorms", population: 12_330_000 },
  { name: "Paris", zone: "Europe/Paris", celsius: 16, sky: "overcast", population: 2_161_000 },
  { name: "New York", zone: "America/New_York", celsius: 19, sky: "sunny", population: 8_336_000 },
  { name: "Sydney", zone: "Australia/Sydney", celsius: 21, sky: "partly cloudy", population: 5_312_000 },
  { name: "Mumbai", zone: "Asia/Kolkata", celsius: 31, sky: "humid", population: 20_410_000 }
]

export const cityNames: ReadonlyArray<string> = cities.map(({ name }) => name)

/** Finds a city by its name, ignoring case and accents: "são paulo" is "Sao Paulo". */
export const findCity = (name: string): City | undefined => cities.find((city) => fold(city.name) === fold(name))

/** Units of each currency per US dollar. */
export const rates = { USD: 1, EUR: 0.92, GBP: 0.79, JPY: 156.4, BRL: 5.12, CAD: 1.37, AUD: 1.51, INR: 83.2 } as const

export type Currency = keyof typeof rates

export const currencies = Object.keys(rates) as ReadonlyArray<Currency>

/** Converts an amount to another currency through the dollar, rounded to two decimals. */
export const convert = (amount: number, from: Currency, to: Currency): number =>
  Math.round((amount / rates[from]) * rates[to] * 100) / 100

const fold = (name: string): string => name.normalize("NFD").replace(/\p{M}/gu, "").trim().toLowerCase()
