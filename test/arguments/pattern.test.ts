import { assert, describe, it } from "@effect/vitest"
import * as fc from "fast-check"
import { patternOf } from "../../packages/arguments/src/schema/pattern.ts"

const matches = (source: string, text: string): boolean | undefined => patternOf(source)?.test(text)

/** Searches as the specification says: a match begins at a code point. V8 also tries between two surrogates. */
const isFound = (source: string, text: string): boolean => {
  const sticky = new RegExp(source, "uy")
  const begins = [0]
  for (const character of text) begins.push(begins.at(-1)! + character.length)
  return begins.some((at) => {
    sticky.lastIndex = at
    return sticky.test(text)
  })
}

const syntax: ReadonlyArray<readonly [source: string, matching: ReadonlyArray<string>, other: ReadonlyArray<string>]> =
  [
    ["", ["", "a"], []],
    ["b", ["b", "abc"], ["", "a", "B"]],
    ["^ab$", ["ab"], ["", "aab", "abb", "ab\n"]],
    ["a|^b|c$", ["xa", "bx", "xc"], ["xbx", "cx"]],
    ["^(a|)b$", ["ab", "b"], ["a", "aab"]],
    ["^(?:a(?<name>b)|(c))$", ["ab", "c"], ["a", "abc"]],
    ["^()$", [""], ["a"]],
    ["a^", [], ["a", "aa"]],
    ["$a", [], ["a", ""]],
    ["(^|,)a(,|$)", ["a", "b,a", "a,b"], ["ba", "ab"]],
    ["^a*b+c?$", ["b", "aabbc"], ["", "ac", "bcc"]],
    ["^a*?b+?c??$", ["b", "aabbc"], ["", "ac", "bcc"]],
    ["^a{2}$", ["aa"], ["a", "aaa"]],
    ["^a{2,}?$", ["aa", "aaaaa"], ["", "a"]],
    ["^a{1,3}$", ["a", "aaa"], ["", "aaaa"]],
    ["^a{0}b$", ["b"], ["ab"]],
    ["^(a{2,3}){2}$", ["aaaa", "aaaaaa"], ["aaa", "aaaaaaa"]],
    ["^(a*)*(|b)+$", ["", "aa", "aab"], ["c"]],
    [`^${"(".repeat(20)}a${"+)".repeat(20)}+$`, ["aaa"], ["", "ab"]],
    ["^.$", ["a", "é", "😀", "\ud83d", "\u0085"], ["", "\n", "\r", "\u2028", "\u2029", "ab"]],
    ["^\\d\\D$", ["1a", "0😀"], ["11", "١a"]],
    ["^\\w\\W$", ["_-", "aé"], ["ab", "é-"]],
    ["^\\s\\S$", [" a", "\u00a0a", "\ufeffa", "\u2003a"], ["a ", "  "]],
    ["\\bfoo\\b", ["foo", "a foo.", "éfoo"], ["food", "a_foo"]],
    ["\\Bo\\B", ["fooo", "food"], ["o", "fo", "of"]],
    ["^\\b", ["a"], ["", " a"]],
    ["^\\B$", [""], ["a", " "]],
    ["^\\t\\n\\r\\f\\v\\0\\x41\\u0042\\u{43}\\cJ$", ["\t\n\r\f\v\0ABC\n"], ["tnrfv0ABCJ"]],
    ["^\\^\\$\\\\\\.\\*\\+\\?\\(\\)\\[\\]\\{\\}\\|\\/$", ["^$\\.*+?()[]{}|/"], [""]],
    ["^\\u{1F600}\\ud83d\\ude00😀$", ["😀😀😀"], ["😀", "\ud83d\ude00"]],
    ["\\ud83d", ["\ud83d", "\ud83da"], ["😀"]],
    ["\\ude00", ["\ude00"], ["😀"]],
    ["\\u{d83d}\\u{de00}", [], ["😀"]],
    ["^\\p{Lu}\\P{L}$", ["A1", "Ä😀"], ["a1", "AA"]],
    ["^\\p{Script=Greek}+$", ["αβγ"], ["abc"]],
    ["^[abc]$", ["a", "c"], ["", "d", "ab"]],
    ["^[^abc]$", ["d", "\n", "😀"], ["", "a"]],
    ["^[a-cx-z_-]$", ["b", "y", "_", "-"], ["d", "w"]],
    ["^[\\d\\-\\]\\\\^\\b.*|()]$", ["1", "-", "]", "\\", "^", "\b", ".", "*", "|", "("], ["a", "b"]],
    ["^[\\u{1F600}-\\u{1F64F}\\p{Lu}]$", ["😀", "🙏", "Q"], ["q", "\ud83d"]],
    ["[]", [], ["", "a"]],
    ["^[^]$", ["\n", "a", "😀"], ["", "ab"]],
    ["^(?=.*[A-Z])(?=.*\\d).{8,}$", ["abcdefG1"], ["abcdefg1", "Abc1"]],
    ["^(?!\\.)(?!.*\\.\\.)[a-z.]+$", ["a.b"], [".a", "a..b"]],
    ["^a(?=b)b?", ["ab"], ["a", "ac"]],
    ["^(?:a(?!b))+$", ["aaa"], ["ab"]],
    ["(?<=a)b", ["ab"], ["b", "cb"]],
    ["(?<!a)b", ["b", "cb"], ["ab", ""]],
    ["^(?:(?<=^|,)(?!,)\\w*(?:,|$))+$", ["a,b", "a"], [",a", "a,,b"]],
    ["^(?=(?!a)(?<=^)[ab]+$)", ["ba", "b"], ["ab", "bc"]],
    ["^.{1,1000}$", ["a".repeat(1_000), "😀".repeat(1_000)], ["", "a".repeat(1_001)]]
  ]

