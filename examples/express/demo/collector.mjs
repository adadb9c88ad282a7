// forge-collector as the demo's backend: a project of its own, a database in a temporary folder, a free port.

import { execFile, spawn } from "node:child_process";
import { existsSync, statSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";

/** Starts a collector; `{ url, apiKey, close() }`. It is built by `make demo`. */
export async function startCollector() {
  // The newest of the two: an old release build must not stand for what was just built.
  const [program] = ["release", "debug"]
    .map((profile) => fileURLToPath(new URL(`../../../collector/target/${profile}/forge-collector`, import.meta.url)))
    .filter((file) => existsSync(file))
    .sort((a, b) => statSync(b).mtimeMs - statSync(a).mtimeMs);
  if (!program) throw new Error("forge-collector is not built; `make demo` builds it, or: cd collector && cargo build");
  const cwd = await mkdtemp(`${tmpdir()}/forge-demo-`);
  const added = await promisify(execFile)(program, ["project", "add", "demo"], { cwd });
  const apiKey = /ffk_[\w-]{43}/.exec(added.stdout)[0];
  const port = await freePort();
  const server = spawn(program, ["serve", "--listen", `127.0.0.1:${port}`], { cwd, stdio: "ignore" });
  const ended = new Promise((resolve) => server.once("exit", resolve));
  const url = `http://127.0.0.1:${port}`;
  await untilReady(url);
  return {
    url,
    apiKey,
    async close() {
      server.kill("SIGTERM");
      await ended;
      await rm(cwd, { recursive: true, force: true });
    },
  };
}

async function untilReady(url) {
  for (let turn = 0; turn < 200; turn += 1) {
    const answer = await fetch(`${url}/healthz`).catch(() => null);
    if (answer?.ok) return;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  throw new Error("the collector did not become ready within 10 s");
}

async function freePort() {
  const probe = createServer();
  await new Promise((resolve) => probe.listen(0, "127.0.0.1", resolve));
  const { port } = probe.address();
  await new Promise((resolve) => probe.close(resolve));
  return port;
}
