/** Laws of files: they reach the server, or are named in a note. */
import { Transcript } from "@fallible/core"
import * as Effect from "effect/Effect"
import * as ScriptedModel from "../../ScriptedModel.ts"
import { demand, found, playing, type Rule, same, whole } from "./rule.ts"
import { bodyOf, calling, offered } from "./runs.ts"

const bytes = new Uint8Array([137, 80, 78, 71, 13, 10, 26, 10, 7, 7, 7])

const files: ReadonlyArray<Transcript.File> = [
  { ...Transcript.file(bytes, "image/png"), name: "photo.png" },
  Transcript.file(bytes, "image/jpeg"),
  { ...Transcript.file(bytes, "application/pdf"), name: "bill.pdf" },
  { ...Transcript.file(bytes, "text/plain"), name: "notes.txt" },
  Transcript.file(bytes, "audio/wav"),
  { ...Transcript.file(bytes, "application/zip"), name: "all.zip" },
  { url: "https://shop.example/7.png" },
  { url: "https://shop.example/7.pdf", mediaType: "application/pdf" },
  { url: `data:image/png;base64,${btoa(String.fromCharCode(...bytes))}` }
]

// The bytes or the address of a file; or what a note says of it.
const namesOf = (file: Transcript.File): ReadonlyArray<string> => {
  const type = file.mediaType === undefined ? [] : [file.mediaType]
  return "url" in file
    ? [file.url.replace(/^data:.*,/, ""), ...type, ...(file.url.startsWith("data:") ? ["image/png"] : [])]
    : [file.base64, new TextDecoder().decode(bytes), ...type]
}

const sendsFiles: Rule = {
  name: "Files of users and of tools reach the server, or are named in a note.",
  holds: (subject) =>
    Effect.forEach(
      files,
      (file) =>
        Effect.forEach(["user", "tool"] as const, (role) =>
          playing(subject, [ScriptedModel.text("Nice.")], ({ model, requests }) =>
            Effect.gen(function*() {
              const messages = role === "user"
                ? [{ role, text: "What is this?", files: [file] }]
                : calling("ping", "{}").map((message) =>
                  message.role === "tool" ? { ...message, files: [file] } : message
                )
              const { text } = yield* whole(model, { transcript: Transcript.make(messages), tools: offered })
              yield* same("the reply", text, "Nice.")
              const request = (yield* requests).at(-1)
              const body = request === undefined ? "" : bodyOf(request)
              yield* demand(
                namesOf(file).some((name) =>
                  body.includes(name)
                ),
                `one of ${namesOf(file).join(", ")}`,
                body
              )
            })).pipe(found(`of the ${role}: ${file.name ?? file.mediaType ?? "an address"}`))),
      { discard: true }
    )
}

export const attachments: ReadonlyArray<Rule> = [sendsFiles]
