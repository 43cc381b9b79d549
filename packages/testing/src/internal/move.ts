/** A move of a script, if it can be played. The compiler keeps a script to moves; a program without types does not. */
export const playable = <Move extends object>(move: Move): Move => {
  const isPromise = move instanceof Promise
  if (typeof move === "object" && move !== null && !isPromise) return move
  // If it is rejected later, nobody else listens.
  if (isPromise) void Promise.prototype.then.call(move, undefined, () => {})
  throw new TypeError(
    `The script returned ${isPromise ? "a promise" : typeof move}: return a reply, or an Effect of one.`
  )
}
