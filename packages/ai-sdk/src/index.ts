/**
 * The AI SDK's providers as models: `AiSdk.layer(model)`.
 *
 * @since 0.1.0
 */
export * as AiSdk from "./AiSdk.ts"
