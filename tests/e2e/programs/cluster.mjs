// A primary and three workers, each with an event of its own, sent by an engine that each opened itself.

import cluster from "node:cluster";
import { API_KEY, loadForge } from "../lib/forge.mjs";

const forge = loadForge().createForge({ apiKey: API_KEY, backendUrl: process.argv[2] });
forge.enqueueEvent({ type: "note", pid: process.pid, primary: cluster.isPrimary });
if (cluster.isPrimary) for (let left = 3; left > 0; left -= 1) cluster.fork();
else cluster.worker.disconnect();
