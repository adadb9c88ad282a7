"use strict";
// Tells the exchanges of a connection that it has closed, by one listener a connection. On a response of Express a listener of its
// own costs more than all that it does; that an answer has gone out is seen without one, see judge.js.

/** The judges of each connection's exchanges under way; shared by all engines. */
const underWay = new WeakMap();

/** `judge.close()` is called when `socket` closes, and `judge.look()` when its next exchange begins, until `forget`. */
function watch(socket, judge) {
  let judges = underWay.get(socket);
  if (judges === undefined) {
    judges = new Set();
    underWay.set(socket, judges);
    socket.once("close", () => {
      for (const one of judges) one.close();
    });
  } else {
    // An answer may have gone out past us.
    for (const one of judges) one.look();
  }
  judges.add(judge);
}

function forget(socket, judge) {
  underWay.get(socket)?.delete(judge);
}

module.exports = { forget, watch };
