/**
 * The pages of `docs/` that list: the codes of failures, and the options with their defaults. They are made of the docstrings,
 * so that a list and its code cannot disagree.
 *
 *     node test/support/reference.ts     writes docs/codes.md and docs/options.md
 */
import { globSync, readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import ts from "typescript6"
import { root } from "./program.ts"

/** The pages by their file, and what they should contain. */
export const referencePages: Readonly<Record<string, () => string>> = {
  "docs/codes.md": () => codesPage(),
  "docs/options.md": () => optionsPage()
}

// -----------------------------------------------------------------------------
// Docstrings
// -----------------------------------------------------------------------------

const parsed = new Map<string, ts.SourceFile>()

const sourceOf = (file: string): ts.SourceFile => {
  const known = parsed.get(file)
  if (known !== undefined) return known
  const source = ts.createSourceFile(file, readFileSync(join(root, file), "utf8"), ts.ScriptTarget.ESNext, true)
  parsed.set(file, source)
  return source
}

type Declared = ts.InterfaceDeclaration | ts.TypeAliasDeclaration | ts.ClassDeclaration

const isDeclared = (node: ts.Node): node is Declared =>
  ts.isInterfaceDeclaration(node) || ts.isTypeAliasDeclaration(node) || ts.isClassDeclaration(node)

const declarationOf = (file: string, name: string): Declared => {
  const found = sourceOf(file).statements.filter(isDeclared).find((declared) => declared.name?.text === name)
  if (found === undefined) throw new Error(`${file} declares no ${name}.`)
  return found
}

/** Returns the text of a comment, up to its first tag, without the stars. Links are shown as code. */
const textOf = (comment: string): string =>
  comment
    .replace(/^\/\*\*|\*\/$/g, "")
    .replace(/^ *\* ?/gm, "")
    .replace(/^@\w[\s\S]*/m, "")
    .replace(/\{@link ([^}]+)\}/g, "`$1`")
    .trim()

const docOf = (node: ts.Node): string => {
  const text = node.getSourceFile().text
  const last = (ts.getLeadingCommentRanges(text, node.getFullStart()) ?? []).at(-1)
  return last === undefined ? "" : textOf(text.slice(last.pos, last.end))
}

