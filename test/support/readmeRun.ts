/**
 * Plays the README's first program over real connections: a bank that charges and then breaks the connection, and a
 * model. Notes what went over the wires, in order.
 */
import { HttpStub, ScriptedModel } from "@fallible/testing"
import * as FakeModelServer from "@fallible/testing/FakeModelServer"
import * as HttpStubServer from "@fallible/testing/HttpStubServer"
import { Effect } from "effect"
import { mkdirSync, readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { type Finished, root, runNodeIn } from "./program.ts"

export type Place = "model" | "agent" | "bank"

/** What went from one place to another. Without `to`, what happened at one place. */
export interface Sent {
  readonly from: Place
  readonly to?: Place
  readonly text: string
  /** Whether it never arrived. */
  readonly isLost?: true
}

export interface ReadmeRun {
  readonly finished: Finished
  readonly sent: ReadonlyArray<Sent>
  /** What the bank has charged, by key. */
  readonly charges: ReadonlyMap<string, { readonly euros: number }>
}

const order = { order: "7", euros: 249, note: "two chairs" }

export const readme = readFileSync(join(root, "README.md"), "utf8")

/** The contents of the README's code blocks of one language. */
export const blocks = (language: string): ReadonlyArray<string> =>
  Array.from(readme.matchAll(new RegExp(`^\`\`\`${language}\\n([\\s\\S]*?)^\`\`\`$`, "gm")), ([, block = ""]) => block)

export const readmeRun: Effect.Effect<ReadmeRun> = Effect.gen(function*() {
  const folder = join(root, "test/.scratch")
  const file = join(folder, "firstAgent.ts")
  mkdirSync(folder, { recursive: true })
  writeFileSync(file, blocks("ts")[0]!)

  const sent: Array<Sent> = []
  const keys: Array<string> = [] // told by letters: each run has other keys
  const charges = new Map<string, { readonly euros: number }>()
  const bank = yield* HttpStubServer.make(({ body, headers, method, path }) => {
    const key = headers["idempotency-key"] ?? ""
    if (!keys.includes(key)) keys.push(key)
    sent.push({ from: "agent", to: "bank", text: `${method} ${path}, key ${"abc"[keys.indexOf(key)]}` })
    const receipt = { receipt: "r-1" }
    if (charges.has(key)) {
      sent.push({ from: "bank", text: "knows the key" })
      sent.push({ from: "bank", to: "agent", text: JSON.stringify(receipt) })
      return HttpStub.json(receipt)
    }
    const charge: { readonly euros: number } = JSON.parse(body)
    charges.set(key, charge)
    sent.push({ from: "bank", text: `charges ${charge.euros} euros` })
    sent.push({ from: "bank", to: "agent", text: "the connection breaks", isLost: true })
    return HttpStub.reset
  })
  const model = yield* FakeModelServer.make(({ messages }) => {
    const result = messages.findLast(({ role }) => role === "tool")
    if (result === undefined) {
      sent.push({ from: "model", to: "agent", text: `charge ${JSON.stringify(order)}` })
      return ScriptedModel.call("charge", order)
    }
    sent.push({ from: "agent", to: "model", text: result.role === "tool" ? result.text : "" })
    const answer = "Order 7 is charged: 249 euros."
    sent.push({ from: "model", to: "agent", text: answer })
    return ScriptedModel.text(answer)
  })
  const env = { BANK_URL: bank.url, OPENAI_BASE_URL: `${model.url}/v1`, OPENAI_API_KEY: "any", OPENAI_MODEL: "any" }
  const finished = yield* runNodeIn(env, file)
  return { finished, sent, charges }
}).pipe(Effect.scoped)
