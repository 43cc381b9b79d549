/**
 * Describes the errors of any library by their shape: what happens next, whether waiting helps, what may be shown, and what
 * one request proves. No dependencies.
 *
 * @since 0.1.0
 */
export { type Code, describe, describeStatus, type Description, type Options } from "./describe.ts"
export { type ErrorClass, errorsIn } from "./reading.ts"
export { statusIn } from "./recognize.ts"
export { redact, withoutPaths } from "./redact.ts"
