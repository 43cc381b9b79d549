/** Checks the prose of the documents: where their links lead, which commands they name, and how long their sentences are. */
import { assert, describe, it } from "@effect/vitest"
import { existsSync, globSync, readFileSync } from "node:fs"
import { dirname, join, normalize } from "node:path"
import { root } from "./support/program.ts"

const read = (file: string) => readFileSync(join(root, file), "utf8")
const find = (...patterns: ReadonlyArray<string>) =>
  patterns.flatMap((pattern) => globSync(pattern, { cwd: root })).toSorted()

const documents = find("*.md", "docs/*.md", "examples/*.md", "packages/*/README.md")

/** A document without its blocks of code. */
const proseOf = (text: string) => text.replace(/^( *)```[\s\S]*?^\1```$/gm, "")

// -----------------------------------------------------------------------------
// Links
// -----------------------------------------------------------------------------

interface Link {
  readonly at: string
  readonly target: string
}

const linksIn = (file: string): ReadonlyArray<Link> =>
  Array.from(
    // Inline links and images, definitions of links, and addresses in angle brackets.
    proseOf(read(file)).matchAll(
      /\]\(\s*<?([^)\s>]+)>?(?:\s+"[^"]*")?\s*\)|^\[[^\]]+\]:\s*(\S+)|<(https?:[^>\s]+)>/gm
    ),
    ([, inline, defined, bare]) => ({ at: file, target: inline ?? defined ?? bare ?? "" })
  )

/** Returns the anchors of a document's headings, by the rules of GitHub. A repeated heading gets a number. */
const anchorsOf = (text: string): ReadonlySet<string> => {
  const seen = new Map<string, number>()
  return new Set(
    Array.from(proseOf(text).matchAll(/^#{1,6} +(.+?) *#*$/gm), ([, heading = ""]) => {
      const slug = slugOf(heading)
      const count = seen.get(slug) ?? 0
      seen.set(slug, count + 1)
      return count === 0 ? slug : `${slug}-${count}`
    })
  )
}

// A link in a heading counts as its text. Letters, digits, spaces, hyphens and underscores stay.
const slugOf = (heading: string): string =>
  heading.replaceAll(/\[([^\]]*)\]\([^)]*\)/g, "$1").trim().toLowerCase()
    .replaceAll(/[^\p{L}\p{M}\p{N}\p{Pc} -]/gu, "").replaceAll(" ", "-")

/** Returns what is wrong with a link, if something is. */
const wrongIn = ({ at, target }: Link): string | undefined => {
  if (/^[a-z]+:/i.test(target)) {
    if (!URL.canParse(target)) return "is not an address"
    const { hostname, protocol } = new URL(target)
    if (protocol !== "https:") return "is not https"
    return /^([a-z0-9-]+\.)+[a-z]{2,}$/.test(hostname) ? undefined : "names no public host"
  }
  const [path = "", anchor] = target.split("#")
  const file = path === "" ? at : normalize(join(dirname(at), decodeURI(path)))
  if (file.startsWith("..")) return "leaves the repository"
  if (!existsSync(join(root, file))) return "leads to no file"
  if (anchor === undefined) return undefined
  return file.endsWith(".md") && anchorsOf(read(file)).has(anchor) ? undefined : "leads to no heading"
}

describe("links", () => {
  it.each(documents)("of %s lead somewhere", (file) => {
    const wrong = linksIn(file).flatMap((link) => {
      const what = wrongIn(link)
      return what === undefined ? [] : [`${link.target} ${what}`]
    })
    assert.deepStrictEqual(wrong, [])
  })

  it("are found, with and without anchors", () => {
    const targets = documents.flatMap(linksIn).map(({ target }) => target)
    assert.isAbove(targets.filter((target) => target.startsWith("https:")).length, 5)
    assert.isAbove(targets.filter((target) => !target.includes(":")).length, 20)
    assert.isAbove(targets.filter((target) => target.includes("#")).length, 0)
  })

  it("that are wrong are noticed", () => {
    for (
      const [target, what] of [
        ["docs/no-such-page.md", "leads to no file"],
        ["docs/testing.md#no-such-heading", "leads to no heading"],
        ["#no-such-heading", "leads to no heading"],
        ["LICENSE#heading", "leads to no heading"],
        ["../outside.md", "leaves the repository"],
        ["http://example.com", "is not https"],
        ["https://exa mple", "is not an address"],
        ["https://localhost/page", "names no public host"],
        ["docs/testing.md#can-it-pay-twice", undefined],
        ["https://example.com/page#part", undefined]
      ] as const
    ) assert.strictEqual(wrongIn({ at: "README.md", target }), what, target)
  })

  it("reach headings by the slugs of GitHub", () => {
    const anchors = anchorsOf(
      "# A `Tool`, or two?\n\n## Same\n\n## Same\n\n```sh\n# a comment\n```\n\n## [Link](x.md) — Größe_2 #\n"
    )
    assert.deepStrictEqual([...anchors], ["a-tool-or-two", "same", "same-1", "link--größe_2"])
  })
})

