import { assert, describe, it } from "@effect/vitest"
import * as Arguments from "@fallible/core/Arguments"
import { Result } from "effect"
import { refusal } from "../support/parsing.ts"

/** Repairs with a note to the model. */
const noted = new Set(["prose", "surplus_closers", "missing_comma", "smart_quotes", "escaped_quotes", "duplicate_key"])

const a1 = { a: 1 }
const repairs: ReadonlyArray<readonly [kind: string, cases: ReadonlyArray<readonly [text: string, value: object]>]> = [
  ["no_arguments", [["", {}], [" \n", {}], ["null", {}], ["None", {}], [" [ ] ", {}], ["```\nnull\n```", {}]]],
  ["byte_order_mark", [["\ufeff{\"a\":1}", a1]]],
  ["code_fence", [
    ["```\n{\"a\":1}\n```", a1],
    ["```json{\"a\":1}```", a1],
    ["  ```json5 \n{\"a\":1}\n```\n", a1],
    ["````\n{\"a\":\"```\"}\n````", { a: "```" }]
  ]],
  ["template_token", [
    ["<tool_call>\n{\"a\":1}\n</tool_call>", a1],
    ["{\"a\":1}</function>", a1],
    ["<|python_tag|>{\"a\":1}<|eom_id|><|call|>", a1],
    ["<｜tool▁call▁begin｜>{\"a\":1}<｜tool▁call▁end｜>", a1],
    ["{\"a\":\"</tool_call>\"}</tool_call>", { a: "</tool_call>" }]
  ]],
  ["double_encoded", [
    [JSON.stringify("{\"a\":1}"), a1],
    ["'{\"a\":1}'", a1],
    [JSON.stringify(" {\"a\": \"b\\n\"} "), { a: "b\n" }]
  ]],
  ["trailing_comma", [["{\"a\":1,}", a1], ["{\"a\":[1,2 , ],\n}", { a: [1, 2] }], ["{\"a\":{\"b\":1,},}", {
    a: { b: 1 }
  }]]],
  ["comment", [
    ["{\"a\":1 // one\n}", a1],
    ["{/* a */\"a\"/* b */:/* c */1/* d */}", a1],
    ["{ # of a\n\"a\": 1}", a1],
    ["{\"a\": 1 # one\n}", a1],
    ["{\"a\": 1, #one\n# two\n}", a1],
    ["{\"a\": 30, // 30 seconds\n \"b\": 2}", { a: 30, b: 2 }],
    ["{\"a\": 30 // 30 seconds\n}", { a: 30 }],
    ["{\"a\":\"// no comment\" // a comment\n}", { a: "// no comment" }]
  ]],
  ["single_quotes", [
    ["{'a':'b'}", { a: "b" }],
    ["{'a':'say \"hi\"'}", { a: "say \"hi\"" }],
    ["{'a':'it\\'s\\n\\u00e9'}", { a: "it's\né" }],
    ["{\"a\":''}", { a: "" }]
  ]],
  ["python_constant", [["{'a': True, 'b': [None, False]}", { a: true, b: [null, false] }]]],
  ["unquoted_key", [["{a:1}", a1], ["{ $a_1 :1, été: 2}", { $a_1: 1, été: 2 }], ["{a/* of a */:1}", a1]]],
  ["control_character", [["{\"a\":\"1\n2\t3\u0000\"}", { a: "1\n2\t3\u0000" }], ["{\"a\":\"\\\"\n\\\"\"}", {
    a: "\"\n\""
  }]]],
  ["prose", [
    ["Here are the arguments: {\"a\":1}", a1],
    ["Here's the call:\n\n```json\n{\"a\":1}\n```\nIt reads one value.", a1],
    ["{\"a\":1}. Done!", a1],
    ["I call it with {\"a\":1} now.", a1],
    ["{\"a\":1}\nThat's it!", a1],
    ["Sure: {\"a\":1} done", a1],
    ["**Arguments:** {\"a\":1}", a1],
    ["1. {\"a\":1}", a1],
    ["参数：{\"a\":1}", a1],
    ["✅ {\"a\":1} — done (ok)", a1],
    ["`{\"a\":1}`", a1],
    ["{\"a\":1}\n\nIf you need anything else, let me know.", a1],
    ["{\"a\":1}\n\nFor Paris, as requested.", a1],
    ["The JSON object is {\"a\":1}", a1],
    ["Really? {\"a\":1}", a1],
    ["Let me log in\n{\"a\":1}", a1],
    ["Arguments: {\"a\":1}", a1],
    ["arguments:{\"a\":1}", a1],
    ["get_weather\n{\"a\":1}", a1],
    ["```json\n{\"a\":1}", a1],
    ["**Arguments:**{\"a\":1}", a1],
    ["With _{\"a\":1}_ it is", a1],
    ["{\"a\":1}</tool_call> Done.", a1],
    ["{\"a\":1}\n</tool_call>\n<|im_end|>I have called it.", a1],
    ["<tool_call>{\"a\":1}</tool_call>\nThat is all.", a1],
    ["Sure: {\"a\":1}</tool_call> Done.", a1]
  ]],
  ["surplus_closers", [
    ["{\"a\":1}}", a1],
    ["{\"a\":1}\n } ] }", a1],
    ["{\"a\":{\"b\":1}}}", { a: { b: 1 } }],
    ["{\"a\":[1],\"b\":2}}", { a: [1], b: 2 }],
    ["<tool_call>{\"a\":1}}</tool_call>", a1]
  ]],
  ["missing_comma", [
    ["{\"a\":1 \"b\":2}", { a: 1, b: 2 }],
    ["{\"a\":true\n\"b\":null \"c\":[] \"d\":{}\n'e':0}", { a: true, b: null, c: [], d: {}, e: 0 }],
    ["{a:1 b:2}", { a: 1, b: 2 }],
    ["{\"a\":[{}\n{}\n[]\n[1]\n2\n3\ntrue\n\"x\"]}", { a: [{}, {}, [], [1], 2, 3, true, "x"] }],
    ["{\"a\":[1 // one\n2]}", { a: [1, 2] }],
    ["{\"a\":1 \"\":2 'b':[3]\"c\":4}", { a: 1, "": 2, b: [3], c: 4 }]
  ]],
  ["smart_quotes", [["{“a”:“b”}", { a: "b" }], ["{‘a’: “it's”}", { a: "it's" }], ["{\"a\":“\\n\\u201c”}", {
    a: "\n“"
  }]]],
  ["escaped_quotes", [
    ["{\\\"a\\\": \\\"b\\\"}", { a: "b" }],
    ["{ \\\"a\\\": \\\"x \\\\\\\"y\\\\\\\"\\\"}", { a: "x \"y\"" }],
    ["{\n\\\"a\\\": \\\"1\\\\n2\\\"\n}", { a: "1\n2" }]
  ]],
  ["duplicate_key", [
    ["{\"a\":1,\"a\":1}", a1],
    ["{\"a\":1.0,\"a\":1}", a1],
    ["{\"a\":{\"b\":[1,null]},\"\\u0061\":{\"b\":[1,null]}}", { a: { b: [1, null] } }],
    ["{\"a\":{\"b\":1,\"c\":[2, 3]},\"a\":{\"c\":[2,3],\"b\":1}}", { a: { b: 1, c: [2, 3] } }],
    ["{\"a\":9007199254740993,\"a\":9007199254740993,\"b\":\"\"}", { a: 9007199254740992, b: "" }]
  ]]
]

