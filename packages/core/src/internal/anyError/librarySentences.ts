/*
 * Recognizes an error by its message alone: by the sentences of libraries, and by HTTP statuses in the
 * message.
 */
import { isA } from "../value/untrusted.ts"
import { database } from "./databaseErrors.ts"
import { type Look, type Recognized, unproven } from "./errorKind.ts"
import { syntaxOf } from "./formatErrors.ts"
import { failing, ofStatus, tooOften } from "./httpStatus.ts"
import { textAt } from "./readError.ts"
import { aborted, late, lost, unsendable } from "./systemErrors.ts"

// An error from a different realm, such as a VM context, is not an instance of this realm's `Error`.
const isError = (error: object): boolean => isA(Error)(error) || textAt(error, "stack") !== undefined

const messageOf = (error: object): string => isError(error) ? textAt(error, "message") ?? "" : ""

/** Makes a function that recognizes an error by its message: a wrapped error may have nothing else. */
const inMessage = (table: ReadonlyArray<readonly [message: RegExp, Recognized]>): Look => (error) => {
  const message = messageOf(error)
  return message === "" ? undefined : table.find(([pattern]) => pattern.test(message))?.[1]
}

const mute = (recognized: Recognized): Recognized => ({ ...recognized, isMute: true })

/** Recognizes the messages of `fetch` in Node, in browsers, and in Deno. */
export const ofClients = inMessage([
  [
    /^(fetch failed|terminated|Failed to fetch|Load failed|NetworkError when attempting.*|other side closed)$|^error sending request for url/,
    mute(lost)
  ],
  [/^(Invalid URL(?:$| protocol)|Failed to parse URL from |Only absolute URLs|unknown scheme$|bad port$)/, {
    ...mute(unsendable),
    isVague: true
  }]
])

/**
 * Recognizes a status as people write it: `HTTP 503`, `503 Service Unavailable`, `Request failed: 503`,
 * `The service returned 503`.
 */
const inStatus: Look = (error) => statusIn(messageOf(error), statuses)

/** Recognizes a status in a message. The first matching pattern is used. */
export const statusIn = (message: string, patterns: ReadonlyArray<RegExp>): Recognized | undefined => {
  const status = patterns.flatMap((pattern) => pattern.exec(message)?.[1] ?? []).at(0)
  return status === undefined ? undefined : ofStatus(Number(status))
}

const phrases =
  "Bad Request|Unauthorized|Payment Required|Forbidden|Not Found|Method Not Allowed|Not Acceptable|Request Time-?out|Conflict|Gone|Payload Too Large|Content Too Large|Unsupported Media Type|Unprocessable (?:Entity|Content)|Too Many Requests|Internal Server Error|Not Implemented|Bad Gateway|Service Unavailable|Gateway Time-?out"

// "404 of 500" does not contain a status.
const end = "\\b(?=\\)?(?:$|[:,.;)]|\\s+(?:from|for|on|at|when|while|error|response)\\b|\\s+\\())"

const statuses = [
  new RegExp(
    `\\bHTTP(?:/\\d(?:\\.\\d)?)?(?: error)?(?: status)?(?: code)?!?[ :]{1,3}(?:status: ?)?\\(?([45]\\d\\d)${end}`,
    "i"
  ),
  new RegExp(`\\bstatus(?: ?code)?(?: of| was|:|=)? ?\\(?([45]\\d\\d)${end}`, "i"),
  new RegExp(`\\b(?:error|failed|responded|response)(?: with)?(?: a| an)?[ :]{1,3}\\(?([45]\\d\\d)${end}`, "i"),
  new RegExp(
    `\\b(?:server|service|api|endpoint|gateway|backend|upstream|host|provider|request|fetch)\\b.{0,30}? (?:returned|answered|replied|responded|gave|sent)(?: back)?(?: with)?(?: an?)?(?: error)?(?: status)?(?: code)? ([45]\\d\\d)${end}`,
    "i"
  ),
  new RegExp(`\\b([45]\\d\\d)\\)?:? (?:${phrases})\\b`, "i")
]

/**
 * Recognizes whole sentences of libraries about servers and connections. Single words are not enough: a message
 * about bookings may contain any of them.
 */
const ofLibraries = inMessage([
  [/(?:^|: )(?:Internal Server Error|Bad Gateway|Service Unavailable|Gateway Time-?out)\.?$/i, failing],
  [
    /(?:^|: )Too Many Requests(?:\.?$|,? (?:please )?(?:try|retry))|\brate limit (?:exceeded|reached|hit)\b|^rate limited\.?$/i,
    tooOften
  ],
  [
    /\b(ECONNREFUSED|ECONNRESET|EPIPE|ENOTFOUND|EAI_AGAIN|EHOSTUNREACH|ENETUNREACH|UND_ERR_SOCKET)\b|\bnet::ERR_/,
    mute(lost)
  ],
  [
    /^(?:the )?(?:database |redis |web ?)?(?:connection|socket|channel|pool|client|target page, context or browser)(?: to [\w .:-]{1,60})?(?: is| was| has been| got)?(?: unexpectedly)? (?:already )?(?:closed|lost|reset|terminated|dropped|broken|destroyed)(?: (?:unexpectedly|before|by|and|while)\b.*)?\.?$/i,
    lost
  ],
  [
    /^lost connection to\b|^no response (?:was )?(?:received )?from (?:the )?(?:server|service|upstream|host|api|backend)\b/i,
    lost
  ],
  [
    /^(?:socket hang up|network error|network response was not ok|stream has been aborted|client has encountered a connection error|can't add new command when connection)/i,
    mute(lost)
  ],
  [
    /^(?:the |this )?(?:request|operation|call|query)? ?(?:was |has been )?(?:aborted|cancell?ed)\.?$|^all fibers interrupted/i,
    mute(aborted)
  ],
  [
    /^(?:the |this )?(?:(?:request|operation|connection|query|call|command|promise|task|fetch|socket) )?(?:has |have )?timed out\b|\btimed out after \d+ ?ms\b|\bETIMEDOUT\b|\btime-?out (?:expired|exceeded|error)\b|\btime-?out of \w+ exceeded|\b(?:request|query|read|connect(?:ion)?|socket|gateway|statement|heartbeat)(?: read)? time-?out\b/i,
    late
  ],
  [
    /\bdeadlock (?:found|detected)\b|\block wait timeout exceeded\b|\bdatabase (?:table )?is locked\b|\bcould not serialize access\b/i,
    mute(database.busy)
  ]
])

/** Recognizes the message of `JSON.parse` in an error of another class. */
const ofJson: Look = (error) => {
  const message = messageOf(error)
  return /\bUnexpected (?:token|end of JSON)|\bin JSON at position \d/.test(message)
    ? mute(syntaxOf(message))
    : undefined
}

/** Recognizes an error by its message alone. A message never proves that nothing was sent: anyone may write one. */
export const inWords: Look = (error) => {
  for (const look of [ofClients, inStatus, ofJson, ofLibraries]) {
    const recognized = look(error)
    if (recognized !== undefined) return { ...unproven(recognized), isWorded: true }
  }
  return undefined
}
