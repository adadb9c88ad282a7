"use strict";
// Finds and loads the addon; a failure is a value, because a server must start without it.
// No Node module is required here: a bundle, or an edge runtime without Node, must get as far as the failure.

function platformName() {
  const musl = process.platform === "linux" && !process.report?.getReport?.().header?.glibcVersionRuntime;
  return `${process.platform}-${process.arch}${musl ? "-musl" : ""}`;
}

/** The addon's exports, or `{ error }` saying in one sentence why there are none. */
function load() {
  try {
    return require(`${__dirname}/../prebuilt/forge_x402.${platformName()}.node`);
  } catch (cause) {
    const why = String(cause?.message ?? cause).split("\n")[0];
    return { error: new Error(`forge-x402: the addon for this platform did not load, so all traffic passes unchanged: ${why}`) };
  }
}

module.exports = { load, platformName };
