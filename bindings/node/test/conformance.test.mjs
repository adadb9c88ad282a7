// The conformance cases straight through the addon: the same verdicts and bytes as in every other language.

import assert from "node:assert/strict";
import { readdirSync } from "node:fs";
import { createRequire } from "node:module";
import { test } from "node:test";
import { applied, exchange, ofRequest } from "./exchange.mjs";
import { bytesOf, folder, onlyKeys, read } from "./values.mjs";

const { load } = createRequire(import.meta.url)("../lib/native.js");
const { Engine, error } = load();
if (error) throw error;

const DEFAULTS = { api_key: "ffk_test_0123456789abcdef", public_url: "https://api.example.com", strict: true };
const KEYS = ["id", "title", "why", "fixture", "options", "before", "request", "response", "oracle", "expect"];
const EXPECT = ["edits", "body", "id", "want_body", "first_edits", "verdict"];

for (const file of readdirSync(folder).filter((name) => name.endsWith(".json") && !["texts.json", "ids.json", "requests.json"].includes(name))) {
  const cases = read(file);
  assert.ok(cases.length > 0);
  for (const one of cases) {
    test(`${file} ${one.id}: ${one.title}`, () => {
      check(one, false);
      check(one, true);
    });
  }
}

for (const one of read("requests.json")) {
  test(`requests.json ${one.id}: ${one.title}`, () => {
    onlyKeys(one, ["id", "title", "why", "options", "before", "request", "expect"]);
    onlyKeys(one.expect, ["verdict", "want_body", "waits", "target", "edits", "body", "answer"]);
    return checkRequest(one, one.expect);
  });
}

for (const one of read("ids.json")) {
  test(`ids.json ${one.id}`, () => {
    onlyKeys(one, ["id", "title", "why", "api_key", "value", "now_ms", "ttl_ms", "expect"]);
    const engine = new Engine(JSON.stringify({ api_key: one.api_key, ttl_ms: one.ttl_ms, strict: true }));
    assert.equal(engine.verifyId(one.value, one.now_ms), one.expect);
  });
}

/** A case of requests.json: what is handed on, or what is answered. */
async function checkRequest(one, { verdict, want_body = false, waits = false, target, edits = [], body, answer }) {
  const [engine, ids] = opened(one);
  const request = requestOf(one.request, ids);
  const got = await ofRequest(engine, request);
  assert.deepEqual([got.verdict, got.wanted, got.waited], [verdict, want_body, waits]);
  if (verdict === "reply") {
    const { status, headers, body: text } = responseOf(answer, ids);
    assert.equal(got.status, status);
    assert.deepEqual(applied([], got.edits), applied([], headers.map(([name, value]) => ["add", name, value])));
    assert.ok(got.body.equals(text), `body\n got ${got.body}\nwant ${text}`);
    return;
  }
  assert.equal(got.target, target ?? request.target);
  sameHead(request, got.edits, edits, ids);
  assert.ok(got.body.equals(body === undefined ? request.body : bytesOf(body, ids)), "body");
}

/** `atOnce`: with the body in the first call; the result is the same where the body is within the limit. */
function check(one, atOnce) {
  onlyKeys(one, KEYS);
  onlyKeys(one.expect, EXPECT);
  const [engine, ids] = opened(one);
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

/** The engine of a case, after the exchanges before it, and what the placeholders stand for. */
function opened({ options = {}, before = [] }) {
  const all = Object.entries({ ...DEFAULTS, ...options }).filter(([, value]) => value !== null);
  const engine = new Engine(JSON.stringify(Object.fromEntries(all)));
  const ids = { own_id: engine.mintId() };
  for (const earlier of before) {
    onlyKeys(earlier, ["request", "response"]);
    exchange(engine, requestOf(earlier.request, ids), responseOf(earlier.response, ids));
  }
  return [engine, ids];
}

function requestOf({ method, target, headers = [], body = "", ...rest }, ids) {
  onlyKeys(rest, []);
  return { method, target: bytesOf(target, ids).toString("latin1"), headers: lines(headers, ids), body: bytesOf(body, ids) };
}

function responseOf({ status, headers = [], body = "", ...rest }, ids) {
  onlyKeys(rest, []);
  return { status, headers: lines(headers, ids), body: bytesOf(body, ids) };
}

const lines = (headers, ids) => headers.map(([name, value]) => [name, bytesOf(value, ids).toString("latin1")]);
