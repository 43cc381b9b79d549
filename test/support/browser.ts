/** A real browser for tests of pages: Chromium, at the path in `CHROMIUM` or where Debian puts it. */
import { afterAll, assert, beforeAll } from "@effect/vitest"
import { Effect } from "effect"
import { existsSync, readFileSync } from "node:fs"
import { createRequire } from "node:module"
import { type Browser, chromium, type Page } from "playwright-core"

const executablePath = process.env["CHROMIUM"] ?? "/usr/bin/chromium"

export const isThere = existsSync(executablePath)

/** Names tests of a page, which are skipped without a browser. */
export const ifThere = (name: string): string => isThere ? name : `${name} (skipped: there is no ${executablePath})`

const args = [
  "--headless",
  "--no-sandbox",
  "--disable-gpu",
  "--disable-quic",
  "--no-first-run",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-sync"
]

/** A browser for the tests of a `describe`. */
export const browsing = () => {
  let browser: Browser
  beforeAll(async () => {
    browser = await chromium.launch({ executablePath, args })
  })
  afterAll(() => browser.close())

  /**
   * Opens the page in a profile of its own, and runs a visit to its end. Anything that it logs fails the test, except what is
   * expected: the browser itself logs each answer that is an error.
   */
  const visit = (url: string, visit: (page: Page) => Promise<void>, expected?: RegExp) =>
    Effect.promise(async () => {
      const context = await browser.newContext()
      // A busy machine is slow, and no failure.
      context.setDefaultTimeout(120_000)
      const logged: Array<string> = []
      context.on("console", (message) => logged.push(message.text()))
      context.on("weberror", (error) => logged.push(error.error().message))
      try {
        const page = await context.newPage()
        await page.goto(url)
        await visit(page)
        assert.deepStrictEqual(logged.filter((text) => expected?.test(text) !== true), [])
      } finally {
        await context.close()
      }
    })

  return { visit }
}

const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8")

/** Fails if axe finds something on the page, in light or in dark, or if it is wider than a narrow window. */
export const accessible = async (page: Page) => {
  for (const colorScheme of ["light", "dark"] as const) {
    await page.emulateMedia({ colorScheme })
    assert.deepStrictEqual(await violations(page), [], `in ${colorScheme}`)
  }
  const before = page.viewportSize()
  await page.setViewportSize({ width: 320, height: 640 })
  assert.strictEqual(await page.evaluate("document.documentElement.scrollWidth"), 320)
  if (before !== null) await page.setViewportSize(before)
}

/** The page lets no other script in, so this one comes through the debugger. */
const violations = async (page: Page): Promise<ReadonlyArray<string>> => {
  await page.evaluate(`if (!("axe" in window)) { ${axe} }`)
  return page.evaluate<ReadonlyArray<string>>(
    "axe.run().then(({ violations }) => violations.map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html)}`))"
  )
}
