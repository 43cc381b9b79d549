import { AISDKError, InvalidPromptError, LoadAPIKeyError, NoSuchModelError } from "@ai-sdk/provider"
import { createJsonErrorResponseHandler, createJsonResponseHandler, postJsonToApi } from "@ai-sdk/provider-utils"
import { generateText } from "ai"
import OpenAI from "openai"
import { z } from "zod"
import { authorization, type Cases, entries, failing, failingOften, key, query, type World } from "../world.ts"

export const openaiCases = ({ origin, refused, unknownHost }: World): Cases => {
  const ask = (baseURL: string, options: { readonly timeout?: number; readonly signal?: AbortSignal } = {}) =>
    new OpenAI({ apiKey: key, baseURL, maxRetries: 0 }).chat.completions.create(
      { model: "gpt", messages: [{ role: "user", content: "hello" }] },
      options
    )
  return {
    library: "openai",
    cases: {
      ...entries(failingOften.map(([name, path]) => [name, () => ask(origin + path)])),
      "refused": () => ask(refused),
      "unknown host": () => ask(unknownHost),
      "reset": () => ask(`${origin}/reset`),
      "cut body": () => ask(`${origin}/cut-body`),
      "cut JSON": () => ask(`${origin}/cut-json`),
      "timeout": () => ask(`${origin}/hang`, { timeout: 50 }),
      "aborted": () => {
        const controller = new AbortController()
        setTimeout(() => controller.abort(), 50)
        return ask(`${origin}/hang`, { signal: controller.signal })
      },
      "no key": () => new OpenAI({ apiKey: undefined as unknown as string })
    }
  }
}

export const aiSdkCases = ({ origin, refused, unknownHost }: World): Cases => {
  const failed = createJsonErrorResponseHandler({
    errorSchema: z.object({ message: z.string() }),
    errorToMessage: ({ message }) => message
  })
  const answered = createJsonResponseHandler(z.object({ id: z.string() }))
  const post = (url: string, abortSignal?: AbortSignal) =>
    postJsonToApi({
      url: url + query,
      headers: { authorization },
      body: { prompt: "hello" },
      failedResponseHandler: failed,
      successfulResponseHandler: answered,
      ...(abortSignal === undefined ? {} : { abortSignal })
    })
  const some = ["400", "401", "404", "409", "422", "429 in seconds", "500", "502 html", "503"]
  /** A model without a provider, whose calls fail over HTTP. */
  const model = (url: string) =>
    ({
      specificationVersion: "v3",
      provider: "loopback",
      modelId: "m",
      supportedUrls: {},
      doGenerate: () => post(url),
      doStream: () => post(url)
    }) as never
  return {
    library: "ai",
    cases: {
      ...entries(
        failing.filter(([name]) => some.includes(name)).map(([name, path]) => [name, () => post(origin + path)])
      ),
      "refused": () => post(refused),
      "unknown host": () => post(unknownHost),
      "reset": () => post(`${origin}/reset`),
      "cut body": () => post(`${origin}/cut-body`),
      "cut JSON": () => post(`${origin}/cut-json`),
      "HTML for JSON": () => post(`${origin}/html`),
      "wrong schema": () => post(`${origin}/none`),
      "aborted": () => {
        const controller = new AbortController()
        setTimeout(() => controller.abort(), 50)
        return post(`${origin}/hang`, controller.signal)
      },
      "timeout signal": () => post(`${origin}/hang`, AbortSignal.timeout(50)),
      "generateText 404": () => generateText({ model: model(`${origin}/404`), prompt: "hello", maxRetries: 0 }),
      "generateText retried": () => generateText({ model: model(`${origin}/500`), prompt: "hello", maxRetries: 1 }),
      "no key": () => {
        throw new LoadAPIKeyError({ message: "API key is missing." })
      },
      "no such model": () => {
        throw new NoSuchModelError({ modelId: "gpt-0", modelType: "languageModel" })
      },
      "wrong prompt": () => {
        throw new InvalidPromptError({ prompt: "", message: "a prompt is needed" })
      },
      "any other": () => {
        throw new AISDKError({ name: "AI_Error", message: `Odd: ${key}` })
      }
    }
  }
}
