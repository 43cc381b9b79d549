import type * as Duration from "effect/Duration"
import type * as Effect from "effect/Effect"
import type * as Schema from "effect/Schema"
import type * as Policy from "../../Policy.ts"
import type { SideEffect } from "../../SideEffect.ts"
import type { ToolFailure } from "../../ToolFailure.ts"
import type { Fixing } from "../fixing/fixerOption.ts"
import type { Approval } from "../policy/approval.ts"
import type { OnMismatch } from "../result/resultGuard.ts"

/**
 * `PollOptions` with all values filled in.
 *
 * @category models
 * @since 0.1.0
 */
export interface Polling {
  readonly every: Duration.Duration
  readonly atMost: Duration.Duration
}

/**
 * `SettlesOptions` with all values filled in.
 *
 * @category models
 * @since 0.1.0
 */
export interface Settles {
  readonly outcome: (result: never) => unknown
  readonly settle: Duration.Duration | undefined
  readonly final: boolean
}

/**
 * A tool of any type, as a toolkit holds it.
 *
 * @category models
 * @since 0.1.0
 */
export interface Any {
  readonly name: string
  readonly description: string
  readonly parameters: Schema.ConstraintDecoder<unknown>
  readonly success: Schema.ConstraintCodec<unknown, unknown>
  readonly onMismatch?: OnMismatch
  readonly sideEffect: SideEffect
  readonly instead: ReadonlyArray<string>
  readonly check: string | undefined
  readonly size: string | undefined
  readonly identity?: ((params: never) => unknown) | "all" | undefined
  readonly repeats?: boolean | undefined
  readonly joins?: boolean
  readonly concurrent?: boolean
  readonly settles?: Settles | undefined
  readonly failureLimit?: number
  readonly volatile?: ReadonlyArray<string>
  readonly poll?: Polling | undefined
  readonly policies: ReadonlyArray<Policy.Any>
  readonly fixers?: ReadonlyArray<Fixing>
  readonly approvals?: ReadonlyArray<Approval>
  readonly client?: true
  readonly run: (params: never) => Effect.Effect<unknown, ToolFailure, unknown>
}
