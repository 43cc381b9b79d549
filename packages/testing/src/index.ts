/**
 * Tests agents and tools without a live model: what they do, whether they can act twice, and what they cost
 * at worst.
 *
 * @since 0.1.0
 */
export * as ActsOnce from "./ActsOnce.ts"
export * as FakeService from "./FakeService.ts"
export * as HttpStub from "./HttpStub.ts"
export * as ScriptedModel from "./ScriptedModel.ts"
export * as WorstCase from "./WorstCase.ts"
