/**
 * Tests how much a toolkit costs in the worst case: attempts, time, and more.
 *
 *     yield* WorstCase.matchesFile(toolkit, "test/tools.txt")    the bounds are the reviewed ones
 *     yield* WorstCase.hasNoWarnings(toolkit)                    no policy looks like a mistake
 *
 * Bounds come from policies, and a small edit may change them: five attempts instead of three, or a timeout
 * outside `retry` instead of inside. So the bounds are written to a file in your repository. A test compares
 * the file with the toolkit, and a changed bound appears in the diff that is reviewed.
 *
 * Nothing in the toolkit runs, except for the Effects in a retry's own schedule: see `Tool.explain`.
 *
 * @since 0.1.0
 */
import { type Tool, Toolkit } from "@fallible/core"
import * as Explanation from "@fallible/core/Explanation"
import * as Data from "effect/Data"
import * as Effect from "effect/Effect"
import * as FileSystem from "effect/FileSystem"
import type { PlatformError } from "effect/PlatformError"
import { differences } from "./internal/differences.ts"

// -----------------------------------------------------------------------------
// Failures
// -----------------------------------------------------------------------------

/**
 * There is no file to compare with yet.
 *
 * @category failures
 * @since 0.1.0
 */
export class FileMissing extends Data.TaggedError("FileMissing")<{ readonly file: string }> {
  override get message(): string {
    return `There is no file '${this.file}' to compare the worst cases with. ${writeIt}`
  }
}

/**
 * The worst cases differ from the file.
 *
 * @category failures
 * @since 0.1.0
 */
export class Changed extends Data.TaggedError("Changed")<{
  readonly file: string
  /**
   * The lines that differ, tool by tool. `-` marks a line of the file, `+` a current line. A line without a
   * mark is the name of a tool.
   */
  readonly lines: ReadonlyArray<string>
}> {
  override get message(): string {
    return `The worst cases differ from those in '${this.file}':\n\n${
      this.lines.join("\n")
    }\n\nRevert the policies or, if the change is intended: ${writeIt}`
  }
}

/**
 * Tools have warnings that are not allowed.
 *
 * @category failures
 * @since 0.1.0
 */
export class Warned extends Data.TaggedError("Warned")<{ readonly warnings: ReadonlyArray<ToolWarning> }> {
  override get message(): string {
    const lines = this.warnings.map(({ code, detail, hint, tool }) => `  ${tool}: ${code}: ${detail} ${hint}`)
    return `Some policies are probably mistakes:\n\n${lines.join("\n")}\n\nA code can be allowed for a tool by name.`
  }
}

/**
 * A warning, with the name of its tool.
 *
 * @category failures
 * @since 0.1.0
 */
export interface ToolWarning extends Explanation.Warning {
  readonly tool: string
}

const writeIt = "Run the test once with the option { update: true }, which writes the file, and commit it."

// -----------------------------------------------------------------------------
// Checks
// -----------------------------------------------------------------------------

/**
 * The options of {@link matchesFile}.
 *
 * @category models
 * @since 0.1.0
 */
export interface FileOptions {
  /**
   * Whether a missing or different file is written, instead of failing. Default: `false`. Set it from an
   * environment variable, so that it is off where the file would not be reviewed, such as in CI.
   */
  readonly update?: boolean
}

