const all = process.env["FALLIBLE_RUNS"] === "all"

/**
 * How often a law runs: as often as given in `pnpm test:long`, and where mutants are tried; otherwise a quarter of that.
 *
 * @param share which part of that runs otherwise, for laws that take long; default: 4, a quarter
 */
export const runs = (max: number, share = 4): number => all ? max : max / share

/**
 * How many cases of a rare kind a sample must have: as many as given where a law runs in full. A smaller sample varies more,
 * so a twentieth is enough there.
 */
export const cases = (min: number): number => all ? min : min / 20
