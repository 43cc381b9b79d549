/** Returns a text without what the model thought before it, which some servers leave in it. */
export const withoutThought = (text: string): string => {
  const [, tag] = /^<(think|thinking)>/.exec(text) ?? []
  const end = tag === undefined ? -1 : text.indexOf(`</${tag}>`)
  return end < 0 ? text : text.slice(end + `</${tag}>`.length).trim()
}
