import * as Duration from "effect/Duration"

/**
 * A duration for people, whole milliseconds of it.
 */
export const durationText = (duration: Duration.Duration): string => {
  const millis = Math.ceil(Duration.toMillis(duration))
  return millis === 0 ? "0ms" : Duration.format(Duration.millis(millis))
}
