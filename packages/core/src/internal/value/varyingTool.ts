/*
 * Whether the result of a tool may change by itself, with time or by chance, as its name and its description say: the status
 * of a job, a sensor, a coin.
 */

/** True if a tool's words say that the same call may give another result. */
export const mayVary = (name: string, description = ""): boolean =>
  varying.test(
    `${name.replaceAll(/([a-z])([A-Z])/g, "$1 $2").replaceAll(/[^a-zA-Z]+/g, " ")} ${description.slice(0, 500)}`
  )

const varying = new RegExp(
  `\\b(?:${
    [
      "coins?|dice|die|rolls?|flips?|toss(?:es)?|throws?|random(?:ly)?|draws?|shuffles?|chance|guess(?:es)?|generates?|samples?",
      "status|states?|progress|polls?|waits?|sleeps?|pauses?|delays?|monitors?|watch(?:es)?|checks?|pings?|health|ready|yet",
      "jobs?|builds?|deploy(?:s|ment)?|tests?|queues?|inbox|sensors?|readings?|measures?|balance|clock|now|latest|live|refresh(?:es)?|next"
    ].join("|")
  })\\b`,
  "i"
)
