/** Every path through the tools of the clinical assistant, without a network and under a virtual clock. */
import { assert, describe, it } from "@effect/vitest"
import { SchemaMismatch } from "@fallible/core"
import { Effect, Logger } from "effect"
import { answered, down, facts, patient, type Played, played, source, together } from "../support/clinic.ts"
import { passing } from "../support/virtualTime.ts"

const failing = <E>(failure: E) => () => Effect.fail(failure)
const unreadable = (code: string) =>
  failing(new SchemaMismatch({ side: "result", code, detail: "The result cannot be read." }))
const dying = () => Effect.die(new TypeError("x is not a function"))
const hanging = () => Effect.never
const check = together("aspirin", "warfarin")

const paths: ReadonlyArray<readonly [path: string, world: Partial<Played>, call: typeof check, end: string]> = [
  ["no such patient", {}, patient("P-1009"), "unknown_patient"],
  ["no permission", {}, patient("P-1004"), "permission_denied"],
  ["no weight", {}, patient("P-1003"), "incomplete_record"],
  ["a database that is gone", { patient: failing(down) }, patient("P-1001"), "connection"],
  ["a row that makes no sense", { patient: unreadable("invalid_result") }, patient("P-1001"), "invalid_result"],
  ["a defect", { patient: dying }, patient("P-1001"), "defect"],
  ["a drug in house", {}, facts("ibuprofen"), "from the internal database"],
  ["a drug that is not in house", {}, facts("aspirin"), "from the external API"],
  ["a drug that makes no sense", { drug: unreadable("invalid_result") }, facts("ibuprofen"), "from the external API"],
  ["a drug that nobody knows", { facts: failing(answered(404)) }, facts("ibuprofin"), "unknown_drug"],
  [
    "facts from an API that is out",
    { facts: failing(answered(503)), cache: "full" },
    facts("aspirin"),
    "from the cache"
  ],
  ["facts from an API that hangs", { facts: hanging, cache: "full" }, facts("aspirin"), "from the cache"],
  ["facts that are cut off", { facts: unreadable("truncated"), cache: "full" }, facts("aspirin"), "from the cache"],
  ["facts that nobody has", { facts: unreadable("truncated") }, facts("aspirin"), "truncated"],
  ["drugs of which one is not covered", {}, together("ginkgo", "warfarin"), "not_covered"],
  ["a check that hangs", { interactions: hanging }, check, "timeout"],
  ["a check that is cut off", { interactions: unreadable("truncated") }, check, "truncated"],
  ["a check that breaks a promise", { interactions: unreadable("invalid_result") }, check, "invalid_result"],
  ["a check without a connection", { interactions: failing(down) }, check, "connection"],
  ["a check that is answered 400", { interactions: failing(answered(400)) }, check, "rejected"],
  ["a check that is answered 401", { interactions: failing(answered(401)) }, check, "permission_denied"],
  ["a check that is answered 402", { interactions: failing(answered(402)) }, check, "quota_exhausted"],
  ["a check that is answered 403", { interactions: failing(answered(403)) }, check, "permission_denied"],
  ["a check that is answered 404", { interactions: failing(answered(404)) }, check, "not_found"],
  ["a check that is answered 408", { interactions: failing(answered(408)) }, check, "timeout"],
  ["a check that is answered 422", { interactions: failing(answered(422)) }, check, "invalid_arguments"],
  ["a check that is answered 429", { interactions: failing(answered(429)) }, check, "rate_limited"],
  ["a check that is answered 500", { interactions: failing(answered(500)) }, check, "server_error"]
]

describe("without a network", () => {
  for (const [path, world, call, end] of paths) {
    it.effect(`the path is tested under a virtual clock: ${path}, ${end}`, () =>
      Effect.gen(function*() {
        const outcome = yield* passing(call).pipe(Effect.provide(played(world).layer))
        assert.strictEqual(outcome._tag === "Failed" ? outcome.failure.code : `from the ${source(outcome)[0]}`, end)
        // A defect is logged in full. It is intended here, so its log is dropped.
      }).pipe(Effect.provide(Logger.layer([]))))
  }
})
