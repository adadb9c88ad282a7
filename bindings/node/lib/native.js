"use strict";
// Finds and loads the addon; a failure is a value, because a server must start without it.

const { join } = require("node:path");

function platformName() {
  const musl = process.platform === "linux" && !process.report?.getReport?.().header?.glibcVersionRuntime;
  return `${process.platform}-${process.arch}${musl ? "-musl" : ""}`;
}

/** The addon's exports, or `{ error }` saying in one sentence why there are none. */
function load() {
  const name = `forge_x402.${platformName()}.node`;
  try {
    return require(join(__dirname, "..", "prebuilt", name));
  } catch (cause) {
    return { error: new Error(`forge-x402: the addon for this platform (${name}) did not load, so all traffic passes unchanged: ${cause.message}`) };
  }
}

module.exports = { load, platformName };
