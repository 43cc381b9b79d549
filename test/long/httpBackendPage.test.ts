/**
 * The page of the HTTP backend, in a real browser: Chromium, at the path in `CHROMIUM` or where Debian puts it.
 *
 * @module-tag slow
 */
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import { Model } from "@fallible/core"
import * as Planner from "@fallible/examples/04-http-backend/Planner"
import type * as ShopServer from "@fallible/examples/04-http-backend/ShopServer"
import { Effect, Layer, Stream } from "effect"
import { existsSync } from "node:fs"
import { type Browser, chromium, type Page } from "playwright-core"
import { noneUnderWay, serving, until } from "../support/backend.ts"
import { started } from "../support/backendProcess.ts"

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

/** Asks, and waits for the end of the run. */
const asked = async (page: Page, question: string) => {
  await ask(page, question)
  await page.locator("article[aria-busy=false]").filter({ hasText: question }).waitFor()
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

  it.live("shows a failure and its recovery with the first of its questions, started by the README's command", () =>
    Effect.gen(function*() {
      const { url } = yield* started("--port", "0")
      yield* visit(url, async (page) => {
        await page.getByRole("main").getByRole("button").first().click()
        await page.getByText("I refunded 4.50 for order o-1003. The receipt is r-1003.").waitFor()
        const [refund = ""] = await calls(page, 1)
        assert.include(refund, "4.50 paid once: the answer was lost; a check found the refund.")
        assert.match(refund, /done after 2 attempts/)
        assert.match(refund, /Attempt 2: .* \(a check looked for the effect\)/)
      })
    }))

  const mayBePaid = "It may have been paid. Ask again later: it is looked up then, and not paid twice."
  const once = "4.50 paid once: "
  const meanings: ReadonlyArray<
    readonly [upstream: ShopServer.State, questions: ReadonlyArray<string>, state: RegExp, means: string]
  > = [
    ["up", ["Refund o-1003."], /^done, /, ""],
    ["busy", ["Refund o-1003."], /^done after 2 attempts, /, `${once}what was tried before had paid nothing.`],
    ["lossy", ["Refund o-1003."], /^done, /, `${once}the answer was lost; a check found the refund.`],
    ["up", ["Refund o-1003 and o-1003."], /^done, /, `${once}it was asked for twice, and the other call paid.`],
    ["blind", ["Refund o-1003."], /^not known, /, mayBePaid],
    ["blind", ["Refund o-1003.", "Refund o-1003 now."], /^not known, /, mayBePaid],
    [
      "flaky",
      ["Refund o-1003.", "Refund o-1003 again."],
      /^already done, /,
      "It was refunded before. Nothing was paid again."
    ],
    ["down", ["Refund o-1003."], /^failed after 3 attempts, /, "Nothing was paid."],
    ["up", ["What is o-1002?"], /^done, /, ""],
    [
      "busy",
      ["What is o-1002?"],
      /^done after 2 attempts, /,
      "The shop failed at first, and answered when it was asked again."
    ],
    [
      "flaky",
      ["Where is the parcel of o-1001?", "Where is the parcel of o-1001 now?"],
      /^done after 3 attempts, /,
      "The shop does not answer. This is what it said last."
    ]
  ]
  for (const [upstream, questions, state, means] of meanings) {
    it.live(`says what "${questions.join(" ")}" came to if the shop is ${upstream}: "${means}"`, () =>
      Effect.gen(function*() {
        const { shop, url } = yield* serving({ upstream })
        yield* visit(url, async (page) => {
          for (const question of questions) await asked(page, question)
          const last = page.locator("article").last().locator(".calls > li").last()
          assert.match(await last.locator(".state").innerText(), state)
          assert.strictEqual(await last.locator(".meaning").textContent(), means)
        })
        assert.isAtMost(yield* shop.refundsMade, 1)
      }))
  }

  it.live("says after the user's consent that the chair was paid once", () =>
    Effect.gen(function*() {
      const { shop, url } = yield* serving({ upstream: "flaky" })
      yield* visit(url, async (page) => {
        await ask(page, "Refund the office chair, o-1004.")
        await page.getByLabel(/^Refund 249\.00 for order o-1004/).fill("yes")
        await page.keyboard.press("Enter")
        await page.getByText("249.00 paid once: the answer was lost; a check found the refund.").first().waitFor()
      })
      assert.strictEqual(yield* shop.refundsMade, 1)
    }))

  it.live("shows a refund that was done before without alarm, in this conversation and in another one", () =>
    Effect.gen(function*() {
      const { url } = yield* serving()
      yield* visit(url, async (page) => {
        const again = async () => {
          await asked(page, "Refund o-1003 again.")
          const article = page.locator("article").last()
          assert.strictEqual(await article.locator(".failed, .problem:not(:empty)").count(), 0)
          assert.strictEqual(await article.locator(".notes > li").count(), 0)
          assert.notMatch(await article.locator(".answer").innerText(), /[{}]|could not/)
          assert.strictEqual(
            await article.locator(".meaning").innerText(),
            "It was refunded before. Nothing was paid again."
          )
        }
        await asked(page, "Refund o-1003.")
        await again()
        await page.reload()
        await again()
      })
    }))

  it.live("shows a refund that the user declines without alarm", () =>
    Effect.gen(function*() {
      const { url } = yield* serving()
      yield* visit(url, async (page) => {
        await ask(page, "Refund o-1004.")
        await page.getByLabel(/^Refund 249\.00/).fill("No!")
        await page.keyboard.press("Enter")
        await page.locator(".meaning", { hasText: "Nothing was paid." }).waitFor()
        assert.strictEqual(await page.locator(".failed").count(), 0)
      })
    }))

  it.live("says what is known of a refund that the user stopped", () =>
    Effect.gen(function*() {
      const served = yield* serving({ upstream: "stuck" })
      yield* visit(served.url, async (page) => {
        await ask(page, "Refund o-1003.")
        await Effect.runPromise(until(Effect.map(served.shop.open, (open) => open === 1)))
        await page.locator(".running").waitFor()
        await page.getByRole("button", { name: "Stop" }).click()
        await page.locator(".unknown .meaning", { hasText: "It may have been paid." }).waitFor()
      })
    }))

  it.live("tells a screen reader how each call goes, its retries, and what they meant", () =>
    Effect.gen(function*() {
      const { url } = yield* serving({ upstream: "flaky" })
      yield* visit(url, async (page) => {
        await asked(page, "Refund o-1003.")
        const region = page.getByRole("log", { name: "Progress" })
        assert.strictEqual(await region.getAttribute("aria-live"), "polite")
        // A busy element is not read, and nothing is read of an element that is not displayed.
        assert.strictEqual(await page.locator("[aria-busy] [role=log], [hidden] [role=log]").count(), 0)
        assert.isTrue(await region.isVisible())
        const said = (await region.locator("> p").allTextContents()).map((text) => text.replace(/\d+ ms/, "… ms"))
        assert.deepStrictEqual(said, [
          "refund_order: running.",
          "refund_order: attempt 1 failed, retry in … ms.",
          "refund_order: attempt 2 failed, a check looked for the effect.",
          "refund_order: done after 2 attempts. 4.50 paid once: the answer was lost; a check found the refund."
        ])
        await asked(page, "What is o-1002?")
        assert.match((await region.locator("> p").allTextContents()).join(" "), /^find_order: running\./)
      })
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
