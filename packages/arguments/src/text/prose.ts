/**
 * Words around an object: what is plainly prose is told from code, markup and structure.
 *
 * "I will call it with {…}" is passed over; `rm({…})`, `x = {…}` and `a, {…}` are not, for what touches the object may be a part of it.
 */

// What may be structure, markup or code is no prose, and neither is what cannot be seen.
const foreign =
  /["{}[\]<>=\\\u0000-\u0008\u000b\u000c\u000e-\u001f]|[\p{L}\p{N}_]\(|^[ \t]*[a-z_$][\w.$-]*[ \t]*:[ \t]*\S/mu
const elided = /\.{3}|…/
// Words that a language goes on with before or after a value.
const joiningBefore = /(?:^|\s)(?:and|await|else|false|if|in|new|none|not|null|or|return|true|typeof|yield)[ \t]*$/
const joiningAfter =
  /^(?:and|as|else|false|for|if|in|instanceof|is (?:not|none|true|false)|none|not|null|or|true|unless|AND|OR|IF|FOR|None|True|False)\b/

// Emphasis may touch the object, and no name that is emphasized.
const besideBefore = /(?:[\s:：]|(?:^|[\s:：])[*_`]+)$/
const unfinished = /(?:[([,+\-/&|%$@#^~]|[^\p{L}]\?|(?:^|[^*])\*)$/u
const worded = /[\p{L}\p{Extended_Pictographic}`]|^\s*\d+[.)]\s*$/u
// One word alone may be the function that the object goes to, or the key that it belongs to. Keys begin in lower case, and labels as a rule do not.
const named = /(?:^|\n)[ \t]*(?:-[ \t]*)?([\p{Ll}_$][\p{L}\p{N}.$_-]*)(?:[ \t]*:\s*|[ \t]+)$/u
const namesOfAll = new Set(["arguments", "args", "parameters", "params", "input", "json"])

const besideAfter = /^(?:\s|$|[.!?;`*_]+(?:\s|$))/
const wordedAfter = /^(?:[\p{L}\p{Extended_Pictographic}`*_(—–]|\d+[.)]\s)/u

// So far, it would be no arguments.
const nothingFirst = /^\s*(?:null|None)\b/

const isProse = (text: string): boolean => !foreign.test(text) && count(text, "(") === count(text, ")")

/** Are these words before an object, and nothing else? */
export const isProseBefore = (text: string): boolean => {
  const name = named.exec(text)?.[1]
  return isProse(text) && !nothingFirst.test(text) && worded.test(text) && besideBefore.test(text) &&
    !unfinished.test(text.trimEnd()) &&
    !joiningBefore.test(text) && (name === undefined || namesOfAll.has(name))
}

/** Are these words after an object, and nothing else? */
export const isProseAfter = (text: string): boolean => {
  const words = text.replace(/^[.!?;`*_]+/, "").trimStart()
  return isProse(text) && !elided.test(text) && besideAfter.test(text) && !joiningAfter.test(words) &&
    (words === "" || wordedAfter.test(words))
}

const count = (text: string, part: string): number => text.split(part).length - 1
