// The conformance cases straight through the addon: the same verdicts and bytes as in every other language.

import assert from "node:assert/strict";
import { readdirSync } from "node:fs";
import { createRequire } from "node:module";
import { test } from "node:test";
import { applied, exchange } from "./exchange.mjs";
import { bytesOf, folder, onlyKeys, read } from "./values.mjs";

const { load } = createRequire(import.meta.url)("../lib/native.js");
const { Engine, error } = load();
if (error) throw error;

const DEFAULTS = { api_key: "ffk_test_0123456789abcdef", public_url: "https://api.example.com", strict: true };
const KEYS = ["id", "title", "why", "fixture", "options", "before", "request", "response", "oracle", "expect"];
const EXPECT = ["edits", "body", "id", "want_body", "first_edits", "verdict"];

for (const file of readdirSync(folder).filter((name) => name.endsWith(".json") && !["texts.json", "ids.json"].includes(name))) {
  const cases = read(file);
  assert.ok(cases.length > 0);
  for (const one of cases) {
    test(`${file} ${one.id}: ${one.title}`, () => {
      check(one, false);
      check(one, true);
    });
  }
}

for (const one of read("ids.json")) {
  test(`ids.json ${one.id}`, () => {
    onlyKeys(one, ["id", "title", "why", "api_key", "value", "now_ms", "ttl_ms", "expect"]);
    const engine = new Engine(JSON.stringify({ api_key: one.api_key, ttl_ms: one.ttl_ms, strict: true }));
    assert.equal(engine.verifyId(one.value, one.now_ms), one.expect);
  });
}

/** `atOnce`: with the body in the first call; the result is the same where the body is within the limit. */
function check(one, atOnce) {
  onlyKeys(one, KEYS);
  onlyKeys(one.expect, EXPECT);
  const engine = open(one.options);
  const ids = { own_id: engine.mintId() };
  for (const before of one.before ?? []) {
    onlyKeys(before, ["request", "response"]);
    exchange(engine, requestOf(before.request, ids), responseOf(before.response, ids));
  }
  const [request, response] = [requestOf(one.request, ids), responseOf(one.response, ids)];
  const got = exchange(engine, request, response, { atOnce });
  if (one.expect.verdict !== undefined) {
    assert.equal(one.expect.verdict, "nothing");
    assert.equal(got.began, false);
  }
  if (!atOnce) {
    if (one.expect.want_body !== undefined) assert.equal(got.wanted, one.expect.want_body);
    if (one.expect.first_edits !== undefined) sameHead(response, got.first, one.expect.first_edits, { ...ids, id: got.id });
  } else if (got.wanted) {
    return;
  }
  judgeId(engine, one.expect.id, got.id, ids.own_id);
  sameHead(response, got.edits, one.expect.edits ?? [], { ...ids, id: got.id });
  const body = one.expect.body === undefined ? response.body : bytesOf(one.expect.body, { ...ids, id: got.id });
  assert.ok(got.body.equals(body), `body\n got ${got.body.toString("latin1").slice(0, 2_000)}\nwant ${body.toString("latin1").slice(0, 2_000)}`);
}

function judgeId(engine, expected, id, own) {
  if (expected === undefined) return assert.equal(id, undefined, "no id");
  if (expected === "own") return assert.equal(id, own);
  assert.equal(expected, "new");
  assert.notEqual(id, own);
  return assert.equal(engine.verifyId(id), "valid");
}

function sameHead(response, got, expected, ids) {
  const wanted = expected.map(([op, name, value]) => [op, name, value === undefined ? undefined : bytesOf(value, ids).toString("latin1")]);
  assert.deepEqual(applied(response.headers, got), applied(response.headers, wanted));
}

function open(options = {}) {
  const all = Object.entries({ ...DEFAULTS, ...options }).filter(([, value]) => value !== null);
  return new Engine(JSON.stringify(Object.fromEntries(all)));
}

function requestOf({ method, target, headers = [], body = "", ...rest }, ids) {
  onlyKeys(rest, []);
  return { method, target, headers: lines(headers, ids), body: bytesOf(body, ids) };
}

function responseOf({ status, headers = [], body = "", ...rest }, ids) {
  onlyKeys(rest, []);
  return { status, headers: lines(headers, ids), body: bytesOf(body, ids) };
}

const lines = (headers, ids) => headers.map(([name, value]) => [name, bytesOf(value, ids).toString("latin1")]);
