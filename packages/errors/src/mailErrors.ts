/*
 * Replies of a mail server: https://www.rfc-editor.org/rfc/rfc5321#section-4.2
 */
import { permanent, type Recognized, refusedAs, transient } from "./kind.ts"
import { textAt, wholeAt } from "./reading.ts"

export const ofMail = (error: object): Recognized | undefined => {
  const code = wholeAt(error, "responseCode")
  const command = textAt(error, "command")
  if (code === undefined || command === undefined) return undefined
  if (code >= 400 && code < 500) return later
  if (code < 500 || code >= 600) return undefined
  if (command.startsWith("AUTH") || code === 530) return denied
  const what = command.startsWith("RCPT") ? "recipient" : command.startsWith("MAIL") ? "sender" : "message"
  return { kind: refusedAs("rejected"), sentence: `The mail server refused the ${what}.` }
}

const later: Recognized = {
  kind: transient("server_error", "not_executed"),
  sentence: "The mail server does not accept the message now."
}

const denied: Recognized = {
  kind: permanent("permission_denied", { hint: "The mail server rejected this tool's credentials: tell the user." }),
  sentence: "The mail server denied access."
}
