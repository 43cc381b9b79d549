/** The page of the HTTP backend with `useChat`, in a real browser. In each state, axe looks at it in light and in dark. */
import { assert, describe, it } from "@effect/vitest"
import { Deferred, Effect } from "effect"
import { TestClock } from "effect/testing"
import type { Page } from "playwright-core"
import { noneUnderWay, serving, until } from "../support/backend.ts"
import { started } from "../support/backendProcess.ts"
import { accessible, browsing, ifThere, isThere } from "../support/browser.ts"
import { writing } from "../support/chat.ts"
import { cuttable } from "../support/cuttable.ts"

const lamp = "Order o-1002 is a desk lamp for 64.00. It is paid."
const chair = "Refund 249.00 for order o-1004 (office chair)."
const lookedUp = "The shop did not answer, so we looked the refund up instead of asking for it again."
const isNotKnown = "It is not known whether this was refunded. Nothing is repeated until it is known."
const refunded = "I refunded 249.00 for order o-1004. The receipt is r-1004."

const question = (page: Page) => page.getByLabel("Your question")
const messages = (page: Page) => page.getByRole("log", { name: "Messages" })
const status = (page: Page) => page.getByRole("status")
const approval = (page: Page) => page.getByRole("form", { name: /^The assistant asks you/ })
const press = (page: Page, name: string) => page.getByRole("button", { name, exact: true }).click()

/** Waits until the page shows a text among its messages. */
const shows = (page: Page, text: string) => messages(page).getByText(text, { exact: true }).waitFor()

/** Waits until the page is ready for the next question. */
const ready = (page: Page) =>
  page.getByRole("button", { name: "Stop" }).and(page.locator("[aria-disabled=true]")).waitFor()

/** Opens a page anew, and waits until it has heard that nothing runs: it is ready for a moment before it asks that. */
const opened = async (page: Page, url: string) => {
  await page.goto("about:blank")
  const nothingRuns = page.waitForResponse((response) => response.status() === 204)
  await page.goto(url)
  await nothingRuns
  await ready(page)
}

const ask = async (page: Page, text: string) => {
  await ready(page)
  await question(page).fill(text)
  await press(page, "Ask")
}

/** A model that writes one word, and then waits until it may go on. */
const gated = Effect.gen(function*() {
  const gate = yield* Deferred.make<void>()
  return {
    model: writing(Deferred.await(gate)),
    goOn: () => Effect.runPromise(Effect.asVoid(Deferred.succeed(gate, undefined)))
  }
})

/** Counts the changes of the page after which nothing has the focus. */
const watchFocus = (page: Page) =>
  page.evaluate(`
    var lost = 0
    new MutationObserver(() => { if (document.activeElement === document.body) lost++ })
      .observe(document.body, { childList: true, subtree: true, attributes: true })
  `)

/** Keeps what the status says, one after the other. */
const watchStatus = (page: Page) =>
  page.evaluate(`
    var said = []
    new MutationObserver(() => {
      const text = document.querySelector("[role=status].status").textContent
      if (text !== said.at(-1)) said.push(text)
    }).observe(document.body, { childList: true, subtree: true, characterData: true })
  `)

const browserLogs = /Failed to load resource|net::ERR/

