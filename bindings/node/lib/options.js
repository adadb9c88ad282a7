"use strict";
// Options as JavaScript spells them (camelCase) into the one spelling the engine knows (snake_case).

/** The options as the engine spells them. Throws where one is given in both spellings. */
function forEngine(options) {
  return snakeKeys(options ?? {}, "");
}

function snakeKeys(options, path) {
  const out = {};
  for (const [name, value] of Object.entries(options)) {
    const snake = name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
    if (snake in out || (snake !== name && Object.hasOwn(options, snake))) {
      throw new TypeError(`forge-x402: ${path}${snake} is given in two spellings; leave one out`);
    }
    // The OpenAPI document may be given as an object; the engine wants its text.
    const isDocument = path === "openapi." && snake === "document";
    if (isDocument && value !== null && typeof value === "object") out[snake] = JSON.stringify(value);
    else if (value !== null && typeof value === "object" && !Array.isArray(value)) out[snake] = snakeKeys(value, `${snake}.`);
    else if (value !== undefined) out[snake] = value;
  }
  return out;
}

module.exports = { forEngine };
