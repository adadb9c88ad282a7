// The first look in JavaScript is never wiser than the engine: what it lets pass, the engine has nothing to say to.

import assert from "node:assert/strict";
import { readdirSync } from "node:fs";
import { createRequire } from "node:module";
import { test } from "node:test";
import wire from "../lib/wire.js";
import { bytesOf, folder, read } from "./values.mjs";

const require = createRequire(import.meta.url);
const { Glance } = require("../lib/glance.js");
const { Exchanges } = require("../lib/exchanges.js");
const { Engine, Exchange } = require("../lib/native.js").load();

const KEY = { api_key: "ffk_test_0123456789abcdef", public_url: "https://api.example.com" };
const OPTIONS = [
  {},
  { discovery: true, base_path: "/rate-us", openapi: { paths: ["/spec", "/v2/spec.json"] } },
  { openapi: false, visits: true, backend_url: "http://127.0.0.1:9" },
  { feedback: false, agent_context: "required", diagnostics: true },
  { openapi: { document: "{}" }, agent_context: "off", replay_guard: true },
];
const TARGETS = ["/", "*", "/weather", "/feedback", "/feedback/rate", "/feedback/summary", "/feedbackx", "/rate-us", "/rate-us/rate", "/openapi.json", "/spec", "/v2/spec.json",
  "/.well-known/x402", "/.well-known/forge-feedback.json", "/.well-known/other", "http://api.example.com/feedback", "/FEEDBACK", "/%66eedback", "//feedback"];
const QUERIES = ["", "?", "?city=1", "?feedback_id=x", "?agent_type=x", "?%61gent_type=x", "?b=1&agent_client=c", "?agent_search_query=", "?AGENT_TYPE=x", "?+agent_type=x", "?utm_source=x", "??agent_type=x", "#?agent_type=x"];
const VALUES = ["", "x", "x402 abc", "X402\tabc", " x402 abc", "Bearer x402 abc", "eyJ4NDAyVmVyc2lvbiI6Mn0="];
const NAMES = ["Accept", "PAYMENT-SIGNATURE", "payment-signature", "X-PAYMENT", "x-Payment", "Authorization", "AUTHORIZATION", "Payment-Response", "Sec-Ch-Ua", "Cache-Control", "If-Modified-Since", "User-Agent"];

test("what the look lets pass is nothing to the engine", () => {
  for (const options of OPTIONS) {
    const [engine, glance] = [new Engine(JSON.stringify({ ...KEY, ...options, strict: true })), new Glance({ ...KEY, ...options })];
    let passed = 0;
    for (const path of TARGETS) {
      for (const query of QUERIES) {
        for (const name of NAMES) {
          for (const value of VALUES) {
            for (const method of ["GET", "POST", "OPTIONS"]) {
              const lines = ["Host", "api.example.com", name, value];
              if (!glance.passes(path + query, lines)) continue;
              passed += 1;
              assert.equal(ask(engine, method, path + query, lines), null, `${method} ${path}${query} ${name}: ${value}`);
            }
          }
        }
      }
    }
    assert.ok(options.visits ? passed === 0 : passed > 1_000);
  }
});

test("every request of the conformance cases that begins an exchange is asked about", () => {
  let asked = 0;
  for (const file of readdirSync(folder).filter((name) => name.endsWith(".json") && !["texts.json", "ids.json"].includes(name))) {
    for (const { id, options, request } of read(file)) {
      const known = { ...KEY, ...options };
      const engine = new Engine(JSON.stringify({ ...known, strict: true }));
      const ids = { own_id: engine.mintId() };
      const lines = request.headers.flat().map((part) => bytesOf(part, ids).toString("latin1"));
      if (ask(engine, request.method, request.target, lines) === null) continue;
      asked += 1;
      assert.equal(new Glance(known).passes(request.target, lines), false, `${file} ${id}`);
    }
  }
  assert.ok(asked > 20, `${asked}`);
});

test("an ordinary browser's request passes; with options that the engine refuses nothing does", () => {
  const lines = ["Host", "api.example.com", "Cookie", "session=0123456789", "Sec-Ch-Ua", "\"Chromium\"", "Authorization", "Bearer abc", "Cache-Control", "no-cache"];
  assert.equal(new Glance(KEY).passes("/v1/items/42?sort=price&utm_source=x", lines), true);
  assert.equal(new Glance(KEY).passes("/v1/items/42", [...lines, "Cookie", "x".repeat(17_000)]), false);
  for (const wrong of [{ base_path: "feedback" }, { base_path: null }, { base_path: "/\u00fc" }, { openapi: { paths: "/spec" } }, { openapi: { paths: [1] } }, { visits: "yes" }]) {
    assert.equal(new Glance({ ...KEY, ...wrong }).passes("/v1/items/42", lines), false, JSON.stringify(wrong));
  }
});

function ask(engine, method, target, lines) {
  const begun = new Exchanges(engine, () => new Exchange()).onRequest(wire.requestHead(method, target, "", lines));
  begun?.exchange.end("delivered", 200, 0);
  return begun;
}
