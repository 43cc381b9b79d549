import { assert, describe, it } from "@effect/vitest"
import { Arguments, type DispatchFailure, type SideEffect } from "@fallible/core"
import { Effect, Result, Schema } from "effect"
import * as fc from "fast-check"
import { strictFault as firstFault } from "../../packages/arguments/src/text/strict.ts"

const value = (text: string | undefined) => Result.getOrThrow(Arguments.parse(text)).value

const refusal = (text: string): DispatchFailure.Mismatch =>
  Result.match(Arguments.parse(text), {
    onFailure: (failure) => failure,
    onSuccess: ({ value }) => assert.fail(`accepted as ${JSON.stringify(value)}`)
  })

const detail = (text: string) => refusal(text).detail.replace("The arguments cannot be read. ", "")

const isJson = (text: string): boolean => {
  try {
    JSON.parse(text)
    return true
  } catch {
    return false
  }
}

const key = fc.string({ unit: "binary" }).filter((key) => key !== "__proto__")
const object = fc.dictionary(key, fc.jsonValue({ maxDepth: 3 }), { maxKeys: 5 })
const objectText = fc.tuple(object, fc.constantFrom(0, 2, "\t")).map(([object, indent]) =>
  JSON.stringify(object, null, indent)
).filter((text) => !text.includes("__proto__"))

// Texts that are nearly JSON: tokens in any order, and JSON with one place changed.
const tokens = fc.array(
  fc.constantFrom(
    "{",
    "}",
    "[",
    "]",
    ",",
    ":",
    "\"a\"",
    "\"",
    "\\",
    "\\n",
    "\\u00e9",
    "0",
    "-1.5e3",
    "true",
    "nul",
    " "
  ),
  { maxLength: 12 }
).map((tokens) => tokens.join(""))
const changed = fc.tuple(objectText, fc.nat(), fc.string({ unit: "binary", maxLength: 2 })).map(
  ([text, at, change]) => {
    const place = at % (text.length + 1)
    return text.slice(0, place) + change + text.slice(place + 1)
  }
)
const anyText = fc.oneof(fc.string({ unit: "binary" }), objectText, tokens, changed)

/** Repairs that the model is told of. */
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

