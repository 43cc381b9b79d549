/**
 * Returns a move of a script, or throws a `TypeError` if it cannot be played. The compiler checks moves,
 * but programs without types skip that check.
 */
export const playable = <Move extends object>(move: Move): Move => {
  const isPromise = move instanceof Promise
  if (typeof move === "object" && move !== null && !isPromise) return move
  // A later rejection has no other handler.
  if (isPromise) void Promise.prototype.then.call(move, undefined, () => {})
  throw new TypeError(
    `The script returned ${isPromise ? "a promise" : typeof move}: return a reply, or an Effect of one.`
  )
}
