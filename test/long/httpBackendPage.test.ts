/** The page of the HTTP backend, in a real browser: Chromium, at the path in `CHROMIUM` or where Debian puts it. */
import { assert, describe, it } from "@effect/vitest"
import { Model } from "@fallible/core"
import * as Planner from "@fallible/examples/04-http-backend/Planner"
import type * as ShopServer from "@fallible/examples/04-http-backend/ShopServer"
import { Effect, Layer, Stream } from "effect"
import { TestClock } from "effect/testing"
import type { Page } from "playwright-core"
import { noneUnderWay, serving, until } from "../support/backend.ts"
import { started } from "../support/backendProcess.ts"
import { browsing, ifThere, isThere } from "../support/browser.ts"

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

const lookedUp = "The shop did not answer, so we looked the refund up instead of asking for it again. "

const named = ifThere("the page of the backend")

describe.skipIf(!isThere)(named, () => {
  const { visit } = browsing()

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

  it.live("shows a failure and its recovery with the first of its questions, started by the README's command", () =>
    Effect.gen(function*() {
      const { url } = yield* started("--port", "0")
      yield* visit(url, async (page) => {
        await page.getByRole("main").getByRole("button").first().click()
        await page.getByText("I refunded 4.50 for order o-1003. The receipt is r-1003.").waitFor()
        const [refund = ""] = await calls(page, 1)
        assert.include(refund, `${lookedUp}You were paid 4.50 once.`)
        assert.match(refund, /done after 2 attempts/)
        assert.match(refund, /Attempt 2: .* \(a check looked for the effect\)/)
      })
    }))

  const mayBePaid =
    "We do not know yet whether you were paid. Ask again later: we look it up first, so it is not paid twice."
  const once = "You were paid 4.50 once."
  const meanings: ReadonlyArray<
    readonly [upstream: ShopServer.State, questions: ReadonlyArray<string>, state: RegExp, means: string]
  > = [
    ["up", ["Refund o-1003."], /^done, /, ""],
    [
      "busy",
      ["Refund o-1003."],
      /^done after 2 attempts, /,
      `The shop failed before it paid anything, so we asked it again. ${once}`
    ],
    ["lossy", ["Refund o-1003."], /^done, /, `${lookedUp}${once}`],
    ["up", ["Refund o-1003 and o-1003."], /^done, /, `This refund was asked for twice. ${once}`],
    ["blind", ["Refund o-1003."], /^not known, /, mayBePaid],
    ["blind", ["Refund o-1003.", "Refund o-1003 now."], /^not known, /, mayBePaid],
    [
      "flaky",
      ["Refund o-1003.", "Refund o-1003 again."],
      /^already done, /,
      "This order was refunded before, so nothing was paid again."
    ],
    ["up", ["What is o-1002?"], /^done, /, ""],
    [
      "busy",
      ["What is o-1002?"],
      /^done after 2 attempts, /,
      "The shop failed at first, so we asked it again, and it answered."
    ],
    [
      "flaky",
      ["Where is the parcel of o-1001?", "Where is the parcel of o-1001 now?"],
      /^done after 3 attempts, /,
      "The shop does not answer, so this is what it told us last."
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
            "This order was refunded before, so nothing was paid again."
          )
        }
        await asked(page, "Refund o-1003.")
        await again()
        await page.reload()
        await again()
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
        await page.locator(".unknown .meaning", { hasText: mayBePaid }).waitFor()
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
          `refund_order: done after 2 attempts. ${lookedUp}You were paid 4.50 once.`
        ])
        await asked(page, "What is o-1002?")
        assert.match((await region.locator("> p").allTextContents()).join(" "), /^find_order: running\./)
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

