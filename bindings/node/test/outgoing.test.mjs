// Heads read and edited in Node's own table are what getHeaders() and setHeader() say and leave; whatever is not Node's own is left
// to those.

import assert from "node:assert/strict";
import { createServer, get } from "node:http";
import { test } from "node:test";
import head from "../lib/head.js";
import outgoing from "../lib/outgoing.js";

const { applyEdits, readHead } = head;
const EDITS = ["S", "ETag", "", "R", "Etag", "", "S", "CONTENT-LENGTH", "7", "S", "Forge-Feedback-Id", "fb_1", "R", "date", "", "R", "Absent", "", "A", "x-many", "c"];

function fill(res) {
  res.setHeader("Content-Type", "application/json");
  res.setHeader("eTag", '"1"');
  res.setHeader("Content-Length", 7);
  res.setHeader("X-Many", ["a", "b"]);
  res.setHeader("Set-Cookie", ["one=1", "two=2"]);
}

/** The raw head lines that a response with `work` done on it sends. */
async function sent(work) {
  let failure;
  const server = createServer((_req, res) => {
    try {
      fill(res);
      work(res);
    } catch (error) {
      failure = error;
    }
    res.end("1234567");
  }).listen(0, "127.0.0.1");
  await new Promise((resolve) => server.once("listening", resolve));
  const { rawHeaders } = await new Promise((resolve, reject) =>
    get({ port: server.address().port, agent: false }, (res) => res.resume().on("end", () => resolve(res))).on("error", reject),
  );
  server.close();
  server.closeAllConnections();
  if (failure !== undefined) throw failure;
  return rawHeaders;
}

/** By the public functions: a setHeader of somebody's own that does nothing else. */
function byName(res) {
  const { setHeader, getHeaders } = res;
  res.setHeader = (name, value) => setHeader.call(res, name, value);
  return { flat: Object.entries(getHeaders.call(res)).flatMap(([, value]) => value), names: res.getRawHeaderNames() };
}

test("this Node keeps its headers as outgoing.js knows it", async () => {
  await sent((res) => {
    const table = outgoing.tableOf(res);
    assert.deepEqual(table["content-type"], ["Content-Type", "application/json"]);
    assert.ok(outgoing.mayWrite(res));
  });
});

test("the head is read with the names as they are spelt, each value of a list a line", () =>
  sent((res) => {
    const { flat, table } = readHead(res, undefined);
    assert.ok(table !== undefined);
    assert.equal(flat, 'Content-Type\napplication/json\neTag\n"1"\nContent-Length\n7\nX-Many\na\nX-Many\nb\nSet-Cookie\none=1\nSet-Cookie\ntwo=2');
  }));

test("edits leave the same head as with setHeader() and removeHeader()", async () => {
  const ours = await sent((res) => applyEdits(res, undefined, readHead(res, undefined), EDITS));
  const theirs = await sent((res) => applyEdits(res, undefined, byName(res), EDITS));
  assert.deepEqual(ours, theirs);
  assert.ok(ours.includes("Forge-Feedback-Id") && ours.includes("Content-Length") && !ours.includes("Date"));
});

test("a setHeader of somebody's own sees every edit", () =>
  sent((res) => {
    const seen = [];
    const { setHeader } = res;
    res.setHeader = function (name, value) {
      seen.push(name);
      return setHeader.call(this, name, value);
    };
    applyEdits(res, undefined, readHead(res, undefined), ["S", "Content-Type", "text/plain", "S", "Forge-Feedback-Id", "fb_1"]);
    assert.deepEqual(seen, ["Content-Type", "Forge-Feedback-Id"]);
  }));

test("a head that has been sent refuses edits, as it does without us", () =>
  sent((res) => {
    const before = readHead(res, undefined);
    res.setHeader("Content-Length", 7);
    res.flushHeaders();
    assert.throws(() => applyEdits(res, undefined, before, ["S", "Content-Type", "text/plain"]), { code: "ERR_HTTP_HEADERS_SENT" });
    assert.equal(res.getHeader("content-type"), "application/json");
  }));