const refusals: ReadonlyArray<readonly [kind: string, texts: ReadonlyArray<string>]> = [
  ["array", ["[{\"a\":1}]", "[{\"a\":1},{\"a\":2}]", "[1]", "[[]]", "[] []"]],
  ["bareword", ["{\"a\":b}", "{\"a\":hello world}", "{\"a\":nil}", "{\"a\":truefalse}", "{\"a\":TRUE}", "{\"a\":$x}"]],
  ["bracket_mismatch", [
    "{\"a\":1]",
    "{\"a\":[1}",
    "{\"a\":1}, \"b\":2}",
    "{\"a\":1},",
    "{]",
    "{\"a\":{\"b\":1},\"c\":2}}",
    "{\"a\":0 \"b\":1}}"
  ]],
  ["concatenation", ["{\"a\":\"x\" + \"y\"}", "{'a':'x'\n + 'y'}"]],
  ["cut_off", [
    "{",
    "{\"a",
    "{\"a\"",
    "{\"a\":",
    "{\"a\":1",
    "{\"a\":1,",
    "{\"a\":tru",
    "{\"a\":true",
    "{\"a\":-",
    "{\"a\":1.",
    "{\"a\":1e+",
    "{\"a\":\"\\u00",
    "{\"a\":\"\\",
    "{\"a\":[",
    "{\"a\":{}",
    "{'a",
    "{a",
    "{“a",
    "{\"a\":1 // }",
    "[1",
    "\"{\\\"a\\\":1}",
    JSON.stringify("{\"a\":\"b"),
    "{\\\"a\\\": \\\"b"
  ]],
  ["duplicate_key", [
    "{\"a\":1,\"a\":2}",
    "{\"a\":1,\"\\u0061\":\"1\"}",
    "{\"a\":{\"b\":1},\"a\":{\"b\":1,\"c\":1}}",
    "{\"a\":[1,2],\"a\":[2,1]}",
    "{\"a\":{\"x\":\"1:2\",\"x\":\"3\"}}",
    "{\"a\":0,\"a\":-0}",
    "{\"a\":9007199254740992,\"a\":9007199254740993}",
    "{\"a\":[1.0],\"a\":[1]}",
    "{\"a\":\"1\",\"a\":\"\\u003a\"}",
    "{\"a\":\"1\",\"a\":\"\\u003A\"}",
    JSON.stringify("{\"a\":1,\"a\":2}"),
    "{\\\"a\\\":1,\\\"a\\\":2}"
  ]],
  ["ellipsis", ["{\"a\":[1,2,...]}", "{\"a\":[1 ...]}", "{\"a\":\"b\"...}", "{...}", "{\"a\":…}", "{\"a\":1, ...}"]],
  ["expression", [
    "{\"a\":6*30}",
    "{\"a\":1/3}",
    "{\"a\":2 * 3}",
    "{\"a\":1 + 2}",
    "{\"a\":(1)}",
    "{\"a\":str(b)}",
    "{\"a\":b'x'}",
    "{\"a\":10-2}",
    "{\"a\":[1 -2]}",
    "{\"a\":7 // 2\n}",
    "{\"a\":7 // 2,\n\"b\":1}"
  ]],
  ["invalid_escape", [
    "{\"p\":\"C:\\Users\"}",
    "{\"a\":\"\\x41\"}",
    "{\"a\":\"it\\'s\"}",
    "{\"a\":\"\\u12g4\"}",
    "'{\"a\":\"C:\\\\temp\"}'",
    "{'a':'x\\/y'}"
  ]],
  ["invalid_number", [
    "{\"a\":NaN}",
    "{\"a\":-Infinity}",
    "{\"a\":1e999}",
    "{\"a\":-1e999}",
    "{\"a\":01}",
    "{\"a\":-01}",
    "{\"a\":+1}",
    "{\"a\":.5}",
    "{\"a\":5.}",
    "{\"a\":1_000}",
    "{\"a\":0x10}",
    "{\"a\":1e}",
    "{\"a\":1.2.3}",
    "{\"a\":5km}"
  ]],
  ["missing_colon", ["{\"a\" 1}", "{\"a\"}", "{a}", "{\"a\",\"b\"}", "{\"a\"=1}"]],
  ["missing_comma", [
    "{\"a\":\"b\" \"c\":\"d\"}",
    "{\"a\":[\"b\" \"c\"]}",
    "{\"a\":[1 2]}",
    "{\"a\":[{}{}]}",
    "{\"a\":[{} {}]}",
    "{\"a\":[true \"x\"]}",
    "{\"a\":[3 true]}",
    "{\"a\":[1 /* \n */ 2]}",
    "{\"a\":[true\n[1]]}",
    "{\"a\":[1 000]}",
    "{\"a\":[1[0]]}"
  ]],
  ["missing_value", [
    "{\"a\":}",
    "{\"a\":,\"b\":2}",
    "{,}",
    "{\"a\":[,1]}",
    "{\"a\":[1,,]}",
    "{\"a\":1,,\"b\":2}",
    "{\"a\":undefined}"
  ]],
  ["no_object", [
    "hello",
    "12345",
    "true",
    "\"Paris\"",
    "\"\"",
    "I cannot do that.",
    "print(1)",
    "a=1, b=2",
    "a: 1\nb: 2",
    "rm({\"path\":\"/\"})",
    "rm ( {\"path\":\"/\"} )",
    "rm {\"path\":\"/\"}",
    "args={\"a\":1}",
    "args = {\"a\":1}",
    "get_weather{\"a\":1}",
    "call_{\"a\":1}",
    "**rm**{\"a\":1}",
    "`rm`{\"a\":1}",
    "b: {\"a\":1}",
    "- b:\n  {\"a\":1}",
    "a: 1\nb: {\"c\":2}",
    "Here: {a:1}",
    "<parameter name=\"a\">1</parameter>",
    "<parameter=a>{\"b\":1}</parameter>",
    "\"a\":{\"b\":1}}",
    "\"[1]\"",
    JSON.stringify(JSON.stringify("{\"a\":1}")),
    "{a:1}\nThanks".replace("{a:1}", "Look (at this {\"a\":1}"),
    "True or {\"a\":1}",
    "# no\nnull",
    JSON.stringify("{\"a\":1}") + " or {\"a\":2}",
    "<tool_call>",
    "# heading"
  ]],
  ["prototype_key", [
    "{\"__proto__\":{\"a\":1}}",
    "{\"a\":{\"\\u005f_proto__\":1}}",
    "{__proto__:1}",
    "{\"constructor\":{\"prototype\":{}}}",
    "{\"a\":[{'constructor':{'prototype':1}}]}"
  ]],
  ["unclear_comment", [
    "{\"a\":1 // \"b\":2\n}",
    "{\"a\":1 /* it's */}",
    "{amount: 1500#00\n}",
    "{\"a\":[1,2#3\n]}",
    "{\"a\":true# b\n}",
    "{\"a\":\"b\"# c\n}",
    "{\"a\":#fff\n1}",
    "{\"a\":1,# b\n}",
    "{# of a\n\"a\":1}"
  ]],
  ["several_objects", [
    "{\"a\":1}{\"a\":2}",
    "{\"a\":1},{\"a\":2}",
    "Do {\"a\":1} and {\"a\":2}.",
    "{\"a\":1}\n{\"a\":1}",
    "{\"a\":1}#{}",
    "{\"a\":1}</tool_call><tool_call>{\"b\":2}</tool_call>"
  ]],
  ["too_deep", [`{"a":${"[".repeat(128)}${"]".repeat(128)}}`, `{"a":${"[".repeat(500_000)}`, "[".repeat(500_000)]],
  ["unescaped_quote", [
    "{\"a\":\"say \"hi\" to\"}",
    "{\"a\":\"b,\"c\":\"d\"}",
    "{\"a\":'it's'}",
    "{a\":1}",
    "{\"a:\"b\"}",
    "{\"sizes\":[5\", 6\"]}",
    "{\"sizes\":[10\"x12\"]}",
    "{\"sizes\":[5'10', 6'2']}",
    "{\"sizes\":[5\"\n,6\"]}",
    "{\"sizes\":[5\n6\"]}",
    "{\"sizes\":[5“, 6“]}",
    "{\"sizes\":[5”, 6”]}",
    "{\"a\":1\"b\":2}",
    "{\"a\":[1,2]\",b\":3}",
    "{\"a\":true ' ,b':3}",
    "{\"a\":[1\n\" , b\"]}",
    "{“a”: “say “hi””}"
  ]],
  ["invisible_character", [
    "{\"a\":1}\u0000",
    "\u0000{\"a\":1}",
    "{\"a\":\u00a01}",
    "{\u200b\"a\":1}",
    "{\"a\"\u3000:1}",
    "{\"a\":1\u2028}"
  ]],
  ["unexpected_character", [
    "{\"a\":1} = x",
    "{:1}",
    "{\"a\":@}",
    "{\"a\":1} \"x\"",
    "{'a':1}</s> Done.",
    "{\"a\":1}</s> if it rains",
    "{\"a\":1}<b> Done."
  ]],
  ["unquoted_key", ["{1:2}", "{a-b:1}", "{None:1}", "{true:1}", "{`a`:1}"]]
]

