import { attempt } from "./untrusted.ts"

/** Formats a time for a reader: "2026-11-28 14:02 UTC". Stored data may have any number in its place. */
export const timeText = (millis: number): string =>
  attempt(() => `${new Date(millis).toISOString().slice(0, 16).replace("T", " ")} UTC`) ?? "an unknown time"
