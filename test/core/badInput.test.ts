import { assert, describe, it } from "@effect/vitest"
import { Agent, Policy, Tool, Toolkit } from "@fallible/core"
import * as LastKnown from "@fallible/core/LastKnown"
import * as RateLimit from "@fallible/core/RateLimit"
import * as RetryBudget from "@fallible/core/RetryBudget"
import { Duration, Effect, Schema } from "effect"

const read = Tool.make(
  "read",
  { description: "Reads", success: Schema.String, sideEffect: "none" },
  () => Effect.succeed("read")
)
const merge = (soFar: string, page: string) => soFar + page

/** Invalid inputs, each with the message that says what is valid. */
const refusals: ReadonlyArray<readonly [what: string, make: () => unknown, message: RegExp]> = [
  ...[0, -1000, Number.NaN].flatMap((bad) =>
    [
      [`a timeout of ${bad}`, () => read.pipe(Tool.timeout(bad)), /^A timeout must be a duration above zero; got /],
      [`a deadline of ${bad}`, () => read.pipe(Tool.deadline(bad)), /^A deadline must be a duration above zero; got /],
      [
        `a time of ${bad} for pages`,
        () => Policy.paginate({ merge, time: bad }),
        /^A limit of time must be a duration above/
      ],
      [`a maxAge of ${bad}`, () => LastKnown.policy({ maxAge: bad }), /^A maxAge must be a duration above zero; got /],
      [`${bad} bytes`, () =>
        Policy.paginate({ merge, bytes: bad }), /^A limit of bytes must be a number above zero; got /],
      [
        `an elapsed of ${bad}`,
        () =>
          Agent.make({ toolkit: Toolkit.empty, limits: { elapsed: bad } }),
        /above zero; got /
      ],
      [
        `a window of ${bad}`,
        () =>
          RateLimit.policy({ limit: 1, window: bad }),
        /window must be a finite duration above zero/
      ],
      [
        `a retry budget's window of ${bad}`,
        () => RetryBudget.make({ timeToLive: bad }),
        /must be a finite duration above zero/
      ]
    ] as const
  ),
  ...[0, 1.5, Number.NaN, Number.POSITIVE_INFINITY].flatMap((bad) =>
    [
      [`${bad} calls at once`, () =>
        read.pipe(Tool.concurrency(bad)), /^A concurrency limit must be a whole number of at least 1; got /],
      [`${bad} calls in a time`, () =>
        RateLimit.policy({ limit: bad, window: 1 }), /must be a whole number of at least 1; got /],
      [`${bad} pages`, () =>
        Policy.paginate({ merge, pages: bad }), /^A limit of pages must be a whole number of at least 2; got /]
    ] as const
  ),
  ["one page", () => Policy.paginate({ merge, pages: 1 }), /of at least 2; got 1\.$/],
  [
    "a maxWait below zero",
    () => Policy.concurrency(1, { maxWait: Duration.millis(-1) }),
    /^A concurrency limit's maxWait must be zero or more/
  ],
  ["a timeout of a duration of zero", () => Policy.timeout(Duration.zero), /got 0/],
  ...["10s", null, "soon"].map((bad) =>
    [
      `a timeout of ${bad}`,
      () => Policy.timeout(bad as never),
      /^A timeout must be a duration above zero, such as "5 seconds"; got ("10s"|null|"soon")\.$/
    ] as const
  )
]

describe("an invalid limit", () => {
  for (const [what, make, message] of refusals) {
    it(`throws where it is declared, and says what is valid: ${what}`, () => {
      assert.throws(make, message)
    })
  }
})