describe("Arguments", () => {
  describe("parse", () => {
    it("reads nothing, null and an empty array as no arguments", () => {
      for (const text of [undefined, "", "  \n\t", "null", " null\n", "[]", " [ ] "]) {
        assert.deepStrictEqual(value(text), {})
      }
    })

    it("reads one strict object, and repairs nothing in it", () => {
      const parsed = Result.getOrThrow(Arguments.parse(" {\"city\": \"Paris\", \"days\": [1, 2]}\n"))
      assert.deepStrictEqual(parsed.value, { city: "Paris", days: [1, 2] })
      assert.deepStrictEqual(parsed.repairs, [])
    })

    it("says where a text that was cut off ends, and what is missing there", () => {
      assert.strictEqual(
        detail("{\"city\":\"Par"),
        "They end too early, at offset 12 (line 1, column 13): the closing '\"' of a string is missing."
      )
      assert.strictEqual(
        detail("{\"amount\":1"),
        "They end too early, at offset 11 (line 1, column 12): the rest after a number is missing."
      )
      assert.strictEqual(
        detail("{\n\"amount\":"),
        "They end too early, at offset 11 (line 2, column 10): a value is missing."
      )
    })

    it("says where in the text around it an object in a string is at fault, and where it ends too early", () => {
      const faultOf = (text: string) => {
        const { fault, issues } = refusal(text)
        return [fault?.kind, fault?.offset, text.slice(fault?.offset), issues[0]?.expected]
      }
      const rest = "the rest after a number"
      assert.deepStrictEqual(faultOf("\"{\\\"a\\\":1\""), ["cut_off", 9, "\"", rest])
      for (
        const [before, inner, after] of [
          [" ", "{\\\"a\\\":1", "\" \n"],
          ["```json\n", "{\\u0022a\\u0022:\\n1", "\"\n```"],
          ["<tool_call>", "{\"a\":1", "'</tool_call>"],
          ["", "{\\\"é漢😀\\\":1", "\""]
        ] as const
      ) {
        const text = `${before}${after[0]}${inner}${after}`
        assert.deepStrictEqual(faultOf(text), ["cut_off", text.length - after.length, after, rest])
      }
      assert.deepStrictEqual(faultOf("{\\\"a\\\":1"), ["cut_off", 8, "", rest])
      assert.deepStrictEqual(faultOf(JSON.stringify("{\"a\":1,\n\"a\":2}")), [
        "duplicate_key",
        12,
        "\\\"a\\\":2}\"",
        "\"a\" once"
      ])
      assert.deepStrictEqual(faultOf(JSON.stringify("{\"a\":1,b:2,}")), [
        "unexpected_character",
        10,
        "b:2,}\"",
        "plain JSON"
      ])
      assert.deepStrictEqual(faultOf("{\\\"a\\\":1,\\\"b\\\":oops}"), [
        "bareword",
        15,
        "oops}",
        "a value; a text has to be in double quotes"
      ])
    })

    it("gives the place of a fault by offset, line and column", () => {
      const failure = refusal("{\n  \"a\": 1,\n  b-c: 2\n}")
      assert.include(
        failure.detail,
        "A key has no quotes, at offset 15 (line 3, column 4), near `{   \"a\": 1,   b-c: 2 }`: expected a key in double quotes."
      )
      assert.deepStrictEqual(failure.fault, { kind: "unquoted_key", offset: 15, line: 3, column: 4 })
    })

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

    describe.each(refusals)("refuses %s", (kind, texts) => {
      it.each(texts.map((text) => [text]))("%j", (text) => {
        const failure = refusal(text)
        assert.strictEqual(failure.fault?.kind, kind)
        assert.strictEqual(failure.code, "invalid_json")
        assert.match(failure.hint ?? "", /Send the complete arguments again, as one JSON object\.$/)
        assert.strictEqual(failure.issues.length, 1)
      })
    })

    it("composes repairs that nobody need hear of, and lists them in the order of the text", () => {
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

    it("tells of the first place of each kind, once", () => {
      const { repairs } = Result.getOrThrow(Arguments.parse("{\"a\": 1 \"b\": 2 \"c\": 3}"))
      assert.deepStrictEqual(repairs, [
        { kind: "missing_comma", offset: 7, note: "A comma was missing in the arguments" }
      ])
    })

    it("makes two kinds of repairs that are worth a word, and not three", () => {
      const two = Result.getOrThrow(Arguments.parse("{“a”: 1 \"b\": 2}"))
      assert.deepStrictEqual(two.repairs.map(({ kind }) => kind), ["smart_quotes", "missing_comma"])
      const failure = refusal("{“a”: 1, “a”: 1 \"b\": 2}")
      assert.deepStrictEqual(failure.fault, { kind: "too_many_repairs", offset: 15, line: 1, column: 16 })
    })

    it("has the source text of numbers, as they were written", () => {
      for (
        const text of [
          "{\"a\":[1.10,{\"b\":1e2}],\"c\":12345678901234567890}",
          "{'a':[1.10,{b:1e2,}],c:12345678901234567890}"
        ]
      ) {
        const { isExact, numberAt } = Result.getOrThrow(Arguments.parse(text))
        assert.deepStrictEqual(
          [["a", 0], ["a", 1, "b"], ["c"], ["a"], ["a", 2], [], ["d", "e"]].map(numberAt),
          ["1.10", "1e2", "12345678901234567890", undefined, undefined, undefined, undefined]
        )
        assert.isFalse(isExact)
      }
      const inside = Result.getOrThrow(Arguments.parse(JSON.stringify("{\"a\":1.50}")))
      assert.strictEqual(inside.numberAt(["a"]), "1.50")
      assert.isTrue(inside.isExact)
    })

    it("says how to go on, with one issue that shows the place in a short excerpt", () => {
      const failure = refusal(`{"a": 1, b: "x\\y${"x".repeat(1_000)}"}`)
      assert.deepInclude({ ...failure }, {
        _tag: "SchemaMismatch",
        side: "arguments",
        code: "invalid_json",
        hint: "Write a backslash as \\\\. Send the complete arguments again, as one JSON object.",
        issues: [{
          path: [],
          expected: "an escape of JSON, such as \\n or \\\\",
          actual: JSON.stringify(`{"a": 1, b: "x\\y${"x".repeat(18)}…`)
        }]
      })
    })

    it("reads a text of the greatest length, and refuses one byte more", () => {
      const longest = `{"a":"${"x".repeat(Arguments.maxBytes - 8)}"}`
      assert.strictEqual(longest.length, Arguments.maxBytes)
      assert.property(value(longest), "a")
      assert.strictEqual(detail(`${longest} `), "They are too long: expected at most 1048576 bytes.")
      const wide = `{"a":"${"é".repeat((Arguments.maxBytes - 8) / 2)}"}`
      assert.property(value(wide), "a")
      assert.strictEqual(refusal(` ${wide}`).fault?.kind, "too_long")
    })

    it("refuses what a repair would have to invent, however it is wrapped", () => {
      for (const inner of ["{\"a\":1", "{\"a\":\"b", "{\"a\":{\"b\":1}"]) {
        for (
          const wrapped of [
            `\`\`\`json\n${inner}\n\`\`\``,
            `<tool_call>${inner}</tool_call>`,
            JSON.stringify(inner),
            `Here: ${inner}`
          ]
        ) {
          assert.strictEqual(refusal(wrapped).fault?.kind, "cut_off", wrapped)
        }
      }
    })

    it("yields what JSON.parse yields where that yields an object, or repairs, or refuses, and never throws", () => {
      fc.assert(
        fc.property(anyText, (text) =>
          Result.match(Arguments.parse(text), {
            onSuccess: ({ repairs, value }) => {
              if (repairs.length === 0) assert.deepStrictEqual(value, JSON.parse(text))
            },
            onFailure: (failure) => {
              assert.strictEqual(failure.code, "invalid_json")
              assert.isBelow(JSON.stringify(failure).length, 2_000)
            }
          })),
        { numRuns: 1_000 }
      )
    })

    it("accepts every object that JSON can write", () => {
      fc.assert(fc.property(objectText, (text) => {
        assert.deepStrictEqual(value(text), JSON.parse(text))
      }))
    })

    it("completes no prefix of an object", () => {
      fc.assert(fc.property(objectText, fc.nat(), (text, cut) => {
        refusal(text.slice(0, 1 + cut % (text.length - 1)))
      }))
    })
  })

  describe("firstFault", () => {
    interface Written {
      readonly text: string
      /** What is read while the text is, and once it has been. */
      readonly inside: Path
      readonly after: Path
    }

    type Path = ReadonlyArray<string | number>

    /** The pieces of a value's JSON, each with the place that it belongs to. */
    const placed = (value: unknown, path: Path = []): ReadonlyArray<Written> => {
      const piece = (text: string, inside = path, after = inside): Written => ({ text, inside, after })
      if (typeof value !== "object" || value === null) return [piece(JSON.stringify(value))]
      const isArray = Array.isArray(value)
      const parts = Object.entries(value).flatMap(([key, part], index): ReadonlyArray<Written> => {
        const inner = [...path, isArray ? index : key]
        const comma = index === 0 ? [] : [piece(",", isArray ? inner : path)]
        const name = isArray ? [] : [piece(JSON.stringify(key), path, inner), piece(":", inner)]
        return [...comma, ...name, ...placed(part, inner)]
      })
      return [piece(isArray ? "[" : "{"), ...parts, piece(isArray ? "]" : "}")]
    }

    it("finds a fault exactly where JSON.parse refuses", () => {
      fc.assert(
        fc.property(anyText, (text) => {
          assert.strictEqual(firstFault(text) === undefined, isJson(text))
        }),
        { numRuns: 2_000 }
      )
    })

    it("knows which characters a string may hold, raw and escaped", () => {
      for (let code = 0; code < 0x100; code++) {
        const char = String.fromCharCode(code)
        const hex = code.toString(16).padStart(4, "0")
        for (const text of [char, `\\${char}`, `\\u${hex}`, `\\u${hex.toUpperCase()}`]) {
          assert.strictEqual(firstFault(`"${text}"`) === undefined, isJson(`"${text}"`), text)
        }
      }
    })

    it("points into the text, after a start that can still become JSON", () => {
      fc.assert(fc.property(changed.filter((text) => !isJson(text)), (text) => {
        const { offset } = firstFault(text) ?? assert.fail("no fault")
        const start = firstFault(text.slice(0, offset))
        assert.isAtMost(offset, text.length)
        assert.isTrue(start === undefined || start.offset === offset)
      }))
    })

    it("is not hurt by depth", () => {
      const fault = firstFault("[".repeat(500_000)) ?? assert.fail("no fault")
      assert.deepInclude(fault, { kind: "too_deep", offset: 1000, of: "1000" })
    })

    it("knows where a text is cut off, after each of its characters", () => {
      fc.assert(fc.property(fc.jsonValue(), (value) => {
        const written = placed(value)
        const text = written.map(({ text }) => text).join("")
        assert.strictEqual(text, JSON.stringify(value))
        const places = written.flatMap(({ after, inside, text }) =>
          Array.from({ length: text.length }, (_, index) => index === text.length - 1 ? after : inside)
        )
        // A number that is cut off may be one, too; then the text is whole.
        for (let length = 1; length < text.length; length++) {
          const fault = firstFault(text.slice(0, length))
          if (fault !== undefined) assert.deepStrictEqual(fault.path, places[length - 1], text.slice(0, length))
        }
      }))
    })

    it("knows the place of a fault in the middle, in a text with white space and escapes", () => {
      const cases: ReadonlyArray<readonly [text: string, path: ReadonlyArray<string | number>]> = [
        ["{ \"orders\" : [ { \"total\" : 12 } , { \"total\" : oops", ["orders", 1, "total"]],
        ["{\"a\":[1,2],\"b\":{\"c\":[[],[{\"d\":+1", ["b", "c", 1, 0, "d"]],
        ["{\"a\":[[1],[2]],\"\\u0062\\\"\":tru", ["b\""]],
        ["{\"a\":1 \"b\":2}", ["a"]],
        ["{\"a\":{\"b\":1},\"c", []],
        ["[1,2,", [2]],
        ["[[1],[2,3]", [1]],
        ["tru", []]
      ]
      for (const [text, path] of cases) assert.deepStrictEqual(firstFault(text)?.path, path, text)
    })
  })

  describe("decode", () => {
    const order = Schema.Struct({
      city: Schema.String,
      unit: Schema.Literals(["celsius", "fahrenheit"]),
      days: Schema.optionalKey(Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 5 }))),
      stops: Schema.optionalKey(Schema.Array(Schema.Struct({ name: Schema.String, seat: Schema.Boolean })))
    })
    const target = { parameters: order }

    const refused = (value: unknown, parameters: Schema.ConstraintDecoder<unknown> = order) =>
      Effect.map(
        Effect.flip(Arguments.decode(JSON.stringify(value), { parameters })),
        (failure) => failure._tag === "SchemaMismatch" ? failure : assert.fail(failure._tag)
      )

    const paris = { city: "Paris", unit: "celsius" }

    it.effect("yields the typed parameters", () =>
      Effect.gen(function*() {
        const { params, repairs } = yield* Arguments.decode(
          "{\"city\":\"Paris\",\"unit\":\"celsius\",\"days\":2}",
          target
        )
        const days: number | undefined = params.days
        assert.deepStrictEqual([params.city, params.unit, days, repairs], ["Paris", "celsius", 2, []])
      }))

    it.effect("reads values in their JSON form, as the model was shown it", () =>
      Effect.gen(function*() {
        const parameters = Schema.Struct({ at: Schema.Date, id: Schema.BigInt })
        const { params } = yield* Arguments.decode(
          "{\"at\":\"2024-01-02T03:04:05.000Z\",\"id\":\"9007199254740993\"}",
          { parameters }
        )
        assert.deepStrictEqual(params, { at: new Date("2024-01-02T03:04:05.000Z"), id: 9007199254740993n })
      }))

    it.effect("gives a tool without required parameters no arguments at all", () =>
      Effect.gen(function*() {
        for (const text of [undefined, "", "null", "[]"]) {
          assert.deepStrictEqual(
            (yield* Arguments.decode(text, { parameters: Schema.Struct({}) })).params,
            {}
          )
        }
      }))

    it.effect("refuses unreadable text as parse does", () =>
      Effect.gen(function*() {
        const failure = yield* Effect.flip(Arguments.decode("{\"city\":", target))
        assert.deepStrictEqual({ ...failure }, { ...refusal("{\"city\":") })
      }))

    it.effect("names every field at fault, with what was expected and what came", () =>
      Effect.gen(function*() {
        const failure = yield* refused({
          unit: "kelvin",
          days: 7,
          stops: [{ name: null, seat: true }, { name: "Lyon" }]
        })
        assert.deepStrictEqual(failure.issues, [
          { path: ["city"], expected: "string", actual: "nothing" },
          { path: ["unit"], expected: "\"celsius\" | \"fahrenheit\"", actual: "\"kelvin\"" },
          { path: ["days"], expected: "integer from 1 to 5", actual: "7" },
          { path: ["stops", 0, "name"], expected: "string", actual: "null" },
          { path: ["stops", 1, "seat"], expected: "boolean", actual: "nothing" }
        ])
        assert.strictEqual(
          failure.detail,
          "'city': expected string, got nothing. 'unit': expected \"celsius\" | \"fahrenheit\", got \"kelvin\". " +
            "'days': expected integer from 1 to 5, got 7. 'stops.0.name': expected string, got null. " +
            "'stops.1.seat': expected boolean, got nothing. Expected keys: 'city', 'unit', 'days', 'stops'."
        )
        assert.deepInclude({ ...failure }, {
          side: "arguments",
          code: "invalid_arguments"
        })
      }))

    it.effect("refuses a key that no parameter has, and names the one that was meant", () =>
      Effect.gen(function*() {
        const failure = yield* refused({ citi: "Paris", unit: "celsius" })
        assert.include(failure.detail, "'citi': no such key. Did you mean 'city'?")
        assert.deepStrictEqual(failure.alternatives, ["city", "days", "stops", "unit"])
      }))

    it.effect("does not suggest a key for one that resembles none", () =>
      Effect.gen(function*() {
        const failure = yield* refused({ ...paris, language: "fr" })
        assert.deepStrictEqual(failure.issues, [{ path: ["language"], expected: "no such key", actual: "\"fr\"" }])
      }))

    it.effect("offers the keys that are still free first", () =>
      Effect.gen(function*() {
        const failure = yield* refused({ ...paris, unitt: "celsius" })
        assert.deepStrictEqual(failure.alternatives.slice(-2), ["unit", "city"])
      }))

    it.effect("offers the keys of the inner object for an unknown one inside it", () =>
      Effect.gen(function*() {
        const failure = yield* refused({ ...paris, stops: [{ nam: "Lyon", seat: true }] })
        assert.deepStrictEqual(failure.alternatives, ["name", "seat"])
      }))

    it.effect("offers an enum's choices, nearest first", () =>
      Effect.gen(function*() {
        assert.deepStrictEqual(
          (yield* refused({ ...paris, unit: "farenheit" })).alternatives,
          ["fahrenheit", "celsius"]
        )
        assert.deepStrictEqual((yield* refused({ ...paris, unit: "Celcius" })).alternatives, ["celsius", "fahrenheit"])
      }))

    it.effect("treats keys of every object's prototype as keys like any other", () =>
      Effect.gen(function*() {
        for (const key of ["constructor", "toString"]) {
          const text = `{"city":"Paris","unit":"celsius",${JSON.stringify(key)}:{}}`
          const failure = yield* Effect.flip(Arguments.decode(text, target))
          assert.include(failure.detail, `'${key}': no such key`)
        }
        const missing = yield* refused({}, Schema.Struct({ ["__proto__"]: Schema.String }))
        assert.deepStrictEqual(missing.issues, [{ path: ["__proto__"], expected: "string", actual: "nothing" }])
      }))

    it.effect("reports no more than twenty fields", () =>
      Effect.gen(function*() {
        const items = Array.from({ length: 30 }, () => "x")
        const failure = yield* refused({ items }, Schema.Struct({ items: Schema.Array(Schema.Int) }))
        assert.deepStrictEqual(failure.issues.map(({ path }) => path.join(".")), [
          "items.0",
          "items.1",
          "items.2",
          "items"
        ])
        assert.include(failure.detail, "27 more items like these")
        const keys = Array.from({ length: 30 }, (_, index) => [`key${index}`, index])
        assert.strictEqual(
          (yield* refused(Object.fromEntries(keys), Schema.Struct({ a: Schema.String }))).issues.length,
          20
        )
      }))

    it.effect("shows of a long value only its start", () =>
      Effect.gen(function*() {
        const failure = yield* refused({ ...paris, days: "x".repeat(10_000) })
        assert.isBelow(failure.detail.length, 250)
        assert.include(failure.detail, "more characters")
      }))

    it.effect("reads fields through a schema with a name", () =>
      Effect.gen(function*() {
        class Place extends Schema.Class<Place>("Place")({ city: Schema.String }) {}
        const failure = yield* refused({ place: { town: "Paris" } }, Schema.Struct({ place: Place }))
        assert.deepStrictEqual(failure.issues, [
          { path: ["place", "city"], expected: "string", actual: "nothing" },
          { path: ["place", "town"], expected: "no such key", actual: "\"Paris\"" }
        ])
        assert.deepStrictEqual(failure.alternatives, ["city"])
      }))

    it.effect("never dies of a value, and refuses it on one line", () =>
      Effect.gen(function*() {
        const values = fc.sample(object, { numRuns: 200, seed: 1 })
        for (const value of values) {
          const failure = yield* refused(value)
          assert.strictEqual(failure.code, "invalid_arguments")
          assert.notMatch(failure.detail, /[\p{Cc}\u2028\u2029]/u)
        }
      }))
  })

  describe("decode, where the text says more than JSON.parse", () => {
    const anything = Schema.Struct({ id: Schema.Union([Schema.Json, Schema.Undefined]) })
    const decode = <P>(text: string, parameters: Schema.ConstraintDecoder<P>, sideEffect?: SideEffect.SideEffect) =>
      Effect.runSync(
        Effect.result(Arguments.decode(text, { parameters, ...(sideEffect === undefined ? {} : { sideEffect }) }))
      )
    const params = <P>(text: string, parameters: Schema.ConstraintDecoder<P>) =>
      Result.getOrThrow(decode(text, parameters)).params
    const notes = <P>(text: string, parameters: Schema.ConstraintDecoder<P>) =>
      Result.getOrThrow(decode(text, parameters)).repairs.flatMap(({ note }) => note ?? [])

    it("keeps all digits of a whole number for a text or a bigint, and refuses it for anything else", () => {
      const text = "{\"id\":12345678901234567890}"
      assert.deepStrictEqual(params(text, Schema.Struct({ id: Schema.String })), { id: "12345678901234567890" })
      assert.deepStrictEqual(params(text, Schema.Struct({ id: Schema.BigInt })), { id: 12345678901234567890n })
      for (
        const parameters of [
          Schema.Struct({ id: Schema.Number }),
          Schema.Struct({ id: Schema.Int }),
          Schema.Record(Schema.String, Schema.Json),
          Schema.Struct({ id: Schema.Unknown }),
          anything
        ]
      ) {
        const refused = Result.getOrThrow(Result.flip(decode<unknown>(text, parameters)))
        assert.strictEqual(refused.code, "invalid_arguments")
        assert.include(refused.detail, "'id': expected ")
      }
    })

    it("keeps a number as it was written for a text", () => {
      const parameters = Schema.Struct({ version: Schema.String })
      assert.deepStrictEqual(params("{\"version\":1.10}", parameters), { version: "1.10" })
      assert.deepStrictEqual(params("{version:1.10,}", parameters), { version: "1.10" })
      assert.strictEqual(notes("{\"version\":1.10}", parameters).length, 1)
      // Written in two ways, there are two readings.
      assert.isTrue(Result.isFailure(decode("{\"version\":1.10,\"version\":1.1}", parameters)))
      assert.deepStrictEqual(params("{\"n\":1.10,\"n\":1.1}", Schema.Struct({ n: Schema.Number })), { n: 1.1 })
    })

    it("quotes nothing of a text that holds a secret, and cannot be read", () => {
      const parameters = Schema.Struct({ n: Schema.Int, pw: Schema.Redacted(Schema.String) })
      for (const text of ["{\"n\":1,\"pw\":\"hunter2", "{\"n\":1,\"pw\":\"hun\"hunter2\"}", "{\"pw\":hunter2}"]) {
        const failure = Result.getOrThrow(Result.flip(decode(text, parameters)))
        assert.notInclude(JSON.stringify(failure), "hunter2")
        assert.strictEqual(failure.code, "invalid_json")
      }
    })

    it("reads words around the arguments of a tool that reads, and of no tool that acts, idempotent or not", () => {
      const text = "I will NOT call it with these arguments: {\"id\":5}"
      const parameters = Schema.Struct({ id: Schema.Int })
      for (const sideEffect of ["none", undefined] as const) {
        assert.deepStrictEqual(Result.getOrThrow(decode(text, parameters, sideEffect)).params, { id: 5 })
      }
      for (const sideEffect of ["idempotent", "non_idempotent"] as const) {
        const refused = Result.getOrThrow(Result.flip(decode(text, parameters, sideEffect)))
        assert.deepInclude({ ...refused }, {
          code: "invalid_json",
          detail: "The arguments cannot be read. There are words around them.",
          fault: { kind: "prose", offset: 0, line: 1, column: 1 }
        })
        for (
          const [around, offset] of [
            ["{\"id\":5}</tool_call>\nDone.", 21],
            ["// not yet\n{\"id\":5}", 0]
          ] as const
        ) {
          const { fault } = Result.getOrThrow(Result.flip(decode(around, parameters, sideEffect)))
          assert.deepInclude({ ...fault }, { kind: "prose", offset })
        }
        assert.deepStrictEqual(
          Result.getOrThrow(decode("<tool_call>{\"id\":5}</tool_call>", parameters, sideEffect)).params,
          { id: 5 }
        )
      }
    })

    it("refuses what the model was not shown, though the decoder would take it", () => {
      const refused = (value: unknown, schema: Schema.ConstraintDecoder<unknown>) =>
        Result.getOrThrow(Result.flip(decode(JSON.stringify({ value }), Schema.Struct({ value: schema })))).detail
      assert.include(refused("NaN", Schema.Number), "'value': expected number")
      assert.include(refused("-Infinity", Schema.Number), "'value': expected number")
      assert.include(refused("01/02/2024", Schema.Date), "'value': expected ")
      assert.include(refused("2024-01-02T10:00:00", Schema.Date), "'value': expected ")
    })

    it("never changes what it was given", () => {
      const { repairs } = Result.getOrThrow(
        decode("{\"a\":{\"b\":\"1\"}}", Schema.Struct({ a: Schema.Struct({ b: Schema.Int }) }))
      )
      assert.deepStrictEqual(repairs, [{ kind: "text_for_number", path: ["a", "b"] }])
    })
  })

  describe("preview", () => {
    it("shows the members that are complete", () => {
      const text = "{\"a\":\"x\",\"b\":[1,{\"c\":true,\"d\":25}],\"e\":\"y\"}"
      const seen = Array.from(
        new Set(Array.from(text, (_, end) => JSON.stringify(Arguments.preview(text.slice(0, end)).soFar)))
      )
      assert.deepStrictEqual(seen, [
        "{}",
        "{\"a\":\"x\"}",
        "{\"a\":\"x\",\"b\":[]}",
        "{\"a\":\"x\",\"b\":[1]}",
        "{\"a\":\"x\",\"b\":[1,{}]}",
        "{\"a\":\"x\",\"b\":[1,{\"c\":true}]}",
        "{\"a\":\"x\",\"b\":[1,{\"c\":true,\"d\":25}]}",
        "{\"a\":\"x\",\"b\":[1,{\"c\":true,\"d\":25}],\"e\":\"y\"}"
      ])
    })

    it("sees through what stands before the object", () => {
      for (const before of ["```json\n", "<tool_call>", "\ufeff", " \n"]) {
        assert.deepStrictEqual(Arguments.preview(`${before}{city: 'Paris', n`).soFar, { city: "Paris" })
      }
    })

    it("shows nothing of what is no object, and stops where it cannot read on", () => {
      for (const text of ["", "nul", "[1,2", "Hello", "\"{", "{", "{\"__proto__\":{\"a\":1}"]) {
        assert.deepStrictEqual(Arguments.preview(text).soFar, {})
      }
      assert.deepStrictEqual(Arguments.preview("{\"a\":1,\"b\":oops,\"c\":2}").soFar, { a: 1 })
    })
  })

  describe("jsonSchema", () => {
    it("is a closed object, also for a tool without parameters", () => {
      assert.deepStrictEqual(Arguments.jsonSchema(Schema.Struct({})), {
        type: "object",
        properties: {},
        additionalProperties: false
      })
      assert.deepStrictEqual(Arguments.jsonSchema(Schema.Struct({ city: Schema.String })), {
        type: "object",
        properties: { city: { type: "string" } },
        required: ["city"],
        additionalProperties: false
      })
    })

    it("shows a thousand choices as it shows two, whatever stands around them", () => {
      const words = (count: number) => Array.from({ length: count }, (_, index) => `choice ${index}`)
      const numbers = (count: number) => Array.from({ length: count }, (_, index) => index)
      const shown = (count: number): unknown =>
        Arguments.jsonSchema(Schema.Struct({
          word: Schema.Literals(words(count)),
          number: Schema.Literals(numbers(count)).annotate({ description: "a number" }),
          maybe: Schema.optionalKey(Schema.NullOr(Schema.Literals(words(count)))),
          list: Schema.Array(Schema.Literals(words(count)).annotate({ identifier: "Word" })),
          two: Schema.Union([Schema.Literals(words(count)), Schema.Boolean, Schema.Literals(numbers(count))]),
          both: Schema.Union([Schema.Literals(words(count)), Schema.String]),
          secret: Schema.Redacted(Schema.Literals(words(count)))
        }))
      const asMany: unknown = JSON.parse(
        JSON.stringify(shown(2))
          .replaceAll(JSON.stringify(words(2)), JSON.stringify(words(1_001)))
          .replaceAll(JSON.stringify(numbers(2)), JSON.stringify(numbers(1_001)))
      )
      assert.deepStrictEqual(shown(1_001), asMany)
    })

    it("shows a thousand choices of several kinds, and with words of their own", () => {
      const words = Array.from({ length: 1_001 }, (_, index) => `choice ${index}`)
      const literals = words.map((word) => Schema.Literal(word))
      const told = Schema.Literal("told").annotate({ description: "of its own" })
      const shown = (choice: Schema.Constraint) => Arguments.jsonSchema(Schema.Struct({ choice }))["properties"]
      const description = { type: "string", enum: ["told"], description: "of its own" }
      const single = (word: string) => ({ type: "string", enum: [word] })
      assert.deepStrictEqual(shown(Schema.Literals([...words, 1, 2])), {
        choice: {
          anyOf: [{ type: "string", enum: words }, { type: "number", enum: [1] }, { type: "number", enum: [2] }]
        }
      })
      assert.deepStrictEqual(shown(Schema.Union([...literals, told, Schema.Literal("last")])), {
        choice: { anyOf: [{ type: "string", enum: words }, description, single("last")] }
      })
      assert.deepStrictEqual(shown(Schema.Union([told, ...literals])), {
        choice: { anyOf: [description, ...words.map(single)] }
      })
      assert.deepStrictEqual(shown(Schema.Union(literals, { mode: "oneOf" })), {
        choice: { oneOf: words.map(single) }
      })
    })

    it("carries its definitions inside", () => {
      class Place extends Schema.Class<Place>("Place")({ city: Schema.String }) {}
      const schema = Arguments.jsonSchema(Schema.Struct({ from: Place, to: Place }))
      const [name = ""] = Object.keys(schema["$defs"] ?? {})
      assert.deepInclude(schema, {
        properties: { from: { $ref: `#/$defs/${name}` }, to: { $ref: `#/$defs/${name}` } }
      })
    })
  })
})
