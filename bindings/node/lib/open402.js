"use strict";
// The two headers of open402 / ag402, read and written strictly: what two readers could take for two things is refused.

const { addon } = require("./addon.js");

/** The fields of a `WWW-Authenticate: x402 …` value; throws with the rule that it breaks. */
function parseChallenge(value) {
  return JSON.parse(addon().open402ParseChallenge(value));
}

/** The `WWW-Authenticate` value of `{ chain, token, amount, address, service_hash?, service_tier?, refund_contract? }`. */
function buildChallenge(fields) {
  return addon().open402BuildChallenge(JSON.stringify(fields));
}

/** The fields of an `Authorization: x402 …` value, in either spelling. */
function parseProof(value) {
  return JSON.parse(addon().open402ParseProof(value));
}

/** The `Authorization` value of `{ tx_hash, payer_address?, chain?, request_id? }`. */
function buildProof(fields) {
  return addon().open402BuildProof(JSON.stringify(fields));
}

/** The JSON Schema of challenge and proof. */
function jsonSchema() {
  return JSON.parse(addon().open402JsonSchema());
}

/** The value of `X-Service-Hash` for a description: "sha256:" and 64 hex digits. */
function serviceHash(description) {
  return addon().open402ServiceHash(description);
}

/** `X-x402-Timestamp` and `X-x402-Nonce`: one pair for both legs of a call. */
function replayHeaders({ nowMs = Date.now() } = {}) {
  const { randomBytes } = require("node:crypto");
  const [timestamp, nonce] = addon().open402ReplayHeaders(nowMs, randomBytes(16));
  return { "X-x402-Timestamp": timestamp, "X-x402-Nonce": nonce };
}

module.exports = { buildChallenge, buildProof, jsonSchema, parseChallenge, parseProof, replayHeaders, serviceHash };
