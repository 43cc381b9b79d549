/**
 * Tells prose around an object from code, markup and structure.
 *
 * "I will call it with {…}" is skipped. `rm({…})`, `x = {…}` and `a, {…}` are not, because a text that
 * touches the object may be a part of it.
 */

// Possible structure, markup and code are not prose, and neither are invisible characters.
const foreign =
  /["{}[\]<>=\\\u0000-\u0008\u000b\u000c\u000e-\u001f]|[\p{L}\p{N}_]\(|^[ \t]*[a-z_$][\w.$-]*[ \t]*:[ \t]*\S/mu
const ellipsis = /\.{3}|…/
// Words that continue before or after a value in some language.
const joiningBefore = /(?:^|\s)(?:and|await|else|false|if|in|new|none|not|null|or|return|true|typeof|yield)[ \t]*$/
const joiningAfter =
  /^(?:and|as|else|false|for|if|in|instanceof|is (?:not|none|true|false)|none|not|null|or|true|unless|AND|OR|IF|FOR|None|True|False)\b/

// Emphasis marks may touch the object, but a name that is emphasized may not.
const separatedBefore = /(?:[\s:：]|(?:^|[\s:：])[*_`]+)$/
const unfinished = /(?:[([,+\-/&|%$@#^~]|[^\p{L}]\?|(?:^|[^*])\*)$/u
const containsWord = /[\p{L}\p{Extended_Pictographic}`]|^\s*\d+[.)]\s*$/u
// A single word may be the function that takes the object, or the key that it belongs to. Keys begin in
// lower case, and labels usually do not.
const endsWithName = /(?:^|\n)[ \t]*(?:-[ \t]*)?([\p{Ll}_$][\p{L}\p{N}.$_-]*)(?:[ \t]*:\s*|[ \t]+)$/u
const namesOfArguments = new Set(["arguments", "args", "parameters", "params", "input", "json"])

const separatedAfter = /^(?:\s|$|[.!?;`*_]+(?:\s|$))/
const beginsWithWord = /^(?:[\p{L}\p{Extended_Pictographic}`*_(—–]|\d+[.)]\s)/u

// Alone, this word would mean that there are no arguments.
const beginsWithNull = /^\s*(?:null|None)\b/

const isProse = (text: string): boolean => !foreign.test(text) && count(text, "(") === count(text, ")")

/** True if the text before an object is plainly prose. */
export const isProseBefore = (text: string): boolean => {
  const name = endsWithName.exec(text)?.[1]
  return isProse(text) && !beginsWithNull.test(text) && containsWord.test(text) && separatedBefore.test(text) &&
    !unfinished.test(text.trimEnd()) &&
    !joiningBefore.test(text) && (name === undefined || namesOfArguments.has(name))
}

/** True if the text after an object is plainly prose. */
export const isProseAfter = (text: string): boolean => {
  const words = text.replace(/^[.!?;`*_]+/, "").trimStart()
  return isProse(text) && !ellipsis.test(text) && separatedAfter.test(text) && !joiningAfter.test(words) &&
    (words === "" || beginsWithWord.test(words))
}

const count = (text: string, part: string): number => text.split(part).length - 1
