import { createServer, type Socket } from "node:net"
import { createTransport } from "nodemailer"
import { type Cases, entries, key, listen, password, type World } from "../world.ts"

/** The answers of a mail server, each with the command that it answers. */
const answers: Readonly<Record<string, readonly [command: RegExp, answer: string]>> = {
  "wrong password": [/^AUTH/, `535 5.7.8 Authentication credentials invalid: ${key}`],
  "sender rejected": [/^MAIL/, "550 5.7.1 Sender refused"],
  "no such mailbox": [/^RCPT/, "550 5.1.1 <ada@mail.example>: no such user here"],
  "mailbox full": [/^RCPT/, "452 4.2.2 Mailbox full"],
  "greylisted": [/^RCPT/, "451 4.7.1 Greylisted, try again in 5 minutes"],
  "too large": [/^DATA/, "552 5.3.4 Message too big"],
  "rejected after it was sent": [/^\.$/m, "554 5.7.1 Message looks like spam"],
  "try later": [/^EHLO/, "421 4.3.2 Service shutting down"],
  "closed after it was sent": [/^\.$/m, ""]
}

const mailServer = (command: RegExp, answer: string): Promise<number> =>
  listen(createServer((socket: Socket) => {
    socket.on("error", () => {})
    socket.write("220 mail.example ESMTP\r\n")
    socket.on("data", (bytes) => {
      const text = bytes.toString()
      if (command.test(text.trim())) {
        if (answer === "") socket.destroy()
        else socket.write(`${answer}\r\n`)
      } else if (/^EHLO/.test(text)) socket.write("250-mail.example\r\n250 AUTH PLAIN\r\n")
      else if (/^AUTH/.test(text)) socket.write("235 2.7.0 Accepted\r\n")
      else if (/^DATA/.test(text)) socket.write("354 Go on\r\n")
      else socket.write("250 OK\r\n")
    })
  }))

const send = (port: number) =>
  createTransport({ host: "127.0.0.1", port, auth: { user: "ada", pass: key }, tls: { rejectUnauthorized: false } })
    .sendMail({ from: "bot@mail.example", to: "ada@mail.example", subject: "Hello", text: password })

export const mailCases = ({ refusedPort }: World): Cases => ({
  library: "nodemailer",
  cases: {
    ...entries(
      Object.entries(answers).map((
        [name, [command, answer]]
      ) => [name, async () => send(await mailServer(command, answer))])
    ),
    "refused": () => send(refusedPort),
    "no recipient": () =>
      createTransport({ host: "127.0.0.1", port: refusedPort }).sendMail({ from: "bot@mail.example" })
  }
})
