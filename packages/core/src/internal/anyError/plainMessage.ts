/*
 * Messages that developers write in place of an error that they caught: "Could not book the room.", "Payment
 * failed due to a timeout".
 *
 * A message that gives a reason ("Room A1 is booked.") reads as a rejection: the model is shown the sentence, and decides.
 * It proves nothing about what was done. Other messages read as a failure, whose advice is to find out. The tests take
 * their messages from `test/support/sentences.txt`.
 */
import { type Recognized, unproven, unrecognized } from "./errorKind.ts"
import { failing } from "./httpStatus.ts"
import { statusIn } from "./librarySentences.ts"
import { late, lost } from "./systemErrors.ts"

/** Recognizes a message that gives no reason. Returns `undefined` for a message that gives a reason. */
export const ofProse = (message: string): Recognized | undefined => {
  const text = bare(message)
  const recognized = text === "" ? unexplained : inTable(text)
  if (recognized !== undefined) return recognized
  // "Could not book room A1: internal error", "Payment failed due to a timeout".
  const clause = /(?:: | - |\b(?:due to|because of|because|since) )(?:an? |the )?(.*)$/i.exec(text)?.[1]
  return clause === undefined ? undefined : inTable(clause)
}

/** Removes words at either end that say nothing: class names, "Sorry,", "Please try again". */
const bare = (message: string): string =>
  message
    .slice(0, 500)
    .replaceAll("’", "'")
    .replace(/\s+/g, " ")
    .trim()
    .replace(/^(?:[A-Z]\w{0,60})?(?:Error|Exception): /, "")
    .replace(/^(?:(?:sorry|oops)[,!.]*|error:) /i, "")
    .replace(
      /(?:^|[ .,;:!?-]+)(?:please |kindly )?(?:try (?:it )?again|retry|contact (?:us|support|our|your|customer)|check back)\b.*$/i,
      ""
    )
    .replace(/[ .,;:!?…-]+$/, "")

const inTable = (text: string): Recognized | undefined => {
  const status = statusIn(text, statuses)
  // A message never proves that nothing was sent.
  return status === undefined
    ? table.find(([patterns]) => patterns.some((pattern) => pattern.test(text)))?.[1]
    : unproven(status)
}

// -----------------------------------------------------------------------------
// Words
// -----------------------------------------------------------------------------

const service = "(?:service|server|system|api|provider|gateway|broker|backend|host|upstream|database|bank)"
const link = "(?:connection|network|socket|stream|response|target|page|browser|(?:file )?(?:upload|transfer))"
const cut =
  "(?:refused|reset|interrupted|unreachable|lost|aborted|stalled|crashed|closed(?: unexpectedly)?|ended (?:unexpectedly|prematurely)|error)"
const trouble = "(?:error|failure|exception)"
const not = "(?:n't| not)"
const now = "(?: (?:right now|now|yet|at this time|at the moment|completely|successfully))?"

const deed = "(?:payment|booking|order|transaction|refund|charge|reservation|transfer)"
const act = "(?:process|complete|create|save|finish|perform|execute|submit|place|book|send|confirm)"
const done =
  "(?:completed?|processed|created|placed|sent|delivered|issued|committed|saved|submitted|executed|performed|finish(?:ed)?|made|go through|gone through|load|succeed|work|successful|updated|charged|booked)"
const changed =
  "(?:made|done|charged|paid|booked|sent|created|processed|executed|applied|placed|saved|captured|initiated|uploaded)"

/** Verbs of lookups and checks. A tool that could not "find" or "validate" something says what is wrong with the request. */
const lookupVerb =
  "(?:find|locate|identify|recogni[sz]e|resolve|parse|read|understand|validate|verify|match|determine|be|ship|cancel|accept|meet|log|sign|access|open)"
const lookupParticiple = "(?:verified|validated|recogni[sz]ed|identified|located|matched|accepted|parsed|resolved)"
const check = "(?:validation|verification|check|precondition|login|sign-?in|captcha|3-D Secure|auth\\w*)"
/** Words that begin a reason. */
const reason = "(?:because|since|more|less|fewer|than|until|without|twice|already|due|but|past)"

