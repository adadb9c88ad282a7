// Hands in one event and ends in the way that its first argument names; the second is the backend.

import { API_KEY, loadForge } from "../lib/forge.mjs";

const [how, backendUrl] = process.argv.slice(2);
const forge = loadForge().createForge({ apiKey: API_KEY, backendUrl });
forge.enqueueEvent({ type: "note", how });

const ways = {
  /** Nothing left to do. */
  natural() {},
  exit: () => process.exit(0),
  "exit-code": () => process.exit(7),
  throws() {
    throw new Error("the program fails");
  },
  /** As the documentation says. */
  sigterm() {
    process.once("SIGTERM", async () => {
      await forge.shutdown(1_500);
      process.exit(0);
    });
    waitForSignal();
  },
  /** No handler: the signal ends the process as it would without us. */
  "sigterm-bare": waitForSignal,
  shutdown: () => forge.shutdown(1_500).then((lost) => console.log(JSON.stringify({ lost }))),
};

function waitForSignal() {
  setInterval(() => {}, 1_000);
  process.send("ready");
}

ways[how]();
