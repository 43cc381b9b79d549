/*
 * Recognizes an error by its message alone. Anyone may write a sentence, so it proves nothing: it says whether waiting helps.
 *
 * Two readers use the same patterns. `inWords` reads the message of any error that has no known shape. `ofProse` reads a
 * message that developers wrote in place of an error that they caught: "Could not book the room.", "Payment failed due to a
 * timeout". A message that gives a reason ("Room A1 is booked.") reads as a refusal, and any other message as a failure.
 */
import { database } from "./databaseErrors.ts"
import { syntaxOf } from "./formatErrors.ts"
import { failingService, ofStatus, tooOften } from "./httpStatus.ts"
import { type Look, type Recognized, unproven, unrecognizedKind } from "./kind.ts"
import { isA, textAt } from "./reading.ts"
import { abortedRequest, late, lost, unsendable } from "./systemErrors.ts"

// An error from a different realm, such as a VM context, is not an instance of this realm's `Error`.
const isError = (error: object): boolean => isA(Error)(error) || textAt(error, "stack") !== undefined

const messageOf = (error: object): string => isError(error) ? textAt(error, "message") ?? "" : ""

type Table = ReadonlyArray<readonly [pattern: RegExp, Recognized]>

const firstOf = (table: Table, text: string): Recognized | undefined =>
  text === "" ? undefined : table.find(([pattern]) => pattern.test(text))?.[1]

const mute = (recognized: Recognized): Recognized => ({ ...recognized, isMute: true })

/** Recognizes the messages of `fetch` in Node, in browsers, and in Deno. */
export const ofClients: Look = (error) => firstOf(clients, messageOf(error))

const clients: Table = [
  [
    /^(fetch failed|terminated|Failed to fetch|Load failed|NetworkError when attempting.*|other side closed)$|^error sending request for url/,
    mute(lost)
  ],
  [/^(Invalid URL(?:$| protocol)|Failed to parse URL from |Only absolute URLs|unknown scheme$|bad port$)/, {
    ...mute(unsendable),
    isVague: true
  }]
]

/** Recognizes an error by its message alone. */
export const inWords: Look = (error) => {
  const message = messageOf(error)
  const recognized = firstOf(clients, message) ?? statusIn(message) ?? jsonIn(message) ?? firstOf(passing, message)
  return recognized === undefined ? undefined : { ...unproven(recognized), isWorded: true }
}

/** Recognizes the message of `JSON.parse` in an error of another class. */
const jsonIn = (message: string): Recognized | undefined =>
  /\bUnexpected (?:token|end of JSON)|\bin JSON at position \d/.test(message) ? mute(syntaxOf(message)) : undefined

// -----------------------------------------------------------------------------
// A status
// -----------------------------------------------------------------------------

/**
 * Recognizes a status as people write it: `HTTP 503`, `503 Service Unavailable`, `Request failed: 503`,
 * `The service returned 503`.
 */
const statusIn = (message: string, patterns = statuses): Recognized | undefined => {
  const status = patterns.flatMap((pattern) => pattern.exec(message)?.[1] ?? []).at(0)
  return status === undefined ? undefined : ofStatus(Number(status))
}

const status = "([45]\\d\\d)"
// "404 of 500" does not contain a status.
const end = "\\b(?=\\)?(?:$|[:,.;)]|\\s+(?:from|for|on|at|when|while|error|response)\\b|\\s+\\())"

const pattern = (...sources: ReadonlyArray<string>): RegExp => new RegExp(sources.join("|"), "i")

const statuses = [
  `\\bHTTP(?:/\\d(?:\\.\\d)?)?(?: error)?(?: status)?(?: code)?!?[ :]{1,3}(?:status: ?)?\\(?${status}${end}`,
  `\\bstatus(?: ?code)?(?: of| was|:|=)? ?\\(?${status}${end}`,
  `\\b(?:error|failed|responded|response)(?: with)?(?: a| an)?[ :]{1,3}\\(?${status}${end}`,
  `\\b(?:server|service|api|endpoint|gateway|backend|upstream|host|provider|request|fetch)\\b.{0,30}? (?:returned|answered|replied|responded|gave|sent)(?: back)?(?: with)?(?: an?)?(?: error)?(?: status)?(?: code)? ${status}${end}`,
  `\\b${status}\\)?:? (?:Bad |Unauth|Payment R|Forbid|Not (?:Found|All|Acc|Impl)|Method N|Request Time|Conflict|Gone|(?:Payload|Content) T|Unsupp|Unproc|Too Many R|Internal S|Service U|Gateway T)`
].map((source) => pattern(source))