// -----------------------------------------------------------------------------
// Sentences
// -----------------------------------------------------------------------------

const unexplained: Recognized = { kind: unrecognized, sentence: "The tool failed without saying why." }

const patterns = (...sources: ReadonlyArray<string>): ReadonlyArray<RegExp> =>
  sources.map((source) => new RegExp(source, "i"))

const statuses = patterns(
  "\\b(?:got|received) (?:an? )?([45]\\d\\d)\\b",
  "\\berror code:? ([45]\\d\\d)\\b",
  ": (5\\d\\d)$",
  "^\\(?([45]\\d\\d)\\)?$"
)

const table: ReadonlyArray<readonly [ReadonlyArray<RegExp>, Recognized]> = [
  [
    patterns(
      `^(?:the )?(?:[\\w-]+ ){0,2}${link}(?: (?:is|was|has been|to [\\w.-]+))?(?: unexpectedly)? ${cut}(?: (?:by|while|before|during|after)\\b.*)?$`,
      "^lost (?:connection|contact)\\b|\\b(?:closed|refused|reset|dropped) the connection$|\\bhas gone away$",
      "\\bpremature (?:close|end)\\b|\\bbroken pipe\\b|^upstream connect error\\b|^temporary failure\\b",
      "^(?:network|no response|fetch failed|failed to fetch|socket hang up|unexpected end of input)$",
      "\\bcertificate (?:has expired|is not|is invalid|expired)\\b|^self-signed certificate",
      `^(?:tls|ssl|i/o|disk i/o|input/output|network|connection|stream) ${trouble}`,
      `^(?:could${not}|cannot|can't|failed to|unable to) (?:connect to|reach|contact) (?:the )?(?:[\\w-]+ ){0,2}${service}\\b`,
      `^(?:an? )?(?:unexpected|invalid|empty|malformed|bad|no) (?:[\\w-]+ ){0,2}(?:response|reply)(?: from (?:the )?(?:[\\w-]+ ){0,2}${service}| received)?$`,
      "^(?:did not receive|never received) (?:an? |any )?(?:response|answer)\\b",
      "^(?:the )?response (?:was |is )?(?:not|empty|missing|invalid|aborted|lost|(?:schema )?validation failed)",
      `\\b${service}\\b.{0,30} (?:did${not} respond|does${not} respond|is${not} responding)`
    ),
    lost
  ],
  [
    patterns(
      "\\btimed out(?: (?:after|while|waiting)\\b.*)?$",
      "^(?:[\\w-]+ ){0,3}time-?out(?: (?:while|of|waiting|after)\\b.*|: .*)?$",
      "\\b(?:request|operation|call|query|answer|response) took too long\\b|\\bdeadline exceeded\\b"
    ),
    late
  ],
  [
    patterns(
      `^(?:the |our )?(?:[\\w-]+ ){0,3}${service}(?: (?:is|was|ran))?(?: currently| temporarily)? (?:unavailable|down|busy|overloaded|not available|not responding|out of memory)\\b`,
      `^(?:an? |the )?(?:[\\w-]+ ){0,2}${service} ${trouble}$`,
      "^temporarily un|^[\\w'. -]{1,40} (?:is|was) (?:currently |temporarily )?down$",
      "^out of memory$|^disk full$|^no space left\\b"
    ),
    failing
  ],
  [
    patterns(
      // No information.
      "^(?:undefined|null|failed|unknown|fatal|todo|crash|segfault|killed|interrupted|aborted|deadlock|[a-z_]+_(?:failed|error))$",
      "^write conflict$|\\bsomething went wrong\\b|^not available right now$|^should never happen$|^not implemented$",
      // An error, without saying which.
      `^(?:[\\w'/-]+ ){0,3}${trouble}(?: occurred)?(?: (?:while|during|when|\\w+ing)\\b.*| \\d+)?$`,
      `^(?:an? )?(?:${trouble}|problem|issue) (?:while|during|with|\\w+ing|occurred)\\b`,
      `^(?:there was|we encountered|encountered) (?:an? )?(?:${trouble}|problem|issue)\\b`,
      `\\breturned an? ${trouble}\\b|\\breturned error\\b|^(?:an? )?(?:unknown|internal) error\\b|\\bwith errors$|^unhandled\\b`,
      "\\bunexpected (?:error|status|answer|reply|result|null|value)\\b|\\binvariant violated\\b|\\bassertion failed\\b",
      // An end, without saying why.
      "\\b(?:job|worker|process|browser|page|session|app|task)\\b.{0,20} (?:crashed|died|exited|killed)\\b|\\bexit code \\d",
      "\\b(?:max(?:imum)?|too many) retries\\b|\\bretry limit\\b|^(?:giving|gave) up\\b|\\bafter \\d+ (?:retries|attempts)\\b",
      "\\btransaction (?:was )?(?:aborted|rolled back)\\b",
      "^(?:[\\w-]+ )?(?:import|batch|operation|run|upload|transfer) (?:was )?(?:aborted|interrupted)\\b",
      // Doubt about the effect.
      `\\b(?:may|might|could) (?:already |well )?have (?:gone through|taken effect|succeeded|worked|happened|been ${changed})\\b`,
      "\\bmay or may not\\b|\\b(?:may|might) (?:not have|be incomplete)\\b|\\bdo(?:n't| not) know (?:if|whether)\\b",
      "\\b(?:unknown|unclear|uncertain|not (?:sure|certain|clear|known)) (?:whether|if)\\b(?! you\\b)",
      "\\b(?:status|state) (?:is )?unknown\\b|^unknown (?:[\\w-]+ )?(?:status|state)$|\\bstatus could not be\\b",
      `\\bcould${not} (?:determine|verify) (?:if|that|whether)\\b|\\b(?:did|could|can)${not} (?:be )?confirm(?:ed)?\\b`,
      `\\b${deed}\\b.{0,30}\\b(?:(?:was|were|has been|been)? ?not (?:been )?confirmed|unconfirmed)\\b`,
      `\\b${deed}\\b.{0,20}\\b(?:is |are )?(?:still )?(?:pending|being processed|in progress)(?: confirmation)?$`,
      "\\bno confirmation\\b|^confirmation (?:missing|was not|not received)|^missing .{0,40}\\b(?:response|confirmation)|\\bmissing from response\\b",
      "\\bdid not (?:contain|return) an? \\w+|^no \\w+ id returned\\b|^expected .{0,40}\\bgot\\b|\\binstead of json\\b",
      "\\b(?:parse|read|find|decode)\\b.{0,40}\\b(?:response|confirmation|body)\\b",
      // Partly done.
      `\\b(?:${changed}|succeeded|clicked)\\b.{0,40}\\bbut\\b.{0,40}\\b(?:failed|could${not}|did${not}|lost|not)\\b`,
      "^(?:[\\w-]+ )?(?:charged|sent|created|saved)\\b|^only (?:\\d+ of \\d+|part)\\b|^partial(?:ly)?\\b|^\\d+ of \\d+ .*failed$",
      // Without a reason: "Could not book the room", "Payment failed", "The order could not be placed".
      `^(?:we |i |it )?(?:could${not}|failed to|(?:was |were )?(?:unable|not able) to) (?!${lookupVerb}\\b)[a-z]+(?: (?!${reason}\\b)[^\\s:;,]+){0,6}$`,
      `^(?:we |we're |i )?(?:cannot|can't|unable to|are unable to) ${act}(?: (?:the|your|this|an?))?(?: [\\w-]+){0,2}${now}$`,
      `\\b(?:could|was|were|is|has|have|did|does)${not}(?: yet)?(?: be| been)? ${done}${now}$`,
      `\\bcould${not} be (?!${lookupParticiple}\\b)[a-z]+ed${now}$`,
      "^(?:the |your )?[\\w-]+(?: [\\w-]+)? (?:not (?:completed|created|sent|successful|saved|processed)|unsuccessful)$",
      `^(?:the |your )?(?!(?:[\\w-]+ ){0,2}${check} )(?:[^ ]*[^ :] ){1,4}(?:has |have )?failed(?: (?:for|while|during)\\b.*| (?:at|after)(?: \\w+)? \\d.*)?$`
    ),
    unexplained
  ]
]