/** Returns the docstring at the beginning of a module. */
const docOfModule = (file: string): string => textOf(/^\/\*\*[\s\S]*?\*\//.exec(sourceOf(file).text)?.[0] ?? "")

/** Returns the rows of the first table of a docstring, without its head. */
const tableIn = (doc: string): ReadonlyArray<ReadonlyArray<string>> =>
  (/(?:^\|.*\n?)+/m.exec(doc)?.[0] ?? "").trim().split("\n").slice(2)
    .map((row) => row.split("|").slice(1, -1).map((cell) => cell.trim()))

// -----------------------------------------------------------------------------
// Codes
// -----------------------------------------------------------------------------

const failures = "packages/core/src/ToolFailure.ts"

/** The codes that a text lists: `- `code`: …`, or the first column of a table. */
const codesIn = (text: string): ReadonlyArray<string> =>
  Array.from(text.matchAll(/^(?:- |\| )((?:`\w+`(?:, )?)+)/gm), ([, codes = ""]) => codes)
    .flatMap((codes) => Array.from(codes.matchAll(/\w+/g), ([code]) => code))

/** The codes of tools' failures: those of the type, and those that its docstring explains. */
export const toolCodes = (): { readonly typed: ReadonlyArray<string>; readonly explained: ReadonlyArray<string> } => {
  const declared = declarationOf(failures, "Code")
  const typed: Array<string> = []
  ts.forEachChild(declared, function visit(node) {
    if (ts.isLiteralTypeNode(node) && ts.isStringLiteral(node.literal)) typed.push(node.literal.text)
    ts.forEachChild(node, visit)
  })
  return { typed, explained: codesIn(docOf(declared)) }
}

/** The codes of models' failures that are explained. */
export const modelCodes = (): ReadonlyArray<string> =>
  codesIn(docOf(declarationOf("packages/core/src/Model.ts", "ModelFailure")))

/** The codes that the sources of core give to failures: `code: "timeout"`. Warnings have codes of their own. */
export const writtenCodes = (): ReadonlyArray<string> => {
  const codes = new Set<string>()
  for (const file of globSync("packages/core/src/**/*.ts", { cwd: root })) {
    if (file.includes("/internal/explain/") || file.endsWith("/Toolkit.ts")) continue
    ts.forEachChild(sourceOf(file), function visit(node) {
      if (
        ts.isPropertyAssignment(node) && node.name.getText() === "code" && ts.isStringLiteral(node.initializer)
      ) {
        codes.add(node.initializer.text)
      }
      ts.forEachChild(node, visit)
    })
  }
  // A code that is not known yet is written as an empty text.
  return [...codes].filter((code) => code !== "")
}

const codesPage = (): string => {
  const [, ...groups] = docOf(declarationOf(failures, "Code")).split(/^(?=\*\*)/m)
  const rows = tableIn(docOf(declarationOf("packages/core/src/Model.ts", "ModelFailure")))
  const isAsked = ([, , transient = ""]: ReadonlyArray<string>) => transient.startsWith("yes")
  const list = (rows: ReadonlyArray<ReadonlyArray<string>>) =>
    rows.map(([code, meaning]) => `- ${code}: ${meaning}`).join("\n")
  const runs = tableIn(docOfModule("packages/core/src/AgentFailure.ts")).map(([failure, meaning, next = ""]) =>
    `- ${failure}: ${meaning}. ${next.charAt(0).toUpperCase()}${next.slice(1)}.`
  )
  return `# Codes

Look up the \`code\` of a failure, and what happens next. This page is made of docstrings by \`npx -y pnpm@12 api\`.

## Failures of a tool

[Failures](failures.md) explains the classes. A handler may use other codes.

${groups.map((group) => group.trim()).join("\n\n")}

## Failures of the model

**The model is asked again** (transient)

${list(rows.filter(isAsked))}

**The run ends** with \`ModelFailed\`, unless \`onModelFailure\` decides otherwise

${list(rows.filter((row) => !isAsked(row)))}

## When a run fails

${runs.join("\n")}
`
}

// -----------------------------------------------------------------------------
// Options
// -----------------------------------------------------------------------------

interface Section {
  /** What takes the options, as people write it. */
  readonly title: string
  /** The types of the options, each with its file under `packages`, and what stands before the names of its fields. */
  readonly from: ReadonlyArray<readonly [file: string, type: string, prefix?: string]>
  /** Fields that this function does not take. */
  readonly without?: ReadonlyArray<string>
}

const agent = "core/src/Agent.ts"
const tool = "core/src/Tool.ts"
const policy = "core/src/Policy.ts"

const groups: ReadonlyArray<readonly [heading: string, sections: ReadonlyArray<Section>]> = [
  ["Agents", [
    { title: "`Agent.make`", from: [[agent, "Options"]] },
    { title: "`agent.run`", from: [[agent, "RunSettings"], [agent, "RunScope"], [agent, "RunOptions"]] },
    { title: "`limits`", from: [["core/src/Limits.ts", "Limits"]] },
    { title: "`loopGuard`", from: [["core/src/LoopGuard.ts", "Options"]] },
    { title: "`results`", from: [["core/src/ResultSize.ts", "Options"]] }
  ]],
  ["Tools", [
    {
      title: "`Tool.make` and `Tool.promise`",
      from: [
        [tool, "Definition"],
        [tool, "ActsOptions", "acts."],
        [tool, "SettlesOptions", "settles."],
        [tool, "PollOptions", "poll."],
        ["core/src/internal/result/resultContract.ts", "Contract"]
      ]
    },
    { title: "`Tool.promise` alone", from: [["core/src/ToolFailure.ts", "FromOptions"]], without: ["reads"] },
    { title: "`Tool.approve`", from: [["core/src/internal/policy/approval.ts", "ApprovalOptions"]] },
    { title: "`Tool.fix`", from: [["core/src/internal/fixing/fixerOption.ts", "FixerOptions"]] }
  ]],
  ["Policies", [
    { title: "`Policy.standard`", from: [[policy, "StandardOptions"]] },
    { title: "`RetryPolicy.make`", from: [["core/src/RetryPolicy.ts", "Options"]] },
    { title: "`RetryBudget.layer`", from: [["core/src/RetryBudget.ts", "Options"]] },
    { title: "`Tool.concurrency`", from: [[policy, "ConcurrencyOptions"]] },
    { title: "`RateLimit.limit`", from: [["core/src/RateLimit.ts", "Options"]] },
    { title: "`CircuitBreaker.protect`", from: [["core/src/CircuitBreaker.ts", "Options"]] },
    { title: "`Tool.fallback`", from: [[policy, "FallbackOptions"]] },
    { title: "`LastKnown.fallback`", from: [["core/src/LastKnown.ts", "Options"]] },
    { title: "`Tool.paginate`", from: [[policy, "PaginateOptions"]] },
    { title: "`Tool.reconcile`", from: [["core/src/internal/policy/reconciliation.ts", "ReconcileOptions"]] }
  ]],
  ["Models", [
    { title: "Every model", from: [["core/src/ModelAdapter.ts", "Settings"]] },
    { title: "`OpenAi`", from: [["providers/src/OpenAi.ts", "Options"]] },
    { title: "`Ollama`", from: [["providers/src/Ollama.ts", "Options"]] }
  ]]
]

interface Field {
  readonly name: string
  readonly meaning: string
  readonly preset: string
  readonly property: ts.PropertySignature
}

const fieldsOf = ({ from, title, without = [] }: Section): ReadonlyArray<Field> => {
  const fields = new Map<string, Field>()
  for (const [file, type, prefix = ""] of from) {
    for (const property of propertiesIn(declarationOf(join("packages", file), type))) {
      const name = `${prefix}${property.name.getText()}`
      // A required field has no default. A type may be a union or an intersection: the first field of a name counts.
      if (property.questionToken === undefined || fields.has(name) || without.includes(name)) continue
      const doc = docOf(property)
      const preset = presetIn(doc)
      if (preset === undefined) throw new Error(`The docstring of '${name}' in ${title} says no default: "Default: …"`)
      fields.set(name, { name, meaning: firstClause(doc), preset, property })
    }
  }
  return [...fields.values()]
}

/** Returns the fields of a declaration, without the fields of their types. */
const propertiesIn = (node: ts.Node): ReadonlyArray<ts.PropertySignature> => {
  const found: Array<ts.PropertySignature> = []
  ts.forEachChild(node, (child) => {
    if (ts.isPropertySignature(child)) found.push(child)
    else if (!ts.isTypeParameterDeclaration(child)) found.push(...propertiesIn(child))
  })
  return found
}

const oneLine = (text: string): string => text.replaceAll(/\s+/g, " ").trim()

/** Returns what a docstring says after `Default:`, without its reasons. */
const presetIn = (doc: string): string | undefined =>
  /\bDefault: (.*?)(?:, (?:and|so|unless|which|with|the safest) .*?)?\.(?: |$)/.exec(oneLine(doc))?.[1]

/** Returns the first clause of a docstring, without code in parentheses, as the words after a colon. */
const firstClause = (doc: string): string => {
  const plain = oneLine(doc).replaceAll(/ \(`[^`]*`\)/g, "")
  const clause = /^(?:`[^`]*`|[^`])*?(?=[.:;,](?:\s|$)|$)/.exec(plain)?.[0] ?? ""
  return /^[A-Z][a-z]/.test(clause) ? clause.charAt(0).toLowerCase() + clause.slice(1) : clause
}

const item = ({ meaning, name, preset }: Field): string =>
  `- \`${name}\`: ${meaning}${/^(?:none|no limit)$/.test(preset) ? "" : ` (${preset})`}`

const optionsPage = (): string => {
  const sections = groups.map(([heading, parts]) => {
    const lists = parts.map((section) => `**${section.title}**\n\n${fieldsOf(section).map(item).join("\n")}`)
    return `## ${heading}\n\n${lists.join("\n\n")}`
  })
  return `# Options

The default of an option stands in brackets. Without brackets, there is none, and no limit. Required fields are left out; docstrings have the rest. This
page is made of them by \`npx -y pnpm@12 api\`.

${sections.join("\n\n")}
`
}

/** The defaults that docstrings say, beside those that the same file fills in: `{ attempts = 3 }` or `options.window ?? 12`. */
export const writtenDefaults = (): ReadonlyArray<{
  readonly option: string
  readonly said: string
  readonly filledIn: ReadonlyArray<string>
}> =>
  groups.flatMap(([, sections]) => sections).flatMap((section) =>
    fieldsOf(section).flatMap(({ name, preset, property }) => {
      const filledIn = literalsFor(property.name.getText(), property.getSourceFile())
      return filledIn.length === 0 ? [] : [{ option: `${section.title} ${name}`, said: plain(preset), filledIn }]
    })
  )

const literalsFor = (name: string, source: ts.SourceFile): ReadonlyArray<string> => {
  const found: Array<string> = []
  ts.forEachChild(source, function visit(node) {
    const value = filledInFor(name, node)
    if (value !== undefined && /^(?:".*"|[\d_.]+|true|false)$/.test(value)) found.push(plain(value))
    ts.forEachChild(node, visit)
  })
  return found
}

const filledInFor = (name: string, node: ts.Node): string | undefined => {
  if (ts.isBindingElement(node)) {
    return (node.propertyName ?? node.name).getText() === name ? node.initializer?.getText() : undefined
  }
  return ts.isBinaryExpression(node) && node.operatorToken.kind === ts.SyntaxKind.QuestionQuestionToken &&
      node.left.getText() === `options.${name}`
    ? node.right.getText()
    : undefined
}

/** A value without what marks it as code or groups its digits. */
const plain = (value: string): string => value.replaceAll(/["`]|(?<=\d)[_,](?=\d)/g, "")

if (import.meta.main) {
  for (const [file, make] of Object.entries(referencePages)) writeFileSync(join(root, file), make())
}
