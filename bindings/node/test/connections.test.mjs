// Which exchanges a connection tells of its end, and that it keeps none that is over.

import assert from "node:assert/strict";
import { EventEmitter } from "node:events";
import { test } from "node:test";
import connections from "../lib/connections.js";
import { Judge } from "../lib/judge.js";

const { forget, watch } = connections;

function judge(told, name) {
  return { close: () => told.push(`${name} closed`), look: () => told.push(`${name} looked at`) };
}

test("one listener a connection tells those under way that it has closed, and nobody else", () => {
  const [socket, other, told] = [new EventEmitter(), new EventEmitter(), []];
  const [one, two, three, elsewhere] = ["one", "two", "three", "elsewhere"].map((name) => judge(told, name));
  watch(socket, one);
  forget(socket, one);
  watch(socket, two);
  watch(other, elsewhere);
  watch(socket, three);
  assert.equal(socket.listenerCount("close"), 1);
  assert.deepEqual(told.splice(0), ["two looked at"]);
  socket.emit("close");
  assert.deepEqual(told, ["two closed", "three closed"]);
});

test("an exchange whose answer has gone out past us ends when the connection's next one begins", () => {
  const socket = new EventEmitter();
  const context = { host: { target: () => "/" }, report: assert.fail };
  const ended = [];
  const begin = (name) => {
    const res = { writableFinished: false, statusCode: 200 };
    new Judge(context, { rawHeaders: [], socket }, res, true).begin({ end: (outcome) => ended.push([name, outcome]) });
    return res;
  };
  const first = begin("first");
  begin("second");
  assert.deepEqual(ended, []);
  first.writableFinished = true;
  begin("third");
  assert.deepEqual(ended, [["first", "delivered"]]);
});
