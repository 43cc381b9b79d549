/**
 * The dates of RFC 3339, checked against the calendar, and other spellings of dates that can be read in only
 * one way.
 */

/** True for an existing date such as `2024-01-31`. */
export const isDate = (text: string): boolean => {
  const parts = date.exec(text)
  return parts !== null && isDay(Number(parts[1]), Number(parts[2]), Number(parts[3]))
}

/** True for a date-time such as `2024-01-31T12:00:00Z`, with a `Z` or an offset. */
export const isDateTime = (text: string): boolean => dateTime.test(text) && isDate(text.slice(0, 10))

/**
 * Returns the date that is written in another spelling: as an unpadded date, or as a date-time at midnight.
 * Returns `undefined` for any other string.
 */
export const dateOf = (text: string): string | undefined => {
  const [, year = "", month = "", day = ""] = unpadded.exec(text) ?? midnight.exec(text) ?? []
  const written = `${year}-${month.padStart(2, "0")}-${day.padStart(2, "0")}`
  return isDate(written) ? written : undefined
}

/** Returns a date-time with a `T` in place of its space; `undefined` for any other string. */
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

/** Returns the number of days in a month. */
export const daysOf = (year: number, month: number): number => {
  const isLeap = year % 4 === 0 && (year % 100 !== 0 || year % 400 === 0)
  return month === 2 ? (isLeap ? 29 : 28) : [4, 6, 9, 11].includes(month) ? 30 : 31
}

/** The names of the months. */
export const months = "January February March April May June July August September October November December".split(" ")
