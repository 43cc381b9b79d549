/**
 * The dates of RFC 3339, checked against the calendar, and the few other ways to write one that have a single reading.
 */

/** `2024-01-31`, if there is such a day. */
export const isDate = (text: string): boolean => {
  const parts = date.exec(text)
  return parts !== null && isDay(Number(parts[1]), Number(parts[2]), Number(parts[3]))
}

/** `2024-01-31T12:00:00Z` or with an offset; never without a zone. */
export const isDateTime = (text: string): boolean => dateTime.test(text) && isDate(text.slice(0, 10))

/** The date that another way of writing can only mean: unpadded, or a date-time at midnight. */
export const dateOf = (text: string): string | undefined => {
  const [, year = "", month = "", day = ""] = unpadded.exec(text) ?? midnight.exec(text) ?? []
  const written = `${year}-${month.padStart(2, "0")}-${day.padStart(2, "0")}`
  return isDate(written) ? written : undefined
}

/** The date-time with its `T` where a space was. */
export const dateTimeOf = (text: string): string | undefined => {
  const written = text[10] === " " ? `${text.slice(0, 10)}T${text.slice(11)}` : text
  return written !== text && isDateTime(written) ? written : undefined
}

const date = /^(\d{4})-(\d{2})-(\d{2})$/
const unpadded = /^(\d{4})-(\d{1,2})-(\d{1,2})$/
const midnight = /^(\d{4})-(\d{2})-(\d{2})[Tt ]00:00(?::00(?:\.0+)?)?(?:[Zz]|[+-]00:00)?$/
const dateTime =
  /^\d{4}-\d{2}-\d{2}[Tt](?:[01]\d|2[0-3]):[0-5]\d:[0-5]\d(?:\.\d+)?(?:[Zz]|[+-](?:[01]\d|2[0-3]):[0-5]\d)$/

const isDay = (year: number, month: number, day: number): boolean =>
  month >= 1 && month <= 12 && day >= 1 && day <= daysOf(year, month)

/** How many days a month has. */
export const daysOf = (year: number, month: number): number => {
  const isLeap = year % 4 === 0 && (year % 100 !== 0 || year % 400 === 0)
  return month === 2 ? (isLeap ? 29 : 28) : [4, 6, 9, 11].includes(month) ? 30 : 31
}

/** The months by name. */
export const months = [
  "January",
  "February",
  "March",
  "April",
  "May",
  "June",
  "July",
  "August",
  "September",
  "October",
  "November",
  "December"
]
