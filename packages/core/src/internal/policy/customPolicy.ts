/*
 * Observes a custom policy from outside and from inside, so that the record of the call is correct
 * whatever the policy does:
 *
 *     call ── policy: the policy's own code ─┬─ run: one inner run
 *                                            └─ run: another inner run, later or in parallel
 *
 * Each inner run (a run of the tool by the policy) has its own scope. When an inner run succeeds, its
 * caveats and its source apply to the answer. If several runs succeed, the run whose value the policy
 * returns decides, or else the last run. The failure of a run counts as handled, unless the policy
 * ends with the same failure. Time during which no inner run is in progress counts as waiting. A run
 * that continues after the policy has ended counts as abandoned.
 */
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import type * as Exit from "effect/Exit"
import type { ToolFailure } from "../../ToolFailure.ts"
import type { PolicyName } from "../call/policyKind.ts"
import { refusedOutside } from "../call/refusal.ts"
import { noun, runAnswer } from "../call/runUserCode.ts"
import { current } from "../call/scope.ts"
import { reportDefect } from "../fiber/reportDefect.ts"
import { PolicyCallers } from "./policyCallers.ts"
import { diedOf, PolicyRun } from "./policyRun.ts"

type Run = (params: unknown) => Effect.Effect<unknown, ToolFailure, unknown>

/**
 * Wraps a run in a custom policy, and observes both.
 *
 * @param wrap the policy's own function, which receives the inner run
 */
export const wrapInPolicy = (policy: PolicyName, tool: string, wrap: (run: Run) => Run, run: Run): Run => {
  const label = `The policy '${policy.name ?? policy.kind}' of '${tool}'`
  const callers = new PolicyCallers()
  const wrapped = wrap(observeRun(run, tool, callers))
  if (typeof wrapped !== "function") {
    throw new TypeError(`${label} must wrap a run in a function; got ${noun(wrapped)}.`)
  }
  return (params) =>
    Effect.withFiber((fiber) => {
      const policyRun = new PolicyRun(fiber.getRef(current), policy, fiber)
      // Entered inside `onExit`: an interruption between them would leave it open for good.
      return Effect.suspend(() => runAnswer(label, wrapped(callers.enter(policyRun, params)))).pipe(
        Effect.provideService(current, policyRun.scope),
        Effect.onExit((exit) => {
          callers.leave(policyRun)
          policyRun.finish(exit)
          return reportLostDefects(policyRun, tool, exit)
        }),
        Effect.exit,
        Effect.flatMap((exit) => policyRun.signal === undefined ? exit : Effect.die(policyRun.signal))
      )
    })
}

// Reports the defects of inner runs, except those with which the policy itself ends. Otherwise the
// reported defects would be lost.
const reportLostDefects = (
  { defects }: PolicyRun,
  tool: string,
  exit: Exit.Exit<unknown, unknown>
): Effect.Effect<void> => {
  const visible = diedOf(exit)
  return Effect.forEach(
    defects.filter((defect) => !visible.includes(defect)),
    (defect) => reportDefect(`The tool ${tool} failed with an internal error`, Cause.die(defect)),
    { discard: true }
  )
}

// Makes a new scope each time the policy starts the inner run.
const observeRun = (run: Run, tool: string, callers: PolicyCallers): Run => (params) =>
  Effect.withFiber((fiber) => {
    const here = fiber.getRef(current)
    const caller = callers.of(params, here)
    const policy = caller instanceof PolicyRun ? caller : here.policy
    if (!(policy instanceof PolicyRun)) return run(params)
    if (policy.scope.acts && (caller !== undefined || policy.hasEnded)) {
      return Effect.fail(refusedOutside(tool, policy.scope))
    }
    const scope = policy.begin(fiber)
    return Effect.onExit(
      Effect.provideService(run(params), current, scope),
      (exit) => Effect.sync(() => policy.end(scope, fiber, exit))
    )
  })