const unsupported = [
  "(",
  "a{2,1}",
  "\\",
  "\\-",
  "]",
  "*",
  "[b-a]",
  "\\p{Nothing}",
  "(a)\\1",
  "(?<name>a)\\k<name>",
  "(?i:a)",
  "a{0,10000}",
  "(a{0,1000}){0,1000}",
  "(((((a{9}){9}){9}){9}){9}){9}",
  "(){1000000000}",
  `a{${"9".repeat(400)},${"9".repeat(400)}}`,
  "(".repeat(1_000) + ")".repeat(1_000),
  "(?=a)".repeat(29),
  "a".repeat(20_000)
]

const real: ReadonlyArray<readonly [source: string, texts: ReadonlyArray<string>]> = [
  // zod
  [
    "^(?!\\.)(?!.*\\.\\.)([A-Za-z0-9_'+\\-\\.]*)[A-Za-z0-9_+-]@([A-Za-z0-9][A-Za-z0-9\\-]*\\.)+[A-Za-z]{2,}$",
    ["a.b+c@x-y.example.com", ".a@b.com", "a..b@c.com", "a@b", "a.@b.com", "a@-b.com"]
  ],
  [
    "^([0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[1-8][0-9a-fA-F]{3}-[89abAB][0-9a-fA-F]{3}-[0-9a-fA-F]{12}|00000000-0000-0000-0000-000000000000|ffffffff-ffff-ffff-ffff-ffffffffffff)$",
    [
      "123e4567-e89b-12d3-a456-426614174000",
      "123e4567-e89b-92d3-a456-426614174000",
      "00000000-0000-0000-0000-000000000000"
    ]
  ],
  [
    "^(?:(?:25[0-5]|2[0-4][0-9]|1[0-9][0-9]|[1-9][0-9]|[0-9])\\.){3}(?:25[0-5]|2[0-4][0-9]|1[0-9][0-9]|[1-9][0-9]|[0-9])$",
    ["127.0.0.1", "255.255.255.255", "256.1.1.1", "1.2.3", "01.2.3.4"]
  ],
  [
    "^(([0-9a-fA-F]{1,4}:){7}[0-9a-fA-F]{1,4}|([0-9a-fA-F]{1,4}:){1,7}:|([0-9a-fA-F]{1,4}:){1,6}:[0-9a-fA-F]{1,4}|([0-9a-fA-F]{1,4}:){1,5}(:[0-9a-fA-F]{1,4}){1,2}|([0-9a-fA-F]{1,4}:){1,4}(:[0-9a-fA-F]{1,4}){1,3}|([0-9a-fA-F]{1,4}:){1,3}(:[0-9a-fA-F]{1,4}){1,4}|([0-9a-fA-F]{1,4}:){1,2}(:[0-9a-fA-F]{1,4}){1,5}|[0-9a-fA-F]{1,4}:((:[0-9a-fA-F]{1,4}){1,6})|:((:[0-9a-fA-F]{1,4}){1,7}|:))$",
    ["::1", "2001:db8::ff00:42:8329", "2001:db8", "1:2:3:4:5:6:7:8", "1:2:3:4:5:6:7:8:9", "::"]
  ],
  [
    "^((\\d\\d[2468][048]|\\d\\d[13579][26]|\\d\\d0[48]|[02468][048]00|[13579][26]00)-02-29|\\d{4}-((0[13578]|1[02])-(0[1-9]|[12]\\d|3[01])|(0[469]|11)-(0[1-9]|[12]\\d|30)|(02)-(0[1-9]|1\\d|2[0-8])))$",
    ["2024-02-29", "2023-02-29", "2024-13-01", "1999-12-31"]
  ],
  ["^([01]\\d|2[0-3]):[0-5]\\d(:[0-5]\\d(\\.\\d+)?)?$", ["23:59", "24:00", "12:30:15.123", "1:00"]],
  [
    "^(?=.{1,253}\\.?$)[a-zA-Z0-9](?:[a-zA-Z0-9-]{0,61}[a-zA-Z0-9])?(?:\\.[a-zA-Z0-9](?:[-0-9a-zA-Z]{0,61}[0-9a-zA-Z])?)*\\.?$",
    [
      "example.com",
      "-a.com",
      "a.",
      `${"a".repeat(64)}.com`
    ]
  ],
  ["^$|^(?:[0-9a-zA-Z+/]{4})*(?:(?:[0-9a-zA-Z+/]{2}==)|(?:[0-9a-zA-Z+/]{3}=))?$", [
    "",
    "YWJj",
    "YWI=",
    "YQ==",
    "YQ=",
    "a"
  ]],
  ["^[A-Za-z0-9_-]*$", ["a_b-c", "a+b"]],
  ["^\\+[1-9]\\d{6,14}$", ["+4915112345678", "004915112345678", "+0123456789"]],
  ["^[cC][0-9a-z]{6,}$", ["cjld2cjxh0000qzrmn831i7rn", "x12"]],
  ["^[0-9A-HJKMNP-TV-Za-hjkmnp-tv-z]{26}$", ["01ARZ3NDEKTSV4RRFFQ69G5FAV", "01ARZ3NDEKTSV4RRFFQ69G5FAI"]],
  ["^P(?:(\\d+W)|(?!.*W)(?=\\d|T\\d)(\\d+Y)?(\\d+M)?(\\d+D)?(T(?=\\d)(\\d+H)?(\\d+M)?(\\d+([.,]\\d+)?S)?)?)$", [
    "P1Y2M3DT4H5M6.7S",
    "P2W",
    "P",
    "PT",
    "P1DT",
    "P1W2D"
  ]],
  ["^(\\p{Extended_Pictographic}|\\p{Emoji_Component})+$", ["😀", "👩‍👩‍👧", "a"]],
  // Pydantic
  ["^(?!^[-+.]*$)[+-]?0*\\d*\\.?\\d*$", ["1.5", "-0.1", ".", "+", "1.2.3"]],
  ["^(?!^[-+.]*$)[+-]?0*(?:\\d{0,8}|(?=[\\d.]{1,11}0*$)\\d{0,8}\\.\\d{0,2}0*$)", ["12345678.12", "123456789.1", "+"]],
  // Others
  ["^[a-z0-9]+(?:-[a-z0-9]+)*$", ["a-slug-2", "-a", "a--b", ""]],
  [
    "^(0|[1-9]\\d*)\\.(0|[1-9]\\d*)\\.(0|[1-9]\\d*)(?:-((?:0|[1-9]\\d*|\\d*[a-zA-Z-][0-9a-zA-Z-]*)(?:\\.(?:0|[1-9]\\d*|\\d*[a-zA-Z-][0-9a-zA-Z-]*))*))?(?:\\+([0-9a-zA-Z-]+(?:\\.[0-9a-zA-Z-]+)*))?$",
    ["1.2.3", "1.2.3-rc.1+build.5", "01.2.3", "1.2", "1.2.3-01"]
  ],
  ["^(\\([0-9]{3}\\))?[0-9]{3}-[0-9]{4}$", ["555-1212", "(888)555-1212", "(888)555-1212 ext. 532"]],
  ["^#(?:[0-9a-fA-F]{3}){1,2}$", ["#fff", "#a1b2c3", "#ffff", "fff"]],
  ["^\\S+$", ["abc", "a b", "", "\u00a0"]],
  ["^.{1,64}$", ["a", "😀".repeat(64), "a".repeat(65), ""]],
  ["^https?://", ["https://a.b", "http://", "ftp://a", " http://a"]],
  ["^[^\\s@]+@[^\\s@]+\\.[^\\s@]+$", ["a@b.c", "a@b", "a b@c.d", "ä@ö.ü"]],
  ["^(?:\\d{4}-\\d{2}-\\d{2}T\\d{2}:\\d{2}:\\d{2}(?:\\.\\d+)?(?:Z|[+-]\\d{2}:\\d{2}))$", [
    "2024-01-01T00:00:00Z",
    "2024-01-01"
  ]],
  ["^[A-Z]{2}\\d{2}[A-Z0-9]{11,30}$", ["DE89370400440532013000", "DE8937"]],
  ["^(?:4[0-9]{12}(?:[0-9]{3})?|5[1-5][0-9]{14}|3[47][0-9]{13})$", ["4111111111111111", "5111111111111111", "41111"]],
  ["^arn:aws[a-zA-Z-]*:[a-z0-9-]+:[a-z0-9-]*:\\d{12}:.+$", ["arn:aws:iam::123456789012:role/a", "arn:gcp:iam::1:a"]],
  ["^(/[^/\\0]*)+/?$", ["/usr/local", "/", "usr", "/a\0"]],
  ["^x-", ["x-a", "ax-"]],
  ["^(?=.*[a-z])(?=.*[A-Z])(?=.*\\d)(?=.*[^\\w\\s])[^]{8,128}$", ["aB3$aaaa", "aB3aaaaa", "aB3$"]],
  ["^[\\p{L}\\p{M}' -]+$", ["Zoë O'Neill-Müller", "R2D2", "李"]],
  ["^[\\u0020-\\uD7FF\\uE000-\\uFFFD\\u{10000}-\\u{10FFFF}\\r\\n\\t]*$", ["a\tb😀", "\0", "\ud83d"]]
]

