// Twenty worker threads that come and go; the addon is loaded in them only. Prints how many threads the process has had in the end.

import { readdirSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { isMainThread, Worker, workerData } from "node:worker_threads";

const threads = () => (process.platform === "linux" ? readdirSync("/proc/self/task").length : 0);

if (isMainThread) {
  const before = threads();
  for (let at = 0; at < 20; at += 1) {
    await new Promise((resolve, reject) => {
      const worker = new Worker(fileURLToPath(import.meta.url), { workerData: { at, backendUrl: process.argv[2] }, argv: process.argv.slice(2) });
      worker.once("error", reject).once("exit", resolve);
      // Half of them are ended from outside, in the middle of things.
      if (at % 2 === 1) worker.once("message", () => worker.terminate());
    });
  }
  await new Promise((resolve) => setTimeout(resolve, 300));
  console.log(JSON.stringify({ before, after: threads() }));
} else {
  const { API_KEY, loadForge } = await import("../lib/forge.mjs");
  const { parentPort } = await import("node:worker_threads");
  const forge = loadForge().createForge({ apiKey: API_KEY, backendUrl: workerData.backendUrl });
  forge.enqueueEvent({ type: "note", worker: workerData.at });
  if (workerData.at % 2 === 1) {
    setInterval(() => {}, 1_000);
    parentPort.postMessage("ready");
  }
}
