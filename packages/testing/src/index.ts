/**
 * For testing agents and tools without a live model, and what tools cost at worst.
 *
 * @since 0.1.0
 */
export * as ScriptedModel from "./ScriptedModel.ts"
export * as WorstCase from "./WorstCase.ts"
