/** One question, ways to send it to a model or an agent, and possible results. */
import { Agent, Model, ModelFailure, Toolkit, Transcript } from "@fallible/core"
import { ScriptedModel } from "@fallible/testing"
import { Effect, Stream } from "effect"

export const request: Model.Request = { transcript: Transcript.make([{ role: "user", text: "Hello?" }]), tools: [] }
export const respond = Effect.flatMap(Model.Model, ({ respond }) => respond(request))
export const parts = Effect.flatMap(Model.Model, ({ stream }) => Stream.runCollect(stream(request)))
export const agent = Agent.make({ toolkit: Toolkit.empty })

export const hello = ScriptedModel.text("Hello.")
export const brokenOff = new ModelFailure({ code: "cut_off", detail: "", transient: true })
export const busy = new ModelFailure({ code: "server_error", detail: "Busy.", transient: true, status: 503 })
