// What an ordinary request pays: the addon's call alone, and the whole middleware (call, and the patched response), in nanoseconds.

import { IncomingMessage, ServerResponse } from "node:http";
import { Socket } from "node:net";
import wire from "../../../bindings/node/lib/wire.js";
import { loadForge } from "../../../tests/e2e/lib/forge.mjs";

const { requestHead, showRequest } = wire;
const forge = loadForge().createForge({ apiKey: "ffk_bench_key", publicUrl: "https://api.example.com" });
const rawHeaders = [
  ["Host", "api.example.com"], ["Connection", "keep-alive"], ["User-Agent", "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/140.0 Safari/537.36"],
  ["Accept", "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"], ["Accept-Encoding", "gzip, deflate, br, zstd"], ["Accept-Language", "en-US,en;q=0.9"],
  ["Referer", "https://www.example.com/some/page"], ["Cookie", "session=0123456789abcdef0123456789abcdef; theme=dark"], ["Sec-Fetch-Mode", "cors"], ["Sec-Fetch-Site", "same-origin"],
  ["X-Request-Id", "b5f0c9c2-0f0e-4b62-9d0b-0c3a6f1f2a11"], ["Cache-Control", "no-cache"],
].flat();
const middleware = forge.middleware();
const next = () => {};

const call = () => showRequest(requestHead("GET", "/v1/items/42?sort=price", "203.0.113.7", rawHeaders), (bytes, length) => forge.engine.onRequest(bytes, length));
const socket = new Socket();
const message = () => {
  const req = new IncomingMessage(socket);
  Object.assign(req, { method: "GET", url: "/v1/items/42?sort=price", rawHeaders });
  return [req, new ServerResponse(req)];
};
const bare = () => message();
const whole = () => middleware(...message(), next);

/** Of 101 short samples the median and the fastest tenth, which is nearest to a machine with nothing else to do. */
function nanoseconds(work) {
  const samples = [];
  for (let round = 0; round < 101; round += 1) {
    const started = process.hrtime.bigint();
    for (let at = 0; at < 5_000; at += 1) work();
    samples.push(Number(process.hrtime.bigint() - started) / 5_000);
  }
  samples.sort((a, b) => a - b);
  return { median: samples[50], quiet: samples[10] };
}

const show = (what, { median, quiet }) => console.log(`${what}: ${median.toFixed(0)} ns (median), ${quiet.toFixed(0)} ns (fastest tenth)`);
for (const work of [call, bare, whole]) nanoseconds(work);
show("the addon's call with 12 header lines", nanoseconds(call));
const [made, passed] = [nanoseconds(bare), nanoseconds(whole)];
show("the whole middleware on an ordinary request", { median: passed.median - made.median, quiet: passed.quiet - made.quiet });
