// What an ordinary request pays, in nanoseconds of CPU time: the look that finds nothing to do, and all of the middleware (the look,
// and the response's four functions until it has ended), on a response of node:http and on one of Express. With and without run in
// processes of their own, by turns: our functions stand on Express's prototype, where they would meet both.

import { fork } from "node:child_process";
import { IncomingMessage, ServerResponse } from "node:http";
import { createRequire } from "node:module";
import { Socket } from "node:net";
import { fileURLToPath } from "node:url";
import glance from "../../../bindings/node/lib/glance.js";
import { loadForge } from "../../../tests/e2e/lib/forge.mjs";

const CALLS = 2_000;
const ROUNDS = 101;
const [side] = process.argv.slice(2);
if (side === undefined) await compare();
else answer(works(side === "ours"));

/** What is measured, by name. */
function works(ours) {
  const express = createRequire(new URL("../../../tests/e2e/package.json", import.meta.url))("express");
  const middleware = ours
    ? loadForge().createForge({ apiKey: "ffk_bench_key", publicUrl: "https://api.example.com", backendUrl: "http://127.0.0.1:9" }).middleware()
    : (_req, _res, next) => next();
  const rawHeaders = [
    ["Host", "api.example.com"], ["Connection", "keep-alive"], ["User-Agent", "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/140.0 Safari/537.36"],
    ["Accept", "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"], ["Accept-Encoding", "gzip, deflate, br, zstd"], ["Accept-Language", "en-US,en;q=0.9"],
    ["Referer", "https://www.example.com/some/page"], ["Cookie", "session=0123456789abcdef0123456789abcdef; theme=dark"], ["Sec-Fetch-Mode", "cors"], ["Sec-Fetch-Site", "same-origin"],
    ["X-Request-Id", "b5f0c9c2-0f0e-4b62-9d0b-0c3a6f1f2a11"], ["Cache-Control", "no-cache"],
  ].flat();
  const socket = new Socket();
  let count = 0;
  const url = () => `/v1/items/${(count = (count + 1) % 50_000)}?sort=price`;
  const message = () => {
    const req = new IncomingMessage(socket);
    Object.assign(req, { method: "GET", url: url(), rawHeaders });
    return [req, new ServerResponse(req)];
  };
  const handler = (_req, res) => res.end("{}");
  const app = express();
  app.use(middleware, handler);
  const look = new glance.Glance({});
  return {
    "the look, 12 header lines": ours ? () => look.passes(url(), rawHeaders) : url,
    "the middleware on node:http": () => {
      const [req, res] = message();
      middleware(req, res, () => handler(req, res));
    },
    "the middleware on Express": () => app(...message()),
  };
}

/** Answers each name with the nanoseconds of one call. */
function answer(works) {
  process.on("message", (what) => {
    const before = process.cpuUsage();
    for (let at = 0; at < CALLS; at += 1) works[what]();
    const { user, system } = process.cpuUsage(before);
    process.send(((user + system) * 1000) / CALLS);
  });
  process.send(Object.keys(works));
}

async function compare() {
  const said = (child) => new Promise((resolve) => child.once("message", resolve));
  const start = (side) => fork(fileURLToPath(import.meta.url), [side], { env: { ...process.env, NODE_ENV: "production" } });
  const [ours, bare] = [start("ours"), start("bare")];
  const [names] = await Promise.all([said(ours), said(bare)]);
  const ask = (child, what) => {
    const answer = said(child);
    child.send(what);
    return answer;
  };
  const rank = (values, part) => values.toSorted((x, y) => x - y)[Math.floor(values.length * part)];
  for (const what of names) {
    const [a, b, differences] = [[], [], []];
    for (let round = -20; round < ROUNDS; round += 1) {
      const [one, other] = [await ask(ours, what), await ask(bare, what)];
      if (round < 0) continue;
      a.push(one);
      b.push(other);
      differences.push(one - other);
    }
    console.log(`${what}: ${rank(differences, 0.5).toFixed(0)} ns (median of ${ROUNDS} pairs), ${(rank(a, 0.1) - rank(b, 0.1)).toFixed(0)} ns (between the fastest tenths)`);
  }
  for (const child of [ours, bare]) child.kill();
}
