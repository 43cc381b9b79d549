/** Another process, or a worker thread, that sends a POST. `node child.mjs URL [exit code]` */
import { isMainThread, parentPort, workerData } from "node:worker_threads"

const send = async (url) => {
  const response = await fetch(url, { method: "POST", body: "{}" })
  await response.text()
  return response.status
}

if (isMainThread) {
  await send(process.argv[2])
  process.exitCode = Number(process.argv[3] ?? 0)
} else if (workerData?.url === undefined) {
  parentPort.on("message", async (url) => parentPort.postMessage(await send(url)))
} else parentPort.postMessage(await send(workerData.url))