const long = 100_000
const hostile: ReadonlyArray<readonly [source: string, text: string, matches: boolean]> = [
  ["^(a+)+$", `${"a".repeat(long)}!`, false],
  ["(a|a)*b", "a".repeat(long), false],
  ["(x+x+)+y", "x".repeat(long), false],
  ["^(([a-z])+.)+[A-Z]([a-z])+$", "a".repeat(long), false],
  ["\\s+$", `${" ".repeat(1_000_000)}x`, false],
  ["(.*)*(.*)*(.*)*$x", "a\n".repeat(long / 2), false],
  ["^(?=(a+)+b)(?!(a|aa)+$)", "a".repeat(long), false],
  ["(?<=(a+)+)b", `${"a".repeat(long)}cb`, false],
  ["(\\w|\\d)+\\b!", "a1".repeat(long / 2), false],
  ["(x?){300}x{300}y", "x".repeat(long), false],
  // Its deterministic automaton has 2^21 states, and only some are cached at a time.
  [
    "(a|b)*a(a|b){20}c",
    `${Array.from({ length: long }, (_, at) => "ab"[Math.imul(at * at + 7, 2_654_435_761) >>> 15 & 1]).join("")}!`,
    false
  ],
  // More kinds of characters than the cache holds.
  ["^[^\\s]+$", Array.from({ length: long }, (_, at) => String.fromCodePoint(0x3400 + at % 50_000)).join(""), true]
]

