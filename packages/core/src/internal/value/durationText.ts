import * as Duration from "effect/Duration"

/**
 * Formats a duration for a reader, rounded up to whole milliseconds.
 */
export const durationText = (duration: Duration.Duration): string => {
  const millis = Math.ceil(Duration.toMillis(duration))
  return millis === 0 ? "0ms" : Duration.format(Duration.millis(millis))
}

/**
 * Formats a wait, for a model or a user who is asked to wait: rounded up to whole seconds, at least one. Neither can wait for
 * milliseconds.
 */
export const waitText = (wait: Duration.Duration): string =>
  Duration.format(Duration.seconds(Math.max(1, Math.ceil(Duration.toSeconds(wait)))))
