"use strict";
// Tells without a crossing into the addon that the engine has nothing to do before a request's answer: packing the head and the
// crossing cost many times more than this look. It says no wherever it is not sure; a test holds it to the engine.

/** A head of more characters than Node itself lets through is the engine's to judge. */
const LONG_HEAD = 16_384;

class Glance {
  #always = false;
  #base;
  #documents;

  /** @param {object} options as the engine spells them, see options.js. */
  constructor({ visits = false, base_path: base = "/feedback", openapi }) {
    const documents = openapi === undefined || openapi === false ? undefined : openapi?.paths;
    this.#base = base;
    this.#documents = documents ?? ["/openapi.json"];
    // What is wrong with an option is the engine's to say.
    const isPath = (path) => typeof path === "string" && /^\/[\x21-\x7e]*$/.test(path);
    if (visits !== false || !isPath(base) || !Array.isArray(this.#documents) || !this.#documents.every(isPath)) this.#always = true;
  }

  /** True: surely nothing to do before the response. `lines` is flat, as Node's rawHeaders. */
  passes(target, lines) {
    return !this.#always && isOrdinaryHead(lines) && this.#isOrdinaryTarget(target);
  }

  #isOrdinaryTarget(target) {
    if (target.charCodeAt(0) !== SLASH || target.startsWith(this.#base) || target.startsWith("/.well-known/")) return false;
    const mark = target.indexOf("?");
    // Every context parameter begins with agent_, as it is or behind a percent sign.
    if (mark >= 0 && (target.includes("agent_", mark) || target.includes("%", mark))) return false;
    for (const path of this.#documents) {
      if (target.startsWith(path) && (mark < 0 ? target.length : mark) === path.length) return false;
    }
    return true;
  }
}

const SLASH = 0x2f;
const [A, P, X] = [0x61, 0x70, 0x78];
const letter = (text) => text.charCodeAt(0) | 0x20;

/** Whether no line can hold a payment: told by length and first letter before any name is compared. */
function isOrdinaryHead(lines) {
  let size = 0;
  for (let at = 0; at + 1 < lines.length; at += 2) {
    const name = lines[at];
    size += name.length + lines[at + 1].length;
    if (name.length === 9 && letter(name) === X && name.toLowerCase() === "x-payment") return false;
    if (name.length === 17 && letter(name) === P && name.toLowerCase() === "payment-signature") return false;
    // An open402 payment: `Authorization: X402 ...`.
    if (name.length === 13 && letter(name) === A && letter(lines[at + 1]) === X && name.toLowerCase() === "authorization") return false;
  }
  return size <= LONG_HEAD;
}

module.exports = { Glance };