const fewCharacters = fc.constantFrom("a", "b", "_", "-", " ", "\n", "1", "é", "😀", "\ud83d", "\ude00")
const texts = fc.string({ unit: fewCharacters, maxLength: 6 })
const leaves = fc.constantFrom(
  ..."ab_- .^$é😀",
  ..."\\b \\B \\d \\w \\s \\W \\n \\x61 \\p{L} \\P{L} \\ud83d \\ude00 \\ud83d\\ude00 \\u{1f600}".split(" "),
  ..."[ab] [^a] [a-b_] [^] [] [\\]\\w-] [😀-😂] [^😀] () (?:)".split(" ")
)
const quantifiers = fc.constantFrom("*", "+", "?", "{0}", "{2}", "{1,}", "{0,2}", "{2,4}", "*?", "+?", "??", "{2,4}?")
const { source: sources } = fc.letrec<{ source: string }>((tie) => ({
  source: fc.oneof(
    { maxDepth: 4, withCrossShrink: true },
    leaves,
    fc.tuple(tie("source"), tie("source")).map(([a, b]) => `${a}${b}`),
    fc.tuple(tie("source"), tie("source")).map(([a, b]) => `(${a}|${b})`),
    fc.tuple(tie("source"), quantifiers).map(([a, quantifier]) => `(?:${a})${quantifier}`),
    fc.tuple(fc.constantFrom("(", "(?:", "(?=", "(?!", "(?<=", "(?<!"), tie("source")).map(([open, a]) =>
      `${open}${a})`
    )
  )
}))
// The engine must finish too: nested repetition takes it exponential time.
const anchored = fc.tuple(fc.constantFrom("", "^"), sources, fc.constantFrom("", "$")).map((parts) => parts.join(""))
  .filter((source) => (source.match(/\)[*+?{]/g) ?? []).length <= 4)

