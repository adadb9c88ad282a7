"use strict";
// Finds and loads the addon; a failure is a value, because a server must start without it.
// No Node module is required here: a bundle, or an edge runtime without Node, must get as far as the failure.

/** The addon's exports, or `{ error }` saying in one sentence why there are none. */
function load() {
  let first;
  try {
    // Which C library a Linux has is not worth asking (it takes milliseconds): the wrong one does not load.
    for (const name of names()) {
      try {
        return require(`${__dirname}/../prebuilt/forge_x402.${name}.node`);
      } catch (cause) {
        // What did not load says more than what is not there.
        if (first === undefined || cause?.code !== "MODULE_NOT_FOUND") first = cause;
      }
    }
  } catch (cause) {
    first = cause;
  }
  const why = String(first?.message ?? first).split("\n")[0];
  return { error: new Error(`forge-x402: the addon for this platform did not load, so all traffic passes unchanged: ${why}`) };
}

function names() {
  const name = `${process.platform}-${process.arch}`;
  return process.platform === "linux" ? [name, `${name}-musl`] : [name];
}

module.exports = { load };
