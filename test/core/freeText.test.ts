import { assert, describe, it } from "@effect/vitest"
import { Effect, Schema } from "effect"
import { hasFreeText, isIdentified } from "../../packages/core/src/internal/arguments/freeText.ts"

interface Tree {
  readonly size: number
  readonly children: ReadonlyArray<Tree>
}
const Tree: Schema.Codec<Tree> = Schema.Struct({
  size: Schema.Int,
  children: Schema.Array(Schema.suspend((): Schema.Codec<Tree> => Tree))
}).annotate({ identifier: "Tree" })
const Note = Schema.Struct({ text: Schema.String }).annotate({ identifier: "Note" })

const free: Readonly<Record<string, Schema.ConstraintDecoder<unknown>>> = {
  "a string": Schema.String,
  "a string of a limited length": Schema.String.check(Schema.isMaxLength(3)),
  "a string of a pattern that the model is not shown": Schema.String.check(Schema.isPattern(/^o-\d+$/)),
  "a trimmed string": Schema.Trim,
  "an optional string": Schema.optionalKey(Schema.String),
  "a string with a default": Schema.String.pipe(Schema.withDecodingDefaultKey(Effect.succeed("x"))),
  "a secret string": Schema.Redacted(Schema.String),
  "a string among others": Schema.Union([Schema.Int, Schema.Literal("a"), Schema.String]),
  "a string in a list": Schema.Array(Schema.String),
  "a string in a tuple": Schema.Tuple([Schema.Int, Schema.String]),
  "a string in a struct in a list": Schema.Array(Schema.Struct({ note: Schema.NullOr(Schema.String) })),
  "a string of a named schema": Schema.Struct({ one: Schema.Array(Note), other: Note }),
  "a string in a record": Schema.Record(Schema.Literals(["a", "b"]), Schema.String),
  "the keys of a record": Schema.Record(Schema.String, Schema.Int),
  "any value": Schema.Unknown,
  "any JSON": Schema.Json,
  "any object": Schema.ObjectKeyword
}

const closed: Readonly<Record<string, Schema.ConstraintDecoder<unknown>>> = {
  "a number": Schema.Finite,
  "a truth value or nothing": Schema.NullOr(Schema.Boolean),
  "one of several words": Schema.Literals(["a", "b"]),
  "an id of a known form": Schema.String.check(Schema.isUUID()),
  "a string of a pattern": Schema.String.check(Schema.isPattern(/^o-\d+$/u)),
  "a date, or a number in a string": Schema.Union([Schema.Date, Schema.FiniteFromString, Schema.BigInt]),
  "a list and a tuple of numbers": Schema.Struct({ a: Schema.Array(Schema.Int), b: Schema.Tuple([Schema.Int]) }),
  "a record with known keys": Schema.Record(Schema.Literals(["a", "b"]), Schema.Int),
  "a tree of numbers": Tree
}

describe("free text", () => {
  const taking = (field: Schema.ConstraintDecoder<unknown>) => Schema.Struct({ of: Schema.Int, field })

  for (const [what, field] of Object.entries(free)) it(`is ${what}`, () => assert.isTrue(hasFreeText(taking(field))))

  for (const [what, field] of Object.entries(closed)) {
    it(`is not ${what}`, () => assert.isFalse(hasFreeText(taking(field))))
  }

  it("is not what takes nothing", () => assert.isFalse(hasFreeText(Schema.Struct({}))))

  it("leaves a call unidentified, unless a function selects the other arguments", () => {
    const [order, note] = [Schema.Struct({ order: Schema.Int }), Schema.Struct({ note: Schema.String })]
    const identity = () => "7"
    assert.deepStrictEqual(
      [
        { parameters: order },
        { parameters: note, identity: "all" as const },
        { parameters: order, identity: "all" as const },
        { parameters: note, identity }
      ].map(isIdentified),
      [false, false, true, true]
    )
  })
})
