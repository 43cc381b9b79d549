import type * as Journal from "@fallible/core/Journal"

/** Makes a journal that stores nothing and records the names of its steps. */
export const namingJournal = () => {
  const names: Array<string> = []
  const journal: Journal.Journal = {
    step: (step, effect) => {
      names.push(step.name)
      return effect
    }
  }
  return { journal, names }
}
