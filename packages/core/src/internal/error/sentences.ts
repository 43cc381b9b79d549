/*
 * What an error amounts to by its sentence, where it has nothing else. Libraries write some of them, and people the rest.
 *
 * A sentence that says why something is refused counts as a refusal: "Room A1 is booked." So nothing else must: no status, no lost
 * connection, no doubt, and nothing that gives no reason.
 */
import { isA } from "../stranger.ts"
import { syntaxOf } from "./format.ts"
import { type Look, type Recognized, transient, unproven, unrecognized } from "./kind.ts"
import { textAt } from "./look.ts"
import { kindOfStatus, ofStatus, tooOften } from "./status.ts"
import { aborted, late, lost, unsendable } from "./system.ts"

// Another realm has classes of its own.
const isError = (error: object): boolean => isA(Error)(error) || textAt(error, "stack") !== undefined

const messageOf = (error: object): string => isError(error) ? textAt(error, "message") ?? "" : ""

/** A wrapped error may have only its message. */
const inMessage = (table: ReadonlyArray<readonly [message: RegExp, Recognized]>): Look => (error) => {
  const message = messageOf(error)
  return message === "" ? undefined : table.find(([pattern]) => pattern.test(message))?.[1]
}

const mute = (found: Recognized): Recognized => ({ ...found, isMute: true })

/** The words of fetch: in Node, in browsers, and in Deno. */
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

/** How people write a status: `HTTP 503`, `503 Service Unavailable`, `Request failed: 503`, `The service returned 503`. */
const inStatus: Look = (error) => {
  const message = messageOf(error)
  const status = statuses.flatMap((pattern) => pattern.exec(message)?.[1] ?? []).at(0)
  return status === undefined ? undefined : ofStatus(Number(status))
}

const phrases =
  "Bad Request|Unauthorized|Payment Required|Forbidden|Not Found|Method Not Allowed|Not Acceptable|Request Time-?out|Conflict|Gone|Payload Too Large|Content Too Large|Unsupported Media Type|Unprocessable (?:Entity|Content)|Too Many Requests|Internal Server Error|Not Implemented|Bad Gateway|Service Unavailable|Gateway Time-?out"

// 404 of 500 is not a status.
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

const failed: Recognized = { kind: kindOfStatus(503), sentence: "The service failed.", isVague: true }

const conflicted: Recognized = { kind: transient("server_error"), sentence: "The database is busy." }

const unexplained: Recognized = {
  kind: unrecognized,
  sentence: "The tool failed without saying why.",
  isVague: true
}

/** Whole sentences that libraries write, of servers and connections alone. A sentence about bookings may have any of their words. */
const ofLibraries = inMessage([
  [/(?:^|: )(?:Internal Server Error|Bad Gateway|Service Unavailable|Gateway Time-?out)\.?$/i, failed],
  [/(?:^|: )Too Many Requests\b|\brate limit (?:exceeded|reached|hit)\b|^rate limited\.?$/i, tooOften],
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
    mute(conflicted)
  ]
])

/** Who could not do that has done nothing. */
const looked = "find|locate|identify|recogni[sz]e|resolve|parse|read|understand|validate|verify|match|determine|be"

/** What begins a reason. */
const reasons = "because|since|more|less|fewer|than|until|without|twice|already"

/** What people write who wrap an error, and lose it. */
const ofPeople = inMessage([
  [
    /: (?:fetch failed|failed to fetch|socket hang up|network error|connection (?:was )?(?:reset|refused|closed|lost|aborted|terminated)(?: by [\w -]{1,20})?)\.?$/i,
    lost
  ],
  [
    /^(?:could(?: not|n't)|cannot|can't|failed to|unable to) (?:connect to|reach|contact) (?:the )?(?:[\w-]+ ){0,2}(?:server|service|api|host|backend|database|gateway|network|upstream|broker|provider)\b/i,
    lost
  ],
  [/(?:^|: )(?:[\w-]+ ){0,3}(?:time-?out|timed out)[.!]?$/i, late],
  [
    /^(?:an? )?(?:unexpected|unknown|internal) error\b|^something went wrong\b|^an error (?:has )?occurred\b/i,
    unexplained
  ],
  [
    /^(?:an? |the )?(?:[\w-]+ ){0,2}(?:server|service|gateway|network|system|database|api|backend|upstream|host|provider) (?:error|failure)[.!]?$/i,
    failed
  ],
  // In doubt.
  [
    /\b(?:may|might|could) (?:already |well )?have (?:gone through|taken effect|succeeded|worked|happened|completed|been (?:made|done|charged|paid|booked|sent|created|processed|completed|executed|applied|placed))\b/i,
    unexplained
  ],
  [
    /\b(?:did|could|can|was|were|has|have)(?: not|n't) (?:be |been )?confirm(?:ed)?\b|\bunconfirmed\b|\b(?:unknown|unclear|uncertain|not (?:sure|certain|clear|known)) (?:whether|if)\b/i,
    unexplained
  ],
  // Without a reason: "Could not book the room.", "Payment failed".
  [
    new RegExp(
      `^(?:(?:sorry|error)[,:]? )?(?:we |i |it )?(?:could(?: not|n't)|failed to|(?:was |were )?(?:unable|not able) to) (?!(?:${looked})\\b)[a-z]+(?: (?!(?:${reasons})\\b)[\\w'#-]+){0,6}(?:: ?)?[.!]?$`,
      "i"
    ),
    unexplained
  ],
  [
    /^(?:the |your )?(?!(?:[\w-]+ ){0,2}(?:validation|verification|check|precondition|login|sign-?in|auth\w*) )(?:[\w-]+ ){1,3}(?:has |have )?failed(?:: ?)?[.!]?$/i,
    unexplained
  ]
])

/** The text that `JSON.parse` throws, in an error of another class. */
const ofJson: Look = (error) => {
  const message = messageOf(error)
  return /\bUnexpected (?:token|end of JSON)|\bin JSON at position \d/.test(message)
    ? mute(syntaxOf(message))
    : undefined
}

/** By its sentence alone. Anybody may write any of them: it does not prove that nothing was sent. */
export const inWords: Look = (error) => {
  for (const look of [ofClients, inStatus, ofJson, ofLibraries, ofPeople]) {
    const found = look(error)
    if (found !== undefined) return unproven(found)
  }
  return undefined
}
