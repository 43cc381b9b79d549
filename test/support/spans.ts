import { Cause, Exit, Tracer } from "effect"
import { inspect } from "node:util"

/** A tracer, and the spans that it was asked for. */
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

/** All that a span could tell whoever exports it, and how it ended. */
export const toldBy = (span: Tracer.NativeSpan): string => {
  const exit = span.status._tag === "Ended" ? span.status.exit : Exit.void
  return [
    inspect(span, { depth: Infinity, showHidden: true }),
    JSON.stringify([span.name, Array.from(span.attributes), span.events, exit]),
    Exit.isFailure(exit) ? Cause.pretty(exit.cause) : ""
  ].join("\n")
}