describe("patternOf", () => {
  it("reads the whole syntax", () => {
    for (const [source, matching, others] of syntax) {
      for (const text of matching) {
        assert.strictEqual(matches(source, text), true, `${source} on ${JSON.stringify(text)}`)
      }
      for (const text of others) {
        assert.strictEqual(matches(source, text), false, `${source} on ${JSON.stringify(text)}`)
      }
      for (const text of [...matching, ...others]) assert.strictEqual(isFound(source, text), matching.includes(text))
    }
  })

  it("has no pattern for an invalid source, or one that needs more than linear time or too much memory", () => {
    for (const source of unsupported) assert.isUndefined(patternOf(source), source.slice(0, 40))
  })

  it("is compiled once", () => {
    assert.strictEqual(patternOf("^once$"), patternOf("^once$"))
  })

  it("stays right after a thousand other patterns", () => {
    const before = patternOf("^first$")
    for (let index = 0; index < 1_100; index++) assert.isTrue(matches(`^${index}$`, `${index}`))
    assert.notStrictEqual(patternOf("^first$"), before)
    assert.isTrue(matches("^first$", "first"))
  })

  it("starts matches only at code points, unlike V8, which also tries between surrogates", () => {
    assert.isFalse(matches("\\B", "a😀b"))
    assert.isFalse(isFound("\\B", "a😀b"))
  })

  it("matches like the engine, for typical patterns", () => {
    for (const [source, texts] of real) {
      const native = new RegExp(source, "u")
      for (const text of texts) assert.strictEqual(matches(source, text), native.test(text), `${source} on ${text}`)
      const verdicts = new Set(texts.map((text) => native.test(text)))
      assert.strictEqual(verdicts.size, 2, `${source} has to match some texts and not others`)
    }
  })

  it("matches like the engine, for any pattern and text", { tags: ["slow"] }, () => {
    fc.assert(
      fc.property(anchored, fc.array(texts, { minLength: 1, maxLength: 5 }), (source, texts) => {
        for (const text of texts) assert.strictEqual(matches(source, text), isFound(source, text))
      }),
      { numRuns: 5_000 }
    )
  })

  it("takes linear time for hostile patterns", { tags: ["slow"] }, () => {
    for (const [source, text, expected] of hostile) assert.strictEqual(matches(source, text), expected, source)
  })
})
