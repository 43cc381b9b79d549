/** The events in which OpenAI's Responses API streams the items of a reply. */
import * as Predicate from "effect/Predicate"
import { pieces } from "./format.ts"
import type { OwnItem } from "./scriptedReply.ts"

/** An event of a stream. */
export interface Event {
  readonly type: string
}

export const event = (type: string, fields: object): Event => ({ type, ...fields })

/** The events of an item, in order. */
export interface ItemEvents {
  readonly begin: Event
  readonly deltas: ReadonlyArray<Event>
  readonly end: ReadonlyArray<Event>
}

export const itemEvents = (item: OwnItem, output_index: number): ItemEvents => {
  const at = { item_id: item.id, output_index }
  return {
    begin: event("response.output_item.added", { output_index, item: { ...emptied(item), status: "in_progress" } }),
    deltas: item.type === "function_call"
      ? pieces(stringOf(item.arguments))
        .map((delta) => event("response.function_call_arguments.delta", { ...at, delta }))
      : [
        ...objectsIn(item.summary).flatMap((part, index) =>
          partEvents("reasoning_summary_part", "reasoning_summary_text", "text", part, { ...at, summary_index: index })
        ),
        ...objectsIn(item.content).flatMap((part, index) =>
          part.type === "refusal"
            ? partEvents("content_part", "refusal", "refusal", part, { ...at, content_index: index })
            : partEvents("content_part", "output_text", "text", part, { ...at, content_index: index, logprobs: [] })
        )
      ],
    end: [
      ...(item.type === "function_call"
        ? [event("response.function_call_arguments.done", { ...at, name: item.name, arguments: item.arguments })]
        : []),
      event("response.output_item.done", { output_index, item })
    ]
  }
}

const emptied = (item: OwnItem): OwnItem => ({
  ...item,
  encrypted_content: undefined,
  ...(item.type === "function_call" ? { arguments: "" } : {}),
  ...(Array.isArray(item.summary) ? { summary: [] } : {}),
  ...(Array.isArray(item.content) ? { content: [] } : {})
})

const partEvents = (
  part: string,
  text: string,
  field: "text" | "refusal",
  whole: OwnItem,
  at: object
): ReadonlyArray<Event> => [
  event(`response.${part}.added`, { ...at, part: { ...whole, [field]: "" } }),
  ...pieces(stringOf(whole[field])).map((delta) => event(`response.${text}.delta`, { ...at, delta })),
  event(`response.${text}.done`, { ...at, [field]: whole[field] }),
  event(`response.${part}.done`, { ...at, part: whole })
]

const stringOf = (value: unknown): string => typeof value === "string" ? value : ""

const objectsIn = (value: unknown): ReadonlyArray<OwnItem> =>
  Array.isArray(value) ? value.filter(Predicate.isObject) : []
