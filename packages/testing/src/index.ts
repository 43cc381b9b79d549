/**
 * For testing agents and tools without a live model.
 *
 * @since 0.1.0
 */
export * as ScriptedModel from "./ScriptedModel.ts"
