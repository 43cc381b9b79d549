/**
 * Returns the given move of a script. Throws a `TypeError` if it is not a move. The compiler checks this,
 * too, but not in programs without types.
 *
 * @param wanted what a script returns: "a reply"
 */
export const playable = <Move extends object>(move: Move, wanted: string): Move => {
  const isPromise = move instanceof Promise
  if (typeof move === "object" && move !== null && !isPromise) return move
  // Nothing else handles a later rejection of this promise.
  if (isPromise) void Promise.prototype.then.call(move, undefined, () => {})
  throw new TypeError(
    `The script returned ${isPromise ? "a promise" : typeof move}: return ${wanted}, or an Effect of one.`
  )
}
