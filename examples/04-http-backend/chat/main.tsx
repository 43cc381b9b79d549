/**
 * The script of the page with `useChat`.
 *
 * The address of the page names its conversation, in the fragment, which no browser sends. So it is the same after a reload, and
 * in a second tab.
 */
import { createRoot } from "react-dom/client"
import { Chat } from "./Chat.tsx"
import * as server from "./server.ts"

const begin = async () => {
  const id = await server.begin()
  history.replaceState(undefined, "", `#${id}`)
  return { id, messages: [] }
}

/** Opens the conversation of the address, or begins one. */
const open = async () => {
  const id = location.hash.slice(1)
  if (!/^[\w-]+$/.test(id)) return { ...await begin(), notice: "" }
  try {
    return { id, messages: await server.messagesOf(id), notice: "" }
  } catch (error) {
    if (!(error instanceof server.Refused) || error.code !== "unknown_conversation") throw error
    return { ...await begin(), notice: "Your last conversation is no longer there. This is a new one." }
  }
}

const page = createRoot(document.getElementById("page")!)
page.render(<p role="status">Loading …</p>)
const show = () =>
  open().then(
    ({ id, messages, notice }) => page.render(<Chat key={id} id={id} messages={messages} notice={notice} />),
    () => page.render(<p role="alert">The support desk cannot be reached. Load the page again.</p>)
  )
addEventListener("hashchange", show)
await show()
