// What an event to send adds to the natural end of a Node process (case P24): a process that opens an engine and ends, with and
// without one event, against a backend on loopback. Medians of 15 by turns; ends by itself: node benches/exit.mjs

import { execFile } from "node:child_process";
import { createServer } from "node:http";
import { promisify } from "node:util";

const run = promisify(execFile);
const backend = createServer((request, response) => {
  request.resume().on("end", () => response.setHeader("content-type", "application/json").end('{"accepted":1}'));
});
await new Promise((listening) => backend.listen(0, "127.0.0.1", listening));
const library = new URL("../bindings/node/index.mjs", import.meta.url);
const program = (event) => `
import { createForge } from ${JSON.stringify(library.href)};
const options = { apiKey: "ffk_example_key", backendUrl: "http://127.0.0.1:${backend.address().port}", strict: true };
const forge = createForge(options);
${event ? `forge.engine.enqueueEvent('{"type":"note"}');` : ""}`;

async function ended(event) {
  const begun = performance.now();
  await run(process.execPath, ["--input-type=module", "-e", program(event)]);
  return performance.now() - begun;
}

const median = (values) => values.sort((a, b) => a - b)[values.length >> 1];
const times = { without: [], with: [] };
for (let round = 0; round < 15; round += 1) {
  times.without.push(await ended(false));
  times.with.push(await ended(true));
}
const [without, withOne] = [median(times.without), median(times.with)];
console.log(`without an event ${without.toFixed(1)} ms, with one ${withOne.toFixed(1)} ms, added ${(withOne - without).toFixed(1)} ms`);
backend.close();
backend.closeAllConnections();
