/** Returns the fields of a failure without its evidence, which tests of evidence check. */
export const withoutEvidence = (failure: object): object =>
  Object.fromEntries(Object.entries(failure).filter(([key]) => key !== "evidence"))
