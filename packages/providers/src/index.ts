/**
 * Language models over HTTP: `Ollama`, and `OpenAi` for all servers with Chat Completions.
 *
 * @since 0.1.0
 */
export * as Ollama from "./Ollama.ts"
export * as OpenAi from "./OpenAi.ts"
