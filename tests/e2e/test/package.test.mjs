// The package where its native part cannot be had: bundled, on an edge runtime, or with the file missing.
// Importing never throws, and a middleware that cannot work lets every request pass.

import assert from "node:assert/strict";
import { execFileSync, spawnSync } from "node:child_process";
import { cpSync, mkdtempSync, mkdirSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { after, test } from "node:test";
import { runInNewContext } from "node:vm";
import { build } from "esbuild";
import { bindingFolder, withoutForge } from "../lib/forge.mjs";

const skip = withoutForge && "E2E_WITHOUT_FORGE=1";
const base = mkdtempSync(join(tmpdir(), "forge-x402-e2e-"));
after(() => rmSync(base, { recursive: true, force: true }));

/** A program that installs the middleware and says whether the request went on to the next handler. */
const PROGRAM = `
import { createForge } from "forge-x402";
const handler = createForge({ apiKey: "k", publicUrl: "https://api.example.com" }).middleware();
const nothing = () => {};
const request = { method: "GET", url: "/", originalUrl: "/", headers: {}, rawHeaders: [], socket: {} };
const response = { writeHead: nothing, write: nothing, end: nothing, flushHeaders: nothing, once: nothing, on: nothing, setHeader: nothing, getHeader: nothing, statusCode: 200 };
handler(request, response, () => console.log("passed on"));
`;

function project(name, { link }) {
  const folder = join(base, name);
  mkdirSync(join(folder, "node_modules"), { recursive: true });
  if (link) symlinkSync(resolve(bindingFolder), join(folder, "node_modules", "forge-x402"), "dir");
  writeFileSync(join(folder, "program.mjs"), PROGRAM);
  return folder;
}

for (const format of ["esm", "cjs"]) {
  test(`P31 bundled by esbuild for node as ${format}: it builds without settings and the bundle runs`, { skip }, async () => {
    const folder = project(`bundle-${format}`, { link: true });
    const outfile = join(base, `alone-${format}`, format === "esm" ? "bundle.mjs" : "bundle.cjs");
    await build({ entryPoints: [join(folder, "program.mjs")], bundle: true, platform: "node", format, outfile, logLevel: "silent" });
    assert.match(execFileSync(process.execPath, [outfile], { encoding: "utf8" }), /passed on/);
  });
}

test("P31 bundled for an edge runtime: no Node module and no Node global is needed, every request passes", { skip }, async () => {
  const folder = project("edge", { link: true });
  const entryPoints = [join(folder, "program.mjs")];
  const { outputFiles } = await build({ entryPoints, bundle: true, platform: "browser", conditions: ["edge-light", "worker"], format: "iife", write: false, logLevel: "silent" });
  const lines = [];
  const print = (line) => lines.push(line);
  runInNewContext(outputFiles[0].text, { console: { log: print, warn: print, error: print } });
  assert.equal(lines.length, 2, lines.join("\n"));
  assert.match(lines[0], /^forge-x402: .* all traffic passes unchanged/);
  assert.equal(lines[1], "passed on");
});

test("P29 without the native file: one clear message, every request passes", { skip }, () => {
  const folder = project("no-native", { link: false });
  const copy = join(folder, "node_modules", "forge-x402");
  cpSync(bindingFolder, copy, { recursive: true, filter: (path) => !path.endsWith(".node") && !/[\\/](node_modules|target|src|__test__)([\\/]|$)/.test(path.slice(bindingFolder.length)) });
  const { status, stdout, stderr } = spawnSync(process.execPath, [join(folder, "program.mjs")], { encoding: "utf8" });
  assert.equal(status, 0, stderr);
  assert.match(stdout, /passed on/);
  const lines = stderr.trim().split("\n").filter((line) => !line.startsWith("(Use `node --trace-warnings"));
  assert.equal(lines.length, 1, stderr);
  assert.match(lines[0], /forge-x402: the addon for this platform did not load, so all traffic passes unchanged: Cannot find module/);
});