describe.skipIf(!isThere)(ifThere("the page with useChat"), () => {
  const { visit } = browsing()

  it.live("says that a lost refund was made once, started by the README's command", () =>
    Effect.gen(function*() {
      const { url } = yield* started("--port", "0")
      yield* visit(`${url}/`, async (page) => {
        await page.getByRole("link", { name: "The same desk with useChat" }).click()
        await question(page).waitFor()
        await accessible(page)
        await ask(page, "Refund order o-1003, please.")
        await shows(page, `${lookedUp} It was made once.`)
        await shows(page, "I refunded 4.50 for order o-1003. The receipt is r-1003.")
        await ready(page)
        await accessible(page)
      })
    }))

  it.live("tells a screen reader how a call goes, its retries, and what they meant, and nothing of it is an alarm", () =>
    Effect.gen(function*() {
      const { url } = yield* serving({ upstream: "flaky" })
      yield* visit(`${url}/chat`, async (page) => {
        // Its role makes a log a polite region, too.
        assert.strictEqual(await messages(page).getAttribute("aria-live"), null)
        await status(page).waitFor({ state: "attached" })
        await watchStatus(page)
        await ask(page, "Refund o-1003.")
        await shows(page, `${lookedUp} It was made once.`)
        await ready(page)
        const said = await page.evaluate<ReadonlyArray<string>>("said")
        assert.include(said, "Refund of order o-1003: It is under way.")
        assert.include(said, "Refund of order o-1003: The shop did not answer, so we ask it again.")
        assert.strictEqual(await page.locator("[role=alert]:not(:empty)").count(), 0)
      })
    }))

  it.live("asks before a large refund, and makes it when the customer approves", () =>
    Effect.gen(function*() {
      const { shop, url } = yield* serving({ upstream: "flaky" })
      yield* visit(`${url}/chat`, async (page) => {
        await ask(page, "Refund the office chair, o-1004.")
        await approval(page).getByRole("group", { name: chair }).waitFor()
        await status(page).getByText("The assistant asks you something.").waitFor()
        await accessible(page)
        await press(page, "Approve")
        await shows(page, `${lookedUp} It was made once.`)
        await shows(page, refunded)
        assert.strictEqual(await approval(page).count(), 0)
      })
      assert.strictEqual(yield* shop.refundsMade, 1)
    }))

  it.live("takes another amount, and says what is wrong with one", () =>
    Effect.gen(function*() {
      const { shop, url } = yield* serving()
      yield* visit(`${url}/chat`, async (page) => {
        await ask(page, "Refund o-1004.")
        const amount = page.getByLabel("Amount to refund")
        await amount.fill("-1")
        await press(page, "Approve -1 instead")
        assert.isFalse(await amount.evaluate((input) => input.matches(":valid")))
        // A page that checks nothing: the server refuses the reply, and the question stays open.
        await amount.evaluate((input) => input.removeAttribute("min"))
        await press(page, "Approve -1 instead")
        await approval(page).getByRole("alert").getByText("The question is still open.").waitFor()
        await amount.and(page.locator(":focus")).waitFor()
        assert.strictEqual(await amount.inputValue(), "-1")
        await accessible(page)
        await amount.fill("150.00")
        await press(page, "Approve 150.00 instead")
        await shows(page, "I refunded 150.00 for order o-1004. The receipt is r-1004.")
      }, /422/)
      assert.strictEqual(yield* shop.refundsMade, 1)
    }))

  it.live("takes a denial with its reason, and is calm about it", () =>
    Effect.gen(function*() {
      const { shop, url } = yield* serving()
      yield* visit(`${url}/chat`, async (page) => {
        await ask(page, "Refund o-1004.")
        await page.getByLabel("Reason, if you deny it").fill("I keep it.")
        await press(page, "Deny")
        await shows(page, "Nothing was done: it was not approved. The reason: I keep it.")
        await ready(page)
        await accessible(page)
      })
      assert.strictEqual(yield* shop.refundsMade, 0)
    }))

  it.live("asks about each refund of a turn, one after the other if the customer likes", () =>
    Effect.gen(function*() {
      const { shop, url } = yield* serving()
      yield* visit(`${url}/chat`, async (page) => {
        await ask(page, "Refund o-1004 and o-1008.")
        const second = approval(page).filter({ hasText: "o-1008" })
        await second.waitFor()
        await accessible(page)
        await second.getByRole("button", { name: "Deny" }).click()
        await approval(page).filter({ hasText: "o-1004" }).getByRole("button", { name: "Approve" })
          .and(page.locator("[aria-disabled=false]")).click()
        await messages(page).getByText("I refunded 249.00 for order o-1004.").waitFor()
        await ready(page)
      })
      assert.deepStrictEqual(yield* shop.refundsAsked, ["o-1004"])
    }))

  it.live("closes an approval when the customer asks something else", () =>
    Effect.gen(function*() {
      const { url } = yield* serving()
      yield* visit(`${url}/chat`, async (page) => {
        await ask(page, "Refund o-1004.")
        await approval(page).waitFor()
        await ask(page, "What is o-1002?")
        await shows(page, lamp)
        await shows(page, "Nothing was done: nobody approved it.")
        assert.strictEqual(await approval(page).count(), 0)
      })
    }))

  it.live("leaves a doubt as one, and repeats nothing", () =>
    Effect.gen(function*() {
      const { shop, url } = yield* serving({ upstream: "blind" })
      yield* visit(`${url}/chat`, async (page) => {
        await ask(page, "Refund o-1003.")
        await shows(page, isNotKnown)
        await ready(page)
        await accessible(page)
        const again = page.waitForResponse("**/api/chat")
        await press(page, "Regenerate")
        await again
        await ready(page)
        await shows(page, isNotKnown)
      })
      assert.deepStrictEqual(yield* shop.refundsAsked, ["o-1003"])
    }))

  it.live("makes an answer again without another refund, and without alarm", () =>
    Effect.gen(function*() {
      const { shop, url } = yield* serving()
      yield* visit(`${url}/chat`, async (page) => {
        await ask(page, "Refund o-1003.")
        await shows(page, "I refunded 4.50 for order o-1003. The receipt is r-1003.")
        await ready(page)
        await press(page, "Regenerate")
        await shows(page, "This order was refunded before, so nothing was refunded again.")
        await shows(page, "Order o-1003 is already refunded. I refunded nothing again.")
        assert.strictEqual(await messages(page).getByRole("article").count(), 2)
        assert.strictEqual(await messages(page).locator(".unknown").count(), 0)
        await ready(page)
        await accessible(page)
      })
      assert.strictEqual(yield* shop.refundsMade, 1)
    }))

  it.live("stops a run on the server, and asks on", () =>
    Effect.gen(function*() {
      const { goOn, model } = yield* gated
      const served = yield* serving({ model })
      yield* visit(`${served.url}/chat`, async (page) => {
        await ask(page, "What is o-1001?")
        await shows(page, "Order")
        await accessible(page)
        await press(page, "Stop")
        await shows(page, "This was stopped.")
        await Effect.runPromise(noneUnderWay(served))
        await accessible(page)
        await goOn()
        await ask(page, "What is o-1002?")
        await shows(page, lamp)
        await page.reload()
        await shows(page, "This was stopped.")
        await shows(page, lamp)
      })
    }))

  it.live("goes on after a reload in the middle of an answer", () =>
    Effect.gen(function*() {
      const { goOn, model } = yield* gated
      const { url } = yield* serving({ model })
      yield* visit(`${url}/chat`, async (page) => {
        await ask(page, "What is o-1002?")
        await shows(page, "Order")
        await page.reload()
        await shows(page, "Order")
        await page.getByRole("button", { name: "Stop" }).and(page.locator("[aria-disabled=false]")).waitFor()
        await goOn()
        await shows(page, lamp)
        assert.strictEqual(await messages(page).getByRole("article").count(), 2)
        await ready(page)
      })
    }))

  it.live("goes on after a reload while an approved refund is made", () =>
    Effect.gen(function*() {
      const { goOn, model } = yield* gated
      const { shop, url } = yield* serving({ model })
      yield* visit(`${url}/chat`, async (page) => {
        await ask(page, "Refund o-1004.")
        await press(page, "Approve")
        await Effect.runPromise(until(Effect.map(shop.refundsMade, (made) => made === 1)))
        await page.reload()
        await shows(page, "I")
        assert.strictEqual(await approval(page).count(), 0)
        await goOn()
        await shows(page, refunded)
      })
    }))

  it.live("comes back after a lost connection, and shows the rest of the answer", () =>
    Effect.gen(function*() {
      const { goOn, model } = yield* gated
      const { url } = yield* serving({ model })
      const way = yield* cuttable(url)
      yield* visit(`${way.url}/chat`, async (page) => {
        await ask(page, "What is o-1002?")
        await shows(page, "Order")
        way.cut()
        await status(page).getByText("Reconnecting").waitFor()
        await accessible(page)
        way.restore()
        await status(page).getByText("Reconnecting").waitFor({ state: "detached" })
        await shows(page, "Order")
        await goOn()
        await shows(page, lamp)
        await ready(page)
      }, browserLogs)
    }))

  it.live("notices a connection that hangs", () =>
    Effect.gen(function*() {
      const { goOn, model } = yield* gated
      const { url } = yield* serving({ model })
      const way = yield* cuttable(url)
      yield* visit(`${way.url}/chat`, async (page) => {
        await page.clock.install()
        await opened(page, page.url())
        // Connections that the browser has kept would hang, too, and each of them takes 40 seconds of the page's time.
        way.cut()
        way.restore()
        await ask(page, "What is o-1002?")
        await shows(page, "Order")
        way.hang()
        await goOn()
        await page.clock.fastForward("00:41")
        await shows(page, lamp)
        await ready(page)
      })
    }))

  it.live("shows what was answered while it was offline", () =>
    Effect.gen(function*() {
      const { goOn, model } = yield* gated
      const served = yield* serving({ model })
      yield* visit(`${served.url}/chat`, async (page) => {
        await ask(page, "What is o-1002?")
        await shows(page, "Order")
        await page.context().setOffline(true)
        await status(page).getByText("Reconnecting").waitFor()
        await goOn()
        await Effect.runPromise(noneUnderWay(served))
        await page.context().setOffline(false)
        await shows(page, lamp)
        await ready(page)
      }, browserLogs)
    }))

  it.live("gives a question back that was not sent", () =>
    Effect.gen(function*() {
      const { url } = yield* serving()
      const way = yield* cuttable(url)
      yield* visit(`${way.url}/chat`, async (page) => {
        await opened(page, page.url())
        way.cut()
        await ask(page, "What is o-1002?")
        await status(page).getByText("Reconnecting").waitFor()
        way.restore()
        await status(page).getByText("your question was not sent").waitFor()
        assert.strictEqual(await question(page).inputValue(), "What is o-1002?")
        await press(page, "Ask")
        await shows(page, lamp)
      }, browserLogs)
    }))

  it.live("is calm in a second tab that asks meanwhile, and shows the same in both", () =>
    Effect.gen(function*() {
      const { goOn, model } = yield* gated
      const { url } = yield* serving({ model })
      yield* visit(`${url}/chat`, async (page) => {
        await ready(page)
        const other = await page.context().newPage()
        await opened(other, page.url())
        await ask(page, "What is o-1002?")
        await shows(page, "Order")
        await ask(other, "What is o-1001?")
        // It follows the answer to the other question, and keeps its own.
        await shows(other, "What is o-1002?")
        await goOn()
        await shows(other, lamp)
        await status(other).getByText("Wait for the answer to your last question.").waitFor()
        assert.strictEqual(await question(other).inputValue(), "What is o-1001?")
        await accessible(other)
        await shows(page, lamp)
        await other.reload()
        await shows(other, lamp)
        assert.deepStrictEqual(await messages(other).innerText(), await messages(page).innerText())
      }, /409/)
    }))

  it.live("shows in a tab that is looked at again what another one has asked", () =>
    Effect.gen(function*() {
      const { url } = yield* serving()
      yield* visit(`${url}/chat`, async (page) => {
        await ready(page)
        const other = await page.context().newPage()
        await other.goto(page.url())
        await question(other).fill("What is o-1001?")
        await ask(page, "What is o-1002?")
        await shows(page, lamp)
        await other.evaluate("document.dispatchEvent(new Event('visibilitychange'))")
        await shows(other, lamp)
        assert.strictEqual(await question(other).inputValue(), "What is o-1001?")
      })
    }))

  it.live("takes one of two replies from two tabs", () =>
    Effect.gen(function*() {
      const { shop, url } = yield* serving()
      yield* visit(`${url}/chat`, async (page) => {
        await ask(page, "Refund o-1004.")
        await approval(page).waitFor()
        const other = await page.context().newPage()
        await other.goto(page.url())
        await approval(other).waitFor()
        await press(page, "Approve")
        await shows(page, refunded)
        await press(other, "Deny")
        await status(other).getByText("This question is no longer open.").waitFor()
        await shows(other, refunded)
        assert.strictEqual(await approval(other).count(), 0)
        await accessible(other)
      }, /409/)
      assert.strictEqual(yield* shop.refundsMade, 1)
    }))

  it.effect("counts the time to decide by the server's clock, and asks again when it is over", () =>
    Effect.gen(function*() {
      const { shop, url } = yield* serving()
      const runPromise = Effect.runPromiseWith(yield* Effect.context())
      yield* visit(`${url}/chat`, async (page) => {
        // The clock of this computer is wrong by years.
        await page.clock.install({ time: "2001-01-01" })
        // A page that waits for an answer takes a jump of the clock for a silence.
        await page.clock.pauseAt("2001-01-02")
        await page.reload()
        await ask(page, "Refund o-1004.")
        const timer = approval(page).getByRole("timer")
        await timer.getByText("10:00 left to decide").waitFor()
        await page.getByLabel("Amount to refund").focus()
        await watchFocus(page)
        await page.clock.runFor("09:00")
        await timer.getByText("1:00 left to decide").waitFor()
        await page.clock.runFor("01:00")
        await approval(page).getByText("It is too late to approve this, so it was not done.").waitFor()
        // The field is gone, and the focus is not.
        await page.getByRole("button", { name: "Ask again" }).and(page.locator(":focus")).waitFor()
        assert.strictEqual(await page.evaluate("lost"), 0)
        await page.clock.resume()
        await accessible(page)
        await runPromise(TestClock.adjust("601 seconds"))
        await page.keyboard.press("Enter")
        await timer.getByText("10:00 left to decide").waitFor()
        await press(page, "Approve")
        await shows(page, refunded)
      })
      assert.strictEqual(yield* shop.refundsMade, 1)
    }))

  it.live("begins a new conversation if the server has forgotten the last one", () =>
    Effect.gen(function*() {
      const { url } = yield* serving()
      yield* visit(`${url}/chat#0000`, async (page) => {
        await status(page).getByText("Your last conversation is no longer there. This is a new one.").waitFor()
        assert.notInclude(page.url(), "#0000")
        await ask(page, "What is o-1002?")
        await shows(page, lamp)
      }, /404/)
    }))

  it.live("can be used by keyboard alone, and never loses the focus", () =>
    Effect.gen(function*() {
      const { goOn, model } = yield* gated
      const { shop, url } = yield* serving({ model })
      yield* visit(`${url}/chat`, async (page) => {
        const { keyboard } = page
        const focused = async (label: string) => {
          const named = page.getByLabel(label).or(page.getByRole("button", { name: label, exact: true }))
          await named.and(page.locator(":focus")).waitFor()
        }
        await focused("Your question")
        await watchFocus(page)
        await keyboard.type("Refund o-1004.")
        await keyboard.press("Enter")
        // The form has the focus, and none of its buttons: Enter approves nothing.
        await approval(page).and(page.locator(":focus")).waitFor()
        await keyboard.press("Enter")
        await keyboard.press("Tab")
        await focused("Amount to refund")
        await keyboard.press("ControlOrMeta+A")
        await keyboard.type("150.00")
        await keyboard.press("Tab")
        await keyboard.press("Tab")
        await focused("Approve 150.00 instead")
        await keyboard.press("Enter")
        await focused("Your question")
        await shows(page, "I")
        await keyboard.press("Tab")
        await keyboard.press("Tab")
        await focused("Stop")
        await keyboard.press("Enter")
        await shows(page, "This was stopped.")
        await focused("Stop")
        await goOn()
        await ready(page)
        await keyboard.press("Tab")
        await focused("Regenerate")
        await keyboard.press("Enter")
        await shows(page, "Order o-1004 is already refunded. I refunded nothing again.")
        await focused("Regenerate")
        assert.strictEqual(await page.evaluate("lost"), 0)
      })
      assert.strictEqual(yield* shop.refundsMade, 1)
    }))
})
