"use strict";
// The addon for functions that cannot do without it: what a server may leave out, an agent must know is missing.

const { load } = require("./native.js");

let loaded;

/** The addon's exports; throws where it did not load. */
function addon() {
  loaded ??= load();
  if (loaded.error !== undefined) throw loaded.error;
  return loaded;
}

module.exports = { addon };
