/**
 * Draws a run as a sequence diagram: the picture of the README, `docs/charged-once.svg`. Run it with `pnpm picture`: it
 * plays the README's first program, and draws what went over the wires.
 */
import { Effect } from "effect"
import { writeFileSync } from "node:fs"
import { join } from "node:path"
import { root } from "./program.ts"
import { type Place, type ReadmeRun, readmeRun, type Sent } from "./readmeRun.ts"

export const pictureFile = join(root, "docs/charged-once.svg")

const lanes: Readonly<Record<Place, { readonly x: number; readonly name: string }>> = {
  model: { x: 80, name: "Model" },
  agent: { x: 480, name: "Fallible" },
  bank: { x: 780, name: "Bank" }
}
const width = 870
const top = 92
const step = 42

export const picture = ({ charges, sent }: ReadmeRun): string => {
  const bottom = top + sent.length * step
  const total = Array.from(charges.values(), ({ euros }) => `${euros} euros`).join(" + ")
  const last = `The bank has charged ${charges.size === 1 ? "once" : `${charges.size} times`}: ${total}.`
  const text = sent.map((one) => `${one.from}${one.to === undefined ? "" : ` to ${one.to}`}: ${one.text}`).join("; ")
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${
    bottom + 58
  }" role="img" aria-labelledby="t d">
<title id="t">A payment whose answer was lost, charged once</title>
<desc id="d">${escaped(`${text}. ${last}`)}</desc>
<style>
  svg { --ink: #1f2328; --soft: #656d76; --line: #d0d7de; --bad: #b42318; --good: #116329; --paper: #ffffff; }
  @media (prefers-color-scheme: dark) {
    svg { --ink: #e6edf3; --soft: #9198a1; --line: #3d444d; --bad: #ff8a80; --good: #57c478; --paper: #0d1117; }
  }
  text { font: 14px ui-sans-serif, system-ui, sans-serif; fill: var(--ink); text-anchor: middle; }
  .name { font-weight: 600; font-size: 15px; }
  .lane { stroke: var(--line); }
  .sent { stroke: var(--soft); stroke-width: 1.5; fill: none; }
  .lost { stroke: var(--bad); stroke-dasharray: 5 4; }
  .bad { fill: var(--bad); }
  .good { fill: var(--good); font-weight: 600; }
  .over { paint-order: stroke; stroke: var(--paper); stroke-width: 6px; stroke-linejoin: round; }
  rect { fill: var(--paper); }
</style>
<rect width="${width}" height="${bottom + 58}" rx="10"/>
${
    Object.values(lanes).map(({ name, x }) =>
      `<text class="name" x="${x}" y="40">${name}</text><line class="lane" x1="${x}" x2="${x}" y1="54" y2="${bottom}"/>`
    ).join("\n")
  }
${sent.map((one, index) => drawn(one, top + index * step)).join("\n")}
<text class="good" x="${width / 2}" y="${bottom + 32}">${escaped(last)}</text>
</svg>
`
}

const drawn = ({ from, isLost, text, to }: Sent, y: number): string => {
  const { x } = lanes[from]
  if (to === undefined) return `<text class="over name" x="${x}" y="${y}">${escaped(text)}</text>`
  const way = lanes[to].x > x ? 1 : -1
  const end = isLost ? (x + lanes[to].x) / 2 : lanes[to].x - way * 3
  const head = isLost
    ? `<path class="sent lost" d="M${end - 6} ${y - 6}l12 12m0 -12l-12 12" style="stroke-dasharray: none"/>`
    : `<path class="sent" d="M${end - way * 8} ${y - 5}L${end} ${y}l${-way * 8} 5"/>`
  const line = `<line class="sent${isLost ? " lost" : ""}" x1="${x}" x2="${end}" y1="${y}" y2="${y}"/>`
  const middle = (x + lanes[to].x) / 2
  return `${line}${head}<text class="over${isLost ? " bad" : ""}" x="${middle}" y="${y - 10}">${escaped(text)}</text>`
}

const escaped = (text: string): string => text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;")

if (import.meta.main) writeFileSync(pictureFile, picture(await Effect.runPromise(readmeRun)))