describe("Arguments", () => {
  describe("parse", () => {
    describe.each(repairs)("repairs %s", (kind, cases) => {
      it.each(cases)("%j", (text, expected) => {
        const parsed = Result.getOrThrow(Arguments.parse(text))
        assert.deepStrictEqual(parsed.value, expected)
        assert.include(parsed.repairs.map(({ kind }) => kind), kind)
        for (const repair of parsed.repairs) {
          assert.strictEqual(repair.note !== undefined, noted.has(repair.kind), repair.kind)
          assert.isAtMost(repair.offset, text.length)
        }
      })
    })

    it("combines silent repairs, and lists them in the order of the text", () => {
      const parsed = Result.getOrThrow(
        Arguments.parse("\ufeff<tool_call>\n```json\n{// the city\n city: 'Paris', 'now': True,}\n```\n</tool_call>")
      )
      assert.deepStrictEqual(parsed.value, { city: "Paris", now: true })
      assert.deepStrictEqual(parsed.repairs.map(({ kind }) => kind), [
        "byte_order_mark",
        "template_token",
        "code_fence",
        "comment",
        "unquoted_key",
        "single_quotes",
        "python_constant",
        "trailing_comma"
      ])
      assert.deepStrictEqual(parsed.repairs[3], { kind: "comment", offset: 22 })
    })

    it("notes the first place of each kind, once", () => {
      const { repairs } = Result.getOrThrow(Arguments.parse("{\"a\": 1 \"b\": 2 \"c\": 3}"))
      assert.deepStrictEqual(repairs, [
        { kind: "missing_comma", offset: 7, note: "A comma was missing in the arguments" }
      ])
    })

    it("makes up to two kinds of noted repairs, but not three", () => {
      const two = Result.getOrThrow(Arguments.parse("{“a”: 1 \"b\": 2}"))
      assert.deepStrictEqual(two.repairs.map(({ kind }) => kind), ["smart_quotes", "missing_comma"])
      const failure = refusal("{“a”: 1, “a”: 1 \"b\": 2}")
      assert.deepStrictEqual(failure.fault, { kind: "too_many_repairs", offset: 15, line: 1, column: 16 })
    })
  })
})
