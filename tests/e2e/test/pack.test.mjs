// The package as it is published: `npm pack`, installed into an empty folder, used from ESM, CommonJS and TypeScript.

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { cpSync, mkdtempSync, mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { fileURLToPath } from "node:url";
import { bindingFolder } from "../lib/forge.mjs";

const base = mkdtempSync(join(tmpdir(), "forge-x402-pack-"));
after(() => rmSync(base, { recursive: true, force: true }));
const run = (command, args, options = {}) => execFileSync(command, args, { cwd: base, encoding: "utf8", stdio: ["ignore", "pipe", "pipe"], ...options });

const [{ filename, files }] = JSON.parse(run("npm", ["pack", "--json", "--pack-destination", base], { cwd: bindingFolder }));
writeFileSync(join(base, "package.json"), '{ "name": "clean", "private": true }');
run("npm", ["install", "--offline", "--no-audit", "--no-fund", join(base, filename)]);

const AGENT = `
console.log(decide(null, { withinBudget: true }).action, parseProof("x402 5Kd3").tx_hash);
`;

const USE = `
const forge = createForge({ apiKey: "ffk_example_key", publicUrl: "https://api.example.com" });
console.log(forge.verifyId(forge.mintId()), typeof forge.middleware(), forge.stats().minted);
`;

test("the tarball holds what is needed and nothing else", () => {
  const paths = files.map(({ path }) => path);
  for (const path of ["index.js", "index.mjs", "index.d.ts", "index.d.mts", "client.mjs", "client.d.ts", "client.d.mts", "open402.mjs", "open402.d.ts", "open402.d.mts", "README.md", "package.json"]) assert.ok(paths.includes(path), path);
  assert.ok(paths.some((path) => /^prebuilt\/forge_x402\..*\.node$/.test(path)), "no addon: is it built?");
  assert.deepEqual(paths.filter((path) => !/^(index\.(js|mjs|d\.ts|d\.mts)|(client|open402)\.(mjs|d\.ts|d\.mts)|README\.md|package\.json|LICENSE.*|lib\/[a-z0-9-]+\.js|prebuilt\/[\w.-]+\.node)$/.test(path)), []);
});

test("no dependency and no install script comes along", () => {
  const { dependencies, optionalDependencies, scripts } = JSON.parse(readFileSync(join(base, "node_modules", "forge-x402", "package.json")));
  assert.deepEqual([dependencies, optionalDependencies, scripts.install, scripts.postinstall], [undefined, undefined, undefined, undefined]);
});

for (const [format, file, load] of [
  ["ESM", "program.mjs", 'import { createForge } from "forge-x402";'],
  ["ESM, default import", "default.mjs", 'import createForge from "forge-x402";'],
  ["CommonJS", "program.cjs", 'const { createForge } = require("forge-x402");'],
]) {
  test(`${format}: it loads and works`, () => {
    writeFileSync(join(base, file), load + USE);
    assert.equal(run(process.execPath, [file]), "valid function 1\n");
  });
}

for (const [format, file, load] of [
  ["ESM", "agent.mjs", 'import { decide } from "forge-x402/client"; import { parseProof } from "forge-x402/open402";'],
  ["CommonJS", "agent.cjs", 'const { decide } = require("forge-x402/client"); const { parseProof } = require("forge-x402/open402");'],
]) {
  test(`${format}: the agent's half and open402 load and work`, () => {
    writeFileSync(join(base, file), load + AGENT);
    assert.equal(run(process.execPath, [file]), "pay 5Kd3\n");
  });
}

for (const [module, file] of [["nodenext", "typed.mts"], ["nodenext", "typed.cts"], ["preserve", "typed.ts"]]) {
  test(`TypeScript (${module}, ${file}): tsc --noEmit accepts every adapter on its real framework`, () => {
    const folder = join(base, `types-${file}`);
    mkdirSync(join(folder, "node_modules"), { recursive: true });
    cpSync(join(base, "node_modules", "forge-x402"), join(folder, "node_modules", "forge-x402"), { recursive: true });
    writeFileSync(join(folder, "package.json"), "{}");
    writeFileSync(join(folder, file), readFileSync(new URL("../programs/typed.ts", import.meta.url)));
    const own = fileURLToPath(new URL("../node_modules", import.meta.url));
    for (const name of ["@types", "express", "fastify", "hono"]) symlinkSync(join(own, name), join(folder, "node_modules", name), "dir");
    writeFileSync(
      join(folder, "tsconfig.json"),
      JSON.stringify({
        compilerOptions: { strict: true, noEmit: true, module, target: "es2022", skipLibCheck: true, types: ["node"] },
        files: [file],
      }),
    );
    run(process.execPath, [join(own, "typescript", "bin", "tsc"), "-p", folder]);
  });
}
