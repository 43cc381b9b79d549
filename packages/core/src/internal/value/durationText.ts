import * as Duration from "effect/Duration"

/**
 * Formats a duration for a reader, rounded up to whole milliseconds.
 */
export const durationText = (duration: Duration.Duration): string => {
  const millis = Math.ceil(Duration.toMillis(duration))
  return millis === 0 ? "0ms" : Duration.format(Duration.millis(millis))
}
