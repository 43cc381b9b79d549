/** How often a law runs: as often as given in `pnpm test:long`, and where mutants are tried; otherwise a quarter of that. */
export const runs = (max: number): number => process.env["FALLIBLE_RUNS"] === "all" ? max : max / 4