// -----------------------------------------------------------------------------
// Troubles that pass
// -----------------------------------------------------------------------------

const not = "(?:n't| not)"
const service = "(?:service|server|system|api|provider|gateway|broker|backend|host|upstream|database|bank)"

/**
 * Sentences of libraries and developers about servers and connections. Single words are not enough: a message about bookings
 * may contain any of them.
 */
const passing: Table = [
  [
    /\brate limit (?:exceeded|reached|hit)\b|^rate limited\.?$|(?:^|: )Too Many Requests(?:\.?$|,? (?:please )?(?:try|retry))/i,
    tooOften
  ],
  [
    pattern(
      "\\b(?:ECONNREFUSED|ECONNRESET|EPIPE|ENOTFOUND|EAI_AGAIN|EHOSTUNREACH|ENETUNREACH|UND_ERR_SOCKET)\\b|\\bnet::ERR_",
      "^(?:socket hang up|network(?: error)?$|fetch failed$|failed to fetch$|network response was not ok|stream has been aborted|client has encountered a connection error|can't add new command when connection)"
    ),
    mute(lost)
  ],
  [
    pattern(
      "^(?:the )?(?:database |redis |web ?)?(?:connection|socket|channel|pool|client|target page, context or browser)(?: to [\\w .:-]{1,60})?(?: is| was| has been| got)?(?: unexpectedly)? (?:already )?(?:closed|lost|reset|refused|terminated|dropped|broken|destroyed|interrupted)(?: (?:unexpectedly|before|by|and|while)\\b.*)?\\.?$",
      `^lost (?:connection|contact)\\b|\\b(?:connection|network|socket|stream|response|upload|transfer)(?: (?:is|was|has been))?(?: unexpectedly)? (?:reset|interrupted|lost|aborted|closed|error)$|\\bpremature (?:close|end)\\b|\\bbroken pipe\\b|^(?:could${not}|cannot|can't|failed to|unable to) (?:connect to|reach|contact) |^no response(?:$| received)|^no response (?:was )?(?:received )?from (?:the )?${service}\\b`
    ),
    lost
  ],
  [
    pattern(
      "^(?:the |this )?(?:request|operation|call|query)? ?(?:was |has been )?(?:aborted|cancell?ed)\\.?$|^all fibers interrupted"
    ),
    mute(abortedRequest)
  ],
  [
    pattern(
      "^(?:the |this )?(?:(?:request|operation|connection|query|call|command|promise|task|fetch|socket) )?(?:has |have )?timed out\\b",
      "\\btimed out after \\d+ ?ms\\b|\\bETIMEDOUT\\b|\\btime-?out (?:expired|exceeded|error)\\b|\\btime-?out of \\w+ exceeded",
      "\\b(?:request|query|read|connect(?:ion)?|socket|gateway|statement|heartbeat)(?: read)? time-?out\\b",
      "^(?:[\\w-]+ ){0,3}time-?out(?:$| (?:while|of|waiting|after)\\b)|\\btimed out(?: (?:after|while|waiting)\\b|$)|\\btook too long\\b|\\bdeadline exceeded"
    ),
    late
  ],
  [
    pattern(
      "(?:^|: )(?:Internal Server Error|Bad Gateway|Service Unavailable|Gateway Time-?out)\\.?$",
      `^(?:the |our )?(?:[\\w-]+ ){0,3}${service}(?: (?:is|was|ran))?(?: currently| temporarily)? (?:unavailable|down|busy|overloaded|not available|out of memory|error$)|^out of memory$|^temporarily un`
    ),
    failingService
  ],
  [
    pattern(
      "\\bdeadlock (?:found|detected)\\b|\\block wait timeout exceeded\\b|\\bdatabase (?:table )?is locked\\b|\\bcould not serialize access\\b"
    ),
    mute(database.busy)
  ]
]

// -----------------------------------------------------------------------------
// Prose
// -----------------------------------------------------------------------------

/** Recognizes a message that gives no reason. Returns `undefined` for a message that gives a reason. */
export const ofProse = (message: string): Recognized | undefined => {
  const text = bare(message)
  const recognized = text === "" ? unexplained : proseIn(text)
  if (recognized !== undefined) return recognized
  // "Could not book room A1: internal error", "Payment failed due to a timeout".
  const clause = /(?:: | - |\b(?:due to|because of|because|since) )(?:an? |the )?(.*)$/i.exec(text)?.[1]
  return clause === undefined ? undefined : proseIn(clause)
}

