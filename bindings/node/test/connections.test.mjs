// Which exchanges a connection tells of its end, and that it keeps none that is over.

import assert from "node:assert/strict";
import { EventEmitter } from "node:events";
import { test } from "node:test";
import connections from "../lib/connections.js";

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
