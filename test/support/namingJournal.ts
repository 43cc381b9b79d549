import type { Journal } from "@fallible/core"

/** A journal that only notes the names of its steps. */
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