/** Removes words at either end that say nothing: class names, "Sorry,", "Please try again". */
const bare = (message: string): string =>
  message
    .slice(0, 500)
    .replaceAll("’", "'")
    .replace(/\s+/g, " ")
    .trim()
    .replace(/^(?:\w*(?:Error|Exception): |(?:sorry|oops)[,!.]* )/i, "")
    .replace(/(?:^|[ .,;:!?-]+)(?:please |kindly )?(?:try (?:it )?again|retry|contact (?:us|support|our))\b.*$/i, "")
    .replace(/[ .,;:!?…-]+$/, "")

const proseIn = (text: string): Recognized | undefined => {
  const recognized = statusIn(text, bareStatuses) ?? firstOf(prose, text)
  return recognized === undefined ? undefined : unproven(recognized)
}

const bareStatuses = [/\b(?:got|received|error code:?) (?:an? )?([45]\d\d)\b/i, /: (5\d\d)$/, /^\(?([45]\d\d)\)?$/]

const unexplained: Recognized = { kind: unrecognizedKind, sentence: "It failed without saying why." }

const trouble = "(?:error|failure|exception|problem|issue)"
const now = "(?: (?:right now|now|yet|at this time|at the moment|successfully))?"
const lookup =
  "(?:find|locate|identify|recogni[sz]e|resolve|parse|read|understand|validate|verify|match|be|ship|cancel|accept|log|access|open)"

// The first matching pattern is used. There are few, and they need not be complete: they only choose the advice.
const prose: Table = [
  ...passing,
  [
    pattern(
      // No information, or an error without saying which.
      "^(?:undefined|null|failed|unknown|aborted|[a-z_]+_(?:failed|error))$|\\bsomething went wrong\\b|^not implemented$",
      `^(?:[\\w'/-]+ ){0,3}${trouble}(?: occurred)?(?: (?:while|during|when|\\w+ing)\\b.*| \\d+)?$`,
      `\\breturned an? ${trouble}\\b|^(?:there was|we encountered) an? ${trouble}\\b|\\bunexpected ${trouble}\\b`,
      "\\b(?:max(?:imum)?|too many) retries\\b|^(?:giving|gave) up\\b|\\b(?:rolled back|exit code \\d)",
      // Words of programs. A reason is about the user's world.
      `\\b(?:response(?! from)|(?:response|reply) from (?:the )?(?:[\\w-]+ )?${service}|upstream|certificate|webhook|unhandled|invariant|segfault|crash(?:ed)?|interrupted|killed|transaction aborted|deadlock$|gone away|disk full|no space left|name resolution|circuit|broker|HTML|(?:is )?down$|(?:did|does|is)${not} respond\\w*|un(?:available|successful)$|not successful$|ended \\w+ly$)`,
      // Doubt about the effect.
      "\\b(?:may|might|could) (?:already |well |not )?(?:have (?:gone|taken|succeeded|worked|happened|completed|been (?!misspel)\\w+(?:ed|ent|id|ne|de)\\b)|be incomplete)|\\bmay or may not\\b|\\bdo(?:n't| not) know (?:if|whether)\\b",
      "\\b(?:unknown|unclear|uncertain|not (?:sure|certain|clear|known)) (?:whether|if)\\b|\\b(?:status|state) (?:is )?unknown\\b",
      `\\bconfirmation\\b|\\bid returned$|\\b(?:did|could|can)${not} (?:be )?confirm(?:ed)?\\b|^(?!.*mail).*\\bnot (?:been )?confirmed$|\\b(?:pending|being processed|in progress)$`,
      "\\b(?:charged|paid|sent|created|saved|succeeded)\\b.*\\bbut\\b|^only (?:\\d+ of \\d+|part)\\b|^partial(?:ly)?\\b",
      // Without a reason: "Could not book the room", "Payment failed", "The order could not be placed".
      `^(?:(?:we|we're|we are|i|it) )?(?:could${not}|failed to|(?:was |were )?unable to|cannot|can't) (?!${lookup}\\b)[a-z]+(?: (?!(?:because|since|more|less|than|until|without|twice|already|due|but|past)\\b)[^\\s:;,]+){0,6}$`,
      `(?:^[\\w-]+|\\b(?:could|was|were|is|has|have|did|does))${not}(?: yet)?(?: be| been)? (?:complet|deliver|commit|issu|schedul|process|creat|plac|sent|sav|submit|execut|perform|finish|go|gone|load|succeed|work|success|updat|charg|book)\\w*(?: through)?${now}$`,
      "^(?:the |your )?(?!(?:[\\w-]+ ){0,2}(?:validation|verification|check|login|auth\\w*) )(?:[^ ]*[^ :] ){1,4}(?:has |have )?failed(?: (?:for|while|during|at|after)\\b.*)?$"
    ),
    unexplained
  ]
]