describe.skipIf(!isThere)(`the questions on ${named}`, () => {
  const { visit } = browsing()

  const chair = "Refund 249.00 for order o-1004 (office chair)."
  const validationMessage = (input: { readonly validationMessage: string }) => input.validationMessage
  const asks = (page: Page) => page.getByRole("form", { name: "The assistant asks you" })
  const about = (page: Page, preview: string) => asks(page).getByRole("group", { name: preview })
  const press = (page: Page, name: string) => asks(page).getByRole("button", { name, exact: true }).click()

  it.live("show what a refund would do, and go on when the customer approves it", () =>
    Effect.gen(function*() {
      const { shop, url } = yield* serving({ upstream: "flaky" })
      yield* visit(url, async (page) => {
        await ask(page, "Refund the office chair, o-1004.")
        await about(page, chair).getByText("{\"order\":\"o-1004\"}").waitFor()
        await press(page, "Approve")
        await page.getByText(`${lookedUp}You were paid 249.00 once.`).first().waitFor()
        await page.getByText("I refunded 249.00 for order o-1004.").waitFor()
        assert.include(await calls(page, 3), `You approved: ${chair}`)
        assert.strictEqual(await asks(page).count(), 0)
      })
      assert.strictEqual(yield* shop.refundsMade, 1)
    }))

  it.live("take a changed amount, by keyboard alone", () =>
    Effect.gen(function*() {
      const { url } = yield* serving()
      yield* visit(url, async (page) => {
        await page.getByLabel("Your question").focus()
        await page.keyboard.type("Refund o-1004.")
        await page.keyboard.press("Enter")
        await about(page, chair).waitFor()
        // The form has the focus, and none of its buttons: Enter approves nothing.
        await page.keyboard.press("Enter")
        await page.keyboard.press("Tab")
        await page.getByLabel("Amount to refund").and(page.locator(":focus")).waitFor()
        assert.strictEqual(await page.getByLabel("Amount to refund").inputValue(), "249.00")
        await page.keyboard.press("ControlOrMeta+A")
        await page.keyboard.type("150.00")
        await page.keyboard.press("Enter")
        await page.getByText("I refunded 150.00 for order o-1004. The receipt is r-1004.").waitFor()
        assert.include(await calls(page, 3), "You approved 150.00, changed from 249.00.")
        await page.getByText("A person changed the arguments to {\"order\":\"o-1004\",\"cents\":15000}").waitFor()
      })
    }))

  it.live("say what is wrong with an amount: on the page, by the agent, or by the shop", () =>
    Effect.gen(function*() {
      const { shop, url } = yield* serving()
      yield* visit(url, async (page) => {
        await ask(page, "Refund o-1004.")
        const amount = page.getByLabel("Amount to refund")
        const wrong = () => amount.evaluate(validationMessage)
        await press(page, "Approve with changes")
        assert.strictEqual(await wrong(), "Change the amount first.")
        // Who has changed the amount must not approve the old one.
        await amount.fill("150.00")
        await press(page, "Approve")
        assert.match(await wrong(), /^You have changed this\./)
        await amount.fill("-1")
        await press(page, "Approve with changes")
        assert.notStrictEqual(await wrong(), "")
        // A page that checks nothing: the agent refuses the reply, and the question stays open.
        await amount.evaluate((input) => input.removeAttribute("min"))
        await press(page, "Approve with changes")
        await asks(page).getByRole("alert").getByText("The reply was refused: arguments.cents:").waitFor()
        await amount.and(page.locator(":focus")).waitFor()
        await amount.fill("250.00")
        await press(page, "Approve with changes")
        await page.getByText("Order o-1004 cost 249.00, so 250.00 cannot be refunded.").first().waitFor()
        assert.strictEqual(await page.locator(".failed").count(), 0)
      }, /422/)
      assert.strictEqual(yield* shop.refundsMade, 0)
    }))

  it.live("take a denial with its reason, without alarm", () =>
    Effect.gen(function*() {
      const { shop, url } = yield* serving()
      yield* visit(url, async (page) => {
        await ask(page, "Refund o-1004.")
        await page.getByLabel("Reason, if you deny it").fill("I keep it.")
        await press(page, "Deny")
        await page.getByText("it was denied. The reason: I keep it.").first().waitFor()
        await page.locator(".meaning", { hasText: "Nothing was paid." }).waitFor()
        assert.include(await calls(page, 3), `You denied: ${chair} Your reason: I keep it.`)
        assert.strictEqual(await page.locator(".failed").count(), 0)
      })
      assert.strictEqual(yield* shop.refundsMade, 0)
    }))

  it.live("are asked about small refunds, too, while their amount cannot be looked up", () =>
    Effect.gen(function*() {
      const { url } = yield* serving({ upstream: "down" })
      yield* visit(url, async (page) => {
        await ask(page, "Refund o-1003.")
        await about(page, "Refund order o-1003. Its price is not known now.").waitFor()
        assert.strictEqual(await page.getByLabel("Amount to refund").inputValue(), "")
        await press(page, "Approve")
        await page.locator(".failed .state", { hasText: "failed after 3 attempts" }).waitFor()
        assert.strictEqual(await page.locator(".failed .meaning").innerText(), "Nothing was paid.")
      })
    }))

  it.live("of one turn are shown together, and some of them can be replied to first", () =>
    Effect.gen(function*() {
      const { shop, url } = yield* serving()
      yield* visit(url, async (page) => {
        await ask(page, "Refund o-1004, o-1008 and o-1012.")
        const of = (order: string) => about(page, `Refund 249.00 for order ${order} (office chair).`)
        const button = (order: string, name: string) => of(order).getByRole("button", { name, exact: true })
        await of("o-1012").waitFor()
        await press(page, "Send these replies")
        await page.getByText("Decide about one of them first.").waitFor()
        await button("o-1004", "Approve").click()
        await button("o-1008", "Approve").click()
        await button("o-1008", "Deny").click()
        assert.strictEqual(await button("o-1008", "Approve").getAttribute("aria-pressed"), "false")
        assert.strictEqual(await button("o-1008", "Deny").getAttribute("aria-pressed"), "true")
        await of("o-1008").getByLabel("Reason").fill("Not this one.")
        await press(page, "Send these replies")
        // The third question is still open, and now the only one.
        await button("o-1012", "Approve").and(page.locator(":not([aria-pressed])")).click()
        await page.getByText("I refunded 249.00 for order o-1004.").waitFor()
        await page.getByText("I refunded nothing for order o-1008: it was denied. The reason: Not this one.").waitFor()
        await page.getByText("I refunded 249.00 for order o-1012.").waitFor()
      })
      assert.deepStrictEqual(yield* shop.refundsAsked, ["o-1004", "o-1012"])
    }))

  it.effect("count the time down by the server's clock, and can be asked again when it is over", () =>
    Effect.gen(function*() {
      const { shop, url } = yield* serving()
      const runPromise = Effect.runPromiseWith(yield* Effect.context())
      yield* visit(url, async (page) => {
        // The clock of this computer is wrong by years.
        await page.clock.install({ time: "2001-01-01" })
        await page.clock.pauseAt("2001-01-02")
        await ask(page, "Refund o-1004.")
        const timer = asks(page).getByRole("timer")
        await timer.getByText("10:00 left to decide").waitFor()
        await page.clock.runFor("09:00")
        await timer.getByText("1:00 left to decide").waitFor()
        await page.clock.runFor("01:00")
        await timer.getByText("It is too late to approve this, so it was not done.").waitFor()
        assert.isTrue(await asks(page).getByRole("button", { name: "Approve", exact: true }).isDisabled())
        const said = await page.getByRole("log", { name: "Progress" }).locator("> p").allTextContents()
        assert.deepStrictEqual(said.slice(-3), [
          `The assistant asks you: ${chair} 10:00 left to decide.`,
          `Less than a minute is left to decide: ${chair}`,
          `${chair} It is too late to approve this, so it was not done.`
        ])
        await runPromise(TestClock.adjust("601 seconds"))
        await press(page, "Ask again")
        await page.getByText("it was denied. The reason: Nobody approved it in time.").last().waitFor()
        await timer.getByText("10:00 left to decide").waitFor()
        assert.strictEqual(await page.locator("article").count(), 2)
        await press(page, "Approve")
        await page.getByText("I refunded 249.00 for order o-1004.").waitFor()
      })
      assert.strictEqual(yield* shop.refundsMade, 1)
    }))

  it.live("are closed when the customer has asked something else", () =>
    Effect.gen(function*() {
      const { url } = yield* serving()
      yield* visit(url, async (page) => {
        await ask(page, "Refund o-1004.")
        await asks(page).waitFor()
        await ask(page, "What is o-1002?")
        await page.getByText("Order o-1002 is a desk lamp for 64.00. It is paid.").waitFor()
        assert.strictEqual(await asks(page).count(), 0)
      })
    }))

  const anything = { id: "q1", tool: "book_table", text: "For how many?" }
  const kinds: ReadonlyArray<
    readonly [what: string, question: object, act: (page: Page) => Promise<void>, reply: object, told: string]
  > = [
    [
      "a text",
      { ...anything, kind: "reply" },
      async (page) => {
        await page.getByLabel("Your reply").fill("four")
        await page.keyboard.press("Enter")
      },
      { id: "q1", reply: "four" },
      "You replied: four"
    ],
    [
      "choices",
      { ...anything, kind: "choice", choices: ["<b>two</b>", "four"] },
      (page) => press(page, "<b>two</b>"),
      { id: "q1", reply: "<b>two</b>" },
      "You replied: <b>two</b>"
    ],
    [
      "a doubt",
      { ...anything, kind: "doubt" },
      (page) => press(page, "no"),
      { id: "q1", reply: "no" },
      "You replied: no"
    ],
    [
      "arguments of a tool that the page does not know",
      { ...anything, kind: "approval", digest: "d1", arguments: "{\"people\":4}" },
      async (page) => {
        const text = page.getByLabel("Arguments of book_table, as JSON")
        await text.fill("{")
        await press(page, "Approve with changes")
        assert.strictEqual(
          await text.evaluate(validationMessage),
          "This is not a JSON object."
        )
        await text.fill("{\"people\": 5}")
        await press(page, "Approve with changes")
      },
      { id: "q1", digest: "d1", approved: true, arguments: { people: 5 } },
      "You approved book_table with {\"people\":5}."
    ],
    [
      "arguments that are partly hidden",
      { ...anything, kind: "approval", digest: "d1", arguments: "{\"pin\":\"<redacted>\"}" },
      async (page) => {
        assert.strictEqual(await asks(page).getByRole("button", { name: "Approve with changes" }).count(), 0)
        await press(page, "Approve")
      },
      { id: "q1", digest: "d1", approved: true },
      "You approved: For how many?"
    ]
  ]
  for (const [what, question, act, reply, told] of kinds) {
    it.live(`can be about ${what}`, () =>
      Effect.gen(function*() {
        const { url } = yield* serving()
        yield* visit(url, async (page) => {
          const answering = (...events: ReadonlyArray<object>) => ({
            contentType: "text/event-stream",
            body: events.map((event) => `data: ${JSON.stringify(event)}\n\n`).join("")
          })
          const sent: Array<unknown> = []
          await page.route("**/ask", (route) =>
            route.fulfill(answering(
              { _tag: "RunSuspended", run: "r", at: 0, suspension: "s", questions: [question] },
              { _tag: "ReplyWanted", token: "t" }
            )))
          await page.route("**/reply", (route) => {
            sent.push(route.request().postDataJSON())
            return route.fulfill(answering({ _tag: "RunEnded", run: "r", at: 0, text: "Done.", truncated: false }))
          })
          await ask(page, "Book a table.")
          await asks(page).waitFor()
          await act(page)
          await page.getByText("Done.").waitFor()
          assert.deepStrictEqual(sent, [{ token: "t", replies: [reply] }])
          assert.include(await calls(page, 1), told)
        })
      }))
  }
})
