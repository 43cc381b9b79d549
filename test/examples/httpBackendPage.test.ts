/**
 * The page of the HTTP backend, in a real browser: Chromium, at the path in `CHROMIUM` or where Debian puts it.
 *
 * @module-tag slow
 */
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import { Model } from "@fallible/core"
import * as Planner from "@fallible/examples/04-http-backend/Planner"
import { Effect, Layer, Stream } from "effect"
import { existsSync } from "node:fs"
import { type Browser, chromium, type Page } from "playwright-core"
import { noneUnderWay, serving } from "../support/backend.ts"

const executablePath = process.env["CHROMIUM"] ?? "/usr/bin/chromium"
const isThere = existsSync(executablePath)

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

const ask = async (page: Page, question: string) => {
  await page.getByLabel("Your question").fill(question)
  await page.getByRole("button", { name: "Ask" }).click()
}

/** The texts of the calls that the page shows, once there are this many. */
const calls = async (page: Page, count: number) => {
  const items = page.getByRole("list", { name: "Calls of tools" }).locator("> li")
  await items.nth(count - 1).waitFor()
  return items.allInnerTexts()
}

const named = isThere ? "the page of the backend" : `the page of the backend (skipped: there is no ${executablePath})`

describe.skipIf(!isThere)(named, () => {
  let browser: Browser
  beforeAll(async () => {
    browser = await chromium.launch({ executablePath, args })
  })
  afterAll(() => browser.close())

  /** Opens the page in a profile of its own, and runs a visit to its end. Anything that it logs fails the test. */
  const visit = (url: string, visit: (page: Page) => Promise<void>) =>
    Effect.promise(async () => {
      const page = await browser.newPage()
      const logged: Array<string> = []
      page.on("console", (message) => logged.push(message.text()))
      page.on("pageerror", (error) => logged.push(error.message))
      await page.goto(url)
      await visit(page)
      assert.deepStrictEqual(logged, [])
      await page.close()
    })

  it.live("shows the calls, their retries, and the answer", () =>
    Effect.gen(function*() {
      const { url } = yield* serving({ upstream: "flaky" })
      yield* visit(url, async (page) => {
        await ask(page, "Where is the parcel of o-1001?")
        await page.getByText("Parcel p-1001 is out for delivery. It is due on Friday.").waitFor()
        const [found = "", tracked = ""] = await calls(page, 2)
        assert.match(found, /find_order\s+\{"order":"o-1001"\}\s+done after 2 attempts/)
        assert.match(found, /Attempt 1: The service answered 503: "Back in a moment\." \(retry in \d+ ms\)/)
        assert.match(tracked, /track_parcel\s+\{"parcel":"p-1001"\}\s+done after 2 attempts/)
      })
    }))

  it.live("asks the user, and goes on with the reply", () =>
    Effect.gen(function*() {
      const { shop, url } = yield* serving()
      yield* visit(url, async (page) => {
        await ask(page, "Refund o-1004.")
        await page.getByLabel(/^Refund 249\.00 for order o-1004, an office chair\? Reply "yes"/).fill("yes")
        await page.keyboard.press("Enter")
        await page.getByText("I refunded 249.00 for order o-1004.").waitFor()
      })
      assert.deepStrictEqual(yield* shop.refundsAsked, ["o-1004"])
    }))

  it.live("takes no reply to a question when the user has asked something else", () =>
    Effect.gen(function*() {
      const { url } = yield* serving()
      yield* visit(url, async (page) => {
        await ask(page, "Refund o-1004.")
        await page.getByRole("button", { name: "Reply" }).waitFor()
        await ask(page, "What is o-1002?")
        await page.getByText("Order o-1002 is a desk lamp for 64.00. It is paid.").waitFor()
        assert.strictEqual(await page.getByRole("button", { name: "Reply" }).count(), 0)
      })
    }))

  it.live("stops a run when the user says so, and asks again in the same conversation", () =>
    Effect.gen(function*() {
      let isFirst = true
      const model = Layer.succeed(Model.Model, {
        respond: () => Effect.never,
        stream: ({ transcript }) => {
          if (!isFirst) {
            const reply = Planner.reply({ messages: Array.from(transcript) })
            return Stream.make({ _tag: "Replied", reply })
          }
          isFirst = false
          return Stream.concat(Stream.make({ _tag: "TextDelta", text: "I am thinking." }), Stream.never)
        }
      })
      const served = yield* serving({ model })
      yield* visit(served.url, async (page) => {
        await ask(page, "What is o-1001?")
        await page.getByText("I am thinking.").waitFor()
        await page.getByRole("button", { name: "Stop" }).click()
        await page.getByText("You stopped this.").waitFor()
        await Effect.runPromise(noneUnderWay(served))
        await ask(page, "What is o-1002?")
        await page.getByText("Order o-1002 is a desk lamp for 64.00. It is paid.").waitFor()
      })
    }))

  it.live("shows markup as text, and says what is wrong with a question", () =>
    Effect.gen(function*() {
      const model = Layer.succeed(Model.Model, {
        respond: () => Effect.never,
        stream: () => Stream.make({ _tag: "Replied", reply: { text: "<img src=x onerror=alert(1)>", calls: [] } })
      })
      const { url } = yield* serving({ model })
      yield* visit(url, async (page) => {
        await ask(page, "<b>Bold?</b>")
        await page.getByText("<img src=x onerror=alert(1)>").waitFor()
        await page.getByText("<b>Bold?</b>").waitFor()
        assert.strictEqual(await page.locator("img, article b").count(), 0)
      })
    }))
})
