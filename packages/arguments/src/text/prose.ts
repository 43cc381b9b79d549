/**
 * Distinguishes prose around an object from code, markup and structure.
 *
 * The words of "I will call it with {…}" are prose. The text before the object in `rm({…})`, `x = {…}` and
 * `a, {…}` is not, because it may belong to the object.
 */

// Signs of structure, markup or code, and control characters. Text with any of them is not prose.
const foreign = /["{}[\]<>=\\\0-\x08\v\f\x0e-\x1f]|[\p{L}\p{N}_]\(|^[ \t]*[a-z_$][\w.$-]*[ \t]*:[ \t]*\S/mu
const ellipsis = /\.{3}|…/
// Words that join a value to what is before or after it, in some language.
const joiningBefore = /(?:^|\s)(?:and|await|else|false|if|in|new|none|not|null|or|return|true|typeof|yield)[ \t]*$/
const joiningAfter =
  /^(?:and|as|else|false|for|if|in|instanceof|is (?:not|none|true|false)|none|not|null|or|true|unless|AND|OR|IF|FOR|None|True|False)\b/

// Emphasis marks may be attached to the object. An emphasized name must be separated from it.
const separatedBefore = /(?:[\s:：]|(?:^|[\s:：])[*_`]+)$/
const unfinished = /(?:[([,+\-/&|%$@#^~]|[^\p{L}]\?|(?:^|[^*])\*)$/u
const containsWord = /[\p{L}\p{Extended_Pictographic}`]|^\s*\d+[.)]\s*$/u
// A single word may be a function that takes the object, or a key whose value is the object. Keys begin with
// a lower-case letter, and labels usually do not.
const endsWithName = /(?:^|\n)[ \t]*(?:-[ \t]*)?([\p{Ll}_$][\p{L}\p{N}.$_-]*)(?:[ \t]*:\s*|[ \t]+)$/u
const nameOfArguments = /^(?:arguments|args|parameters|params|input|json)$/

const separatedAfter = /^(?:\s|$|[.!?;`*_]+(?:\s|$))/
const beginsWithWord = /^(?:[\p{L}\p{Extended_Pictographic}`*_(—–]|\d+[.)]\s)/u

// Without the object, this word would mean that there are no arguments.
const beginsWithNull = /^\s*(?:null|None)\b/

const isProse = (text: string): boolean => !foreign.test(text) && count(text, "(") === count(text, ")")

/** True if the text before an object is plainly prose. */
export const isProseBefore = (text: string): boolean => {
  const name = endsWithName.exec(text)?.[1]
  return isProse(text) && !beginsWithNull.test(text) && containsWord.test(text) && separatedBefore.test(text) &&
    !unfinished.test(text.trimEnd()) &&
    !joiningBefore.test(text) && (name === undefined || nameOfArguments.test(name))
}

/** True if the text after an object is plainly prose. */
export const isProseAfter = (text: string): boolean => {
  const words = text.replace(/^[.!?;`*_]+/, "").trimStart()
  return isProse(text) && !ellipsis.test(text) && separatedAfter.test(text) && !joiningAfter.test(words) &&
    (words === "" || beginsWithWord.test(words))
}

const count = (text: string, part: string): number => text.split(part).length - 1
