import { Cause, Exit, Tracer } from "effect"
import { inspect } from "node:util"

/** Makes a tracer that records its spans. */
export const recordingTracer = () => {
  const spans: Array<Tracer.NativeSpan> = []
  const tracer = Tracer.make({
    span: (options) => {
      const span = new Tracer.NativeSpan(options)
      spans.push(span)
      return span
    }
  })
  return { spans, tracer }
}

/** Returns all text that an exporter could read from a span, including how it ended. */
export const toldBy = (span: Tracer.NativeSpan): string => {
  const exit = span.status._tag === "Ended" ? span.status.exit : Exit.void
  return [
    inspect(span, { depth: Infinity, showHidden: true }),
    JSON.stringify([span.name, Array.from(span.attributes), span.events, exit]),
    Exit.isFailure(exit) ? Cause.pretty(exit.cause) : ""
  ].join("\n")
}
