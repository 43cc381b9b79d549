/**
 * Twenty-four handlers as people write them. Each is played without any declaration, and again with the one line by which
 * its author says what is known: `refuse` in the handler, `acts`, or `refusesFirst`.
 */
import { execFile } from "node:child_process"
import { writeFile } from "node:fs/promises"
import { join } from "node:path"
import { lib } from "./clients.mjs"
import { database, folder, insert, mail, openPool, removed, transport } from "./elsewhere.mjs"
import { bank, childPath, closed, did, missing, node, ok, ports, post, row } from "./kit.mjs"

const stripe = async () => {
  const Stripe = await lib("stripe")
  return new Stripe("sk_test_1", { host: "127.0.0.1", port: ports.bank, protocol: "http", telemetry: false })
}
const charge = (client, amount) => client.charges.create({ amount, currency: "eur", source: "tok" })

const slack = async () => {
  const { WebClient } = await import("@slack/web-api")
  return new WebClient("xoxb", { slackApiUrl: bank("/slack/"), retryConfig: { retries: 0 }, logLevel: "error" })
}

const s3 = async () => {
  const { PutObjectCommand, S3Client } = await import("@aws-sdk/client-s3")
  const credentials = { accessKeyId: "a", secretAccessKey: "b" }
  const client = new S3Client({ endpoint: bank(), region: "eu-central-1", forcePathStyle: true, credentials })
  return (Bucket) => client.send(new PutObjectCommand({ Bucket, Key: "k", Body: "text" }))
}

const pool = async () => {
  const { Pool } = await lib("pg")
  const all = new Pool({ ...database(), max: 1 })
  all.on("error", () => {})
  return all
}

/** Each handler, and how its author would declare it. The option `said` means that the handler itself says it. */
const handlers = [
  ["Stripe SDK: card declined", (_, client) => charge(client, 402), { before: stripe }],
  ["Stripe SDK: paid, then 'Receipt missing'", async (_, client) => missing(await charge(client, 500)), {
    before: stripe
  }],
  ["fetch POST 402, then Error('HTTP 402')", async () => ok(await fetch(bank("/refuse/402"), post()))],
  ["fetch POST 500, acted", async () => ok(await fetch(bank("/acting/500"), post()))],
  ["fetch POST 200, its body says declined", async ({ refuse }, _, isSaid) => {
    await ok(await fetch(bank("/search/declined"), post()))
    if (isSaid) refuse("The card was declined.")
    throw new Error("The card was declined.")
  }],
  ["fetch: connection refused", async () => ok(await fetch(closed("/pay"), post()))],
  ["axios 402", (_, axios) => axios.post(bank("/refuse/402"), {}), { before: () => lib("axios") }],
  ["axios 429", (_, axios) => axios.post(bank("/refuse/429"), {}), { before: () => lib("axios") }],
  ["got: paid, then a mail is refused", async (_, got) => {
    await got.post(bank("/pay"), { json: {} })
    await got.post(bank("/refuse/402"), { json: {} })
  }, { before: () => lib("got") }],
  ["a token by POST, then 402", async () => {
    await ok(await fetch(bank("/oauth/token"), post()))
    await ok(await fetch(bank("/refuse/402"), post()))
  }, { declared: { acts: { requests: ["POST 127.0.0.1/refuse/*"] } } }],
  ["a search by POST, then Error('No room')", async ({ refuse }, _, isSaid) => {
    await ok(await fetch(bank("/search"), post()))
    if (isSaid) refuse("No room is free.")
    throw new Error("No room is free.")
  }],
  ["a GET, then Error('Room A1 is booked')", async ({ refuse }, _, isSaid) => {
    await ok(await fetch(bank("/read")))
    if (isSaid) refuse("Room A1 is booked.")
    throw new Error("Room A1 is booked.")
  }],
  ["Slack SDK: channel_not_found", async ({ refuse }, client, isSaid) => {
    try {
      await client.chat.postMessage({ channel: "nobody", text: "Hi" })
    } catch (error) {
      if (isSaid && error.data?.error === "channel_not_found") refuse("There is no such channel.")
      throw error
    }
  }, { before: slack }],
  ["S3 SDK: NoSuchBucket", (_, put) => put("missing"), { before: s3 }],
  ["pg: unique violation", (_, all) => insert(all, "taken"), {
    before: pool,
    after: (all) => all.end(),
    declared: { refusesFirst: true }
  }],
  ["pg: inserted, then Error('Room A1 …')", async (_, all) => {
    await insert(all, "A1")
    throw new Error("Room A1 has no key.")
  }, { before: pool, after: (all) => all.end(), declared: { refusesFirst: true } }],
  ["pg: connection dropped in INSERT", (_, all) => insert(all, "dropped"), {
    before: openPool,
    after: (all) => all.end(),
    declared: { refusesFirst: true }
  }],
  ["nodemailer: 550 no such user", (_, mailer) => mailer.sendMail(mail("nobody")), {
    before: transport,
    declared: { refusesFirst: true }
  }],
  ["nodemailer: accepted, connection lost", (_, mailer) => mailer.sendMail(mail("lost")), {
    before: transport,
    declared: { refusesFirst: true }
  }],
  ["a file is written, then Error('Disk quota')", async (_, path) => {
    await writeFile(join(path, "a"), "text")
    did("file")
    throw new Error("Disk quota exceeded.")
  }, { before: folder, after: removed }],
  [
    "a child process exits with 1 after acting",
    () =>
      new Promise((resolve, reject) =>
        execFile(
          node,
          [childPath, bank("/pay"), "1"],
          (error) => error === null ? resolve() : reject(error)
        )
      )
  ],
  ["a rule of this process: Error('Room A1 is booked')", async ({ refuse }, _, isSaid) => {
    if (isSaid) refuse("Room A1 is booked.")
    throw new Error("Room A1 is booked.")
  }],
  ["a state of this process changes, then an Error", async (_, rooms) => {
    rooms.add("A1")
    did("state")
    throw new Error("Room A1 is booked.")
  }, { before: async () => new Set() }],
  ["a mistake of the program before the request", async (_, rooms) => {
    await ok(await fetch(bank(`/pay/${rooms.first.name}`), post()))
  }, { before: async () => ({}), declared: { acts: { requests: ["POST 127.0.0.1/pay/*"], only: true } } }]
]

export const everydayRows = [false, true].flatMap((isSaid) =>
  handlers.map(([name, run, { declared, ...options } = {}]) =>
    row(`everyday${isSaid ? ", declared" : ""}: ${name}`, (call, kept) => run(call, kept, isSaid), {
      ...options,
      ...(isSaid ? { tool: declared } : {})
    })
  )
)
