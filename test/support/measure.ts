/** Returns the CPU time of `runs` runs in microseconds. */
export const timed = (run: () => unknown, runs = 1): number => {
  const before = process.cpuUsage()
  for (let i = 0; i < runs; i++) run()
  const { system, user } = process.cpuUsage(before)
  return user + system
}

export const median = (values: ReadonlyArray<number>): number =>
  values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)]!