// -----------------------------------------------------------------------------
// Commands
// -----------------------------------------------------------------------------

describe("commands", () => {
  const { scripts }: { readonly scripts: Readonly<Record<string, string>> } = JSON.parse(read("package.json"))
  // Commands that pnpm itself has.
  const builtIn = ["exec", "install", "publish"]

  it.each(documents)("that %s names are scripts", (file) => {
    const names = Array.from(read(file).matchAll(/pnpm@\d+ +([\w:-]+)/g), ([, name]) => name!)
    assert.deepStrictEqual(names.filter((name) => !(name in scripts) && !builtIn.includes(name)), [])
  })

  it("that run an example name one", () => {
    const folders = find("examples/*/main.ts").map((file) => dirname(file))
    const words = documents.flatMap((file) =>
      Array.from(read(file).matchAll(/pnpm@\d+ example +(\w+)/g), ([, word]) => word!)
    )
    assert.isAbove(words.length, 3)
    assert.deepStrictEqual(words.filter((word) => !folders.some((folder) => folder.includes(word))), [])
  })
})

// -----------------------------------------------------------------------------
// Sentences
// -----------------------------------------------------------------------------

const maxWords = 25

/** Returns the sentences of a document: of its paragraphs, items of lists, and cells of tables. */
const sentencesOf = (text: string): ReadonlyArray<string> =>
  proseOf(text)
    .replaceAll(/`[^`\n]*(?:\n[^`\n]+)*`/g, "Code")
    .replaceAll(/!?\[([^\]]*)\]\([^)]*\)/g, "$1")
    .split("\n")
    .map((line) => line.replace(/^ *(?:[-*+] |\d+\. )/, "\n\n"))
    .map((line) => /^ *\|/.test(line) ? `\n\n${line.split("|").join("\n\n")}\n\n` : line.trim() === "" ? "\n" : line)
    .map((line) => /^ *#/.test(line) ? `\n\n${line}\n\n` : line)
    .join("\n")
    .split(/\n\s*\n/)
    .flatMap((block) => block.replaceAll(/\s+/g, " ").trim().split(/(?<=[.!?][)"*_]*) (?=["(*_]*[\p{Lu}\d])/u))
    .filter((sentence) => sentence !== "")

const wordsIn = (text: string) => text.split(/\s+/).filter((word) => /[\p{L}\p{N}]/u.test(word)).length

const longIn = (text: string) =>
  sentencesOf(text).map((sentence) => ({ sentence, words: wordsIn(sentence) })).filter(({ words }) => words > maxWords)
    .map(({ sentence, words }) => `${words}: ${sentence}`)

describe("sentences", () => {
  it.each(find("README.md", "docs/*.md", "examples/*.md"))(`of %s have at most ${maxWords} words`, (file) => {
    assert.deepStrictEqual(longIn(read(file)), [])
  })
})

// -----------------------------------------------------------------------------
// Lengths
// -----------------------------------------------------------------------------

// With their code. A table's bars and dashes are no words.
describe("guides", () => {
  const paths = ["docs/charge-once.md", "docs/effect-backend.md", "docs/from-the-ai-sdk.md"]

  it.each(find("docs/*.md"))("%s is short: a path has at most 2,500 words, a page 1,500", (file) => {
    assert.isAtMost(wordsIn(read(file)), paths.includes(file) ? 2500 : 1500)
  })

  it("have at most 25,000 words together", () => {
    assert.isAtMost(find("docs/*.md").reduce((sum, file) => sum + wordsIn(read(file)), 0), 25_000)
  })

  it.each(find("docs/*.md").filter((file) => file !== "docs/README.md"))("%s is in the index", (file) => {
    assert.include(read("docs/README.md"), `](${file.replace("docs/", "")})`)
  })
})
