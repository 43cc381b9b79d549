const all = process.env["FALLIBLE_RUNS"] === "all"

/**
 * How often a law runs: as often as given in `pnpm test:long`, and where mutants are tried; otherwise a tenth of that.
 *
 * @param share which part of that runs otherwise; default: 10, a tenth
 */
export const runs = (max: number, share = 10): number => all ? max : max / share

/**
 * How many cases of a rare kind a sample must have: as many as given where a law runs in full. A smaller sample varies more,
 * so a fiftieth is enough there.
 */
export const cases = (min: number): number => all ? min : min / 50