/**
 * Compares the worst cases of a toolkit (`Explanation.overview`) with a file.
 *
 * When to use: in one test for each toolkit, so that reviewers see a changed bound. Line endings do not
 * matter.
 *
 * Fails with {@link FileMissing} if there is no file, and with {@link Changed} if lines differ. Fails with
 * a `PlatformError` if the file cannot be read or written.
 *
 * @param file the path of the file; its folder must exist
 *
 * @example
 * ```ts
 * import { Tool, Toolkit } from "@fallible/core"
 * import { WorstCase } from "@fallible/testing"
 * import { Effect, FileSystem, Schema } from "effect"
 *
 * const ping = Tool.make("ping", { description: "Answers", success: Schema.String }, () => Effect.succeed("pong"))
 *
 * // In a test: NodeFileSystem.layer of @effect/platform-node, and the real file.
 * const files = FileSystem.layerNoop({ readFileString: () => Effect.succeed("ping\r\n  side effect  none\r\n") })
 * const check = WorstCase.matchesFile(Toolkit.make(ping), "tools.txt", { update: process.env["UPDATE"] === "1" })
 *
 * const changed = Effect.runSync(check.pipe(Effect.flip, Effect.provide(files)))
 * changed._tag // => "Changed"
 * changed.message.split("\n").slice(2, 5) // => ["  ping", "-   side effect  none", "+   side effect  non_idempotent"]
 * ```
 *
 * @category checks
 * @since 0.1.0
 */
export const matchesFile = (
  toolkit: Toolkit.Toolkit,
  file: string,
  options: FileOptions = {}
): Effect.Effect<void, FileMissing | Changed | PlatformError, FileSystem.FileSystem> =>
  Effect.gen(function*() {
    const files = yield* FileSystem.FileSystem
    const overview = Explanation.overview(Toolkit.explain(toolkit))
    const written = yield* files.readFileString(file).pipe(
      Effect.catchReason("PlatformError", "NotFound", () => Effect.undefined)
    )
    const lines = written === undefined ? undefined : differences(written, overview)
    if (lines?.length === 0) return
    if (options.update === true) return yield* files.writeFileString(file, `${overview}\n`)
    return yield* lines === undefined ? new FileMissing({ file }) : new Changed({ file, lines })
  })

/**
 * The options of {@link hasNoWarnings}.
 *
 * @category models
 * @since 0.1.0
 */
export interface WarningOptions<in T extends Tool.Any> {
  /** The codes that are allowed, by the name of the tool. Default: none. */
  readonly allowed?: { readonly [Name in T["name"]]?: ReadonlyArray<Explanation.WarningCode> }
}

/**
 * Fails if `Tool.explain` warns about any tool of a toolkit, unless the warning's code is allowed for that
 * tool.
 *
 * When to use: in one test for each toolkit, together with {@link matchesFile}, which records warnings but
 * accepts them. A toolkit without warnings also says of each acting tool with free text which arguments identify its
 * effect (`free_text_identity`).
 *
 * Fails with {@link Warned}, which has all warnings that are not allowed, each with a hint.
 *
 * @example
 * ```ts
 * import { Tool, Toolkit } from "@fallible/core"
 * import { WorstCase } from "@fallible/testing"
 * import { Effect, Schedule, Schema } from "effect"
 *
 * const ping = Tool.make("ping", { description: "Answers", success: Schema.String, sideEffect: "none" }, () =>
 *   Effect.succeed("pong")
 * ).pipe(Tool.retry(Schedule.recurs(1)))
 * const toolkit = Toolkit.make(ping)
 *
 * const { warnings } = Effect.runSync(Effect.flip(WorstCase.hasNoWarnings(toolkit)))
 * warnings.map(({ code, tool }) => `${tool}: ${code}`) // => ["ping: unjittered_retry"]
 *
 * Effect.runSync(WorstCase.hasNoWarnings(toolkit, { allowed: { ping: ["unjittered_retry"] } }))
 * ```
 *
 * @category checks
 * @since 0.1.0
 */
export const hasNoWarnings = <T extends Tool.Any>(
  toolkit: Toolkit.Toolkit<T>,
  options: WarningOptions<T> = {}
): Effect.Effect<void, Warned> =>
  Effect.suspend(() => {
    const allowed = new Map<string, ReadonlyArray<string> | undefined>(Object.entries(options.allowed ?? {}))
    const warnings = Toolkit.explain(toolkit).flatMap(({ tool, warnings }) =>
      warnings.filter(({ code }) => allowed.get(tool)?.includes(code) !== true)
        .map((warning) => ({ tool, ...warning }))
    )
    return warnings.length === 0 ? Effect.void : new Warned({ warnings })
  })
