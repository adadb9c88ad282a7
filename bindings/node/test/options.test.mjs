// One list of options: options.json, index.d.ts, the table of docs/node.md and the engine say the same.

import assert from "node:assert/strict";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import ForgeModule from "../index.js";

const text = (path) => readFileSync(new URL(path, import.meta.url), "utf8");
const options = JSON.parse(text("../../../options.json"));
const camel = (name) => name.replace(/_([a-z])/g, (_, letter) => letter.toUpperCase());
const require = createRequire(import.meta.url);
const { forEngine } = require("../lib/options.js");
const { Exchange } = require("../lib/native.js").load();

const TYPES = { string: "string", "string[]": "string[]", boolean: "boolean", integer: "number", openapi: "OpenapiOptions | false", diagnostics: "boolean | DiagnosticsOptions" };

test("index.d.ts has every option, in its order, with its type, text and default", () => {
  const body = /export interface ForgeOptions \{\n([\s\S]*?)\n\}/.exec(text("../index.d.ts"))[1];
  const found = [...body.matchAll(/ {2}\/\*\* (.*?)(?: Default `(.*?)`\.)? \*\/\n {2}(\w+)\?: (.*);/g)].map(([, doc, value, name, type]) => ({ name, type, value: value === undefined ? null : JSON.parse(value), doc }));
  assert.deepEqual(
    found,
    options.map(({ name, type, default: value, doc }) => ({ name: camel(name), type: TYPES[name] ?? TYPES[type] ?? type.split("|").join(" | "), value, doc })),
  );
});

test("docs/node.md has every option, in its order, with its default and text", () => {
  const rows = [...text("../../../docs/node.md").matchAll(/^\| `(\w+)` \| (.*?) \| (.*) \|$/gm)].map(([, name, value, doc]) => ({ name, value: value === "" ? null : JSON.parse(value.slice(1, -1)), doc }));
  assert.deepEqual(rows, options.map(({ name, default: value, doc }) => ({ name: camel(name), value, doc })));
});

test("the engine takes every option at its default, in camelCase and in snake_case", () => {
  for (const spell of [camel, (name) => name]) {
    const given = Object.fromEntries(options.filter(({ default: value }) => value !== null).map(({ name, default: value }) => [spell(name), value]));
    const forge = ForgeModule.createForge({ ...given, apiKey: "ffk_example_key", strict: true });
    assert.deepEqual(forge.engine.faults(), []);
  }
});

test("both spellings at once, an unknown option and a wrong type are refused in strict mode, each with its name", () => {
  const open = (given) => () => ForgeModule.createForge({ apiKey: "ffk_example_key", strict: true, ...given });
  assert.throws(open({ publicUrl: "https://a.example", public_url: "https://a.example" }), /public_url is given in two spellings/);
  assert.throws(open({ diagnostics: { minAgeMs: 1, min_age_ms: 1 } }), /diagnostics\.min_age_ms is given in two spellings/);
  assert.throws(open({ feedbak: true }), /feedbak/);
  assert.throws(open({ maxWaits: "2" }), /max_waits/);
});

test("D23 without strict a fault turns everything off and is told once", () => {
  const forge = ForgeModule.createForge({ apiKey: "ffk_example_key", feedbak: true });
  assert.equal(forge.engine.faults().length, 1);
  assert.equal(forge.engine.onRequest(Buffer.from("GET\n/feedback\n"), 14, new Exchange()), null);
});

test("an OpenAPI document may be given as an object", () => {
  assert.deepEqual(forEngine({ openapi: { document: { openapi: "3.1.0" }, paths: ["/o.json"] } }), { openapi: { document: '{"openapi":"3.1.0"}', paths: ["/o.json"] } });
});

test("P36 a key file makes the ids of the key itself, less one line end; any other stray byte is a fault", (context) => {
  const folder = mkdtempSync(join(tmpdir(), "forge-x402-key-"));
  context.after(() => rmSync(folder, { recursive: true }));
  const [key, file] = ["ffk_test_0123456789abcdef", join(folder, "key")];
  const id = ForgeModule.createForge({ apiKey: key, strict: true }).engine.mintId();
  for (const [bytes, good] of [[key, true], [`${key}\n`, true], [`${key}\r\n`, true], [`${key}\n\n`, false], [`${key}\0`, false], [` ${key}`, false], [Buffer.from(`${key}\xff`, "latin1"), false], ["", false]]) {
    writeFileSync(file, bytes);
    if (good) assert.equal(ForgeModule.createForge({ apiKeyFile: file, strict: true }).engine.verifyId(id), "valid");
    else assert.throws(() => ForgeModule.createForge({ apiKeyFile: file, strict: true }), /api_key_file/);
  }
  for (const apiKey of [`${key}\n`, `${key}\0`, ` ${key}`, "", 7]) assert.throws(() => ForgeModule.createForge({ apiKey, strict: true }), /api_key: /);
});
