// What a decorated challenge and a rated answer must be, derived from the answer of the merchant without us.
//
// The payment packages write compact JSON with JSON.stringify, so parse, add, stringify gives the exact bytes expected;
// `sameSpelling` makes sure of that for the text at hand before it is relied on.

import assert from "node:assert/strict";
import { API_KEY, PUBLIC_URL } from "./forge.mjs";
import { verifyFeedbackId } from "./feedback-id.mjs";
import { headerChanges } from "./raw-http.mjs";
import { bodyMembers, challengeExtension, receiptExtension, sentence } from "./wording.mjs";
import { decodeText, isStandardBase64 } from "./x402-headers.mjs";

export const RATE = `${PUBLIC_URL}/feedback/rate`;

/** The challenge differs from the bare one in the PAYMENT-REQUIRED header alone, and there by our two additions alone. */
export function expectDecorated(answer, bare, { says = sentence(RATE), rate = RATE, body = true } = {}) {
  assert.equal(answer.statusLine, bare.statusLine);
  assert.deepEqual(headerChanges(bare, answer), { added: [], removed: [], changed: ["payment-required"] });
  assert.equal(answer.all("payment-required").length, 1);
  assert.ok(isStandardBase64(answer.header("payment-required")));
  const before = decodeText(bare.header("payment-required"));
  assert.equal(decodeText(answer.header("payment-required")), decorated(before, says, rate));
  if (body) assert.deepEqual(answer.body, bare.body);
}

export function decorated(text, says, rate) {
  const challenge = sameSpelling(text);
  if (says) {
    const own = challenge.resource.description ?? "";
    challenge.resource.description = own === "" ? says : `${own} ${says}`;
    assert.ok(challenge.resource.description.length <= 500, "the test expects a description that some facilitators refuse");
  }
  challenge.extensions = { ...challenge.extensions, "forge-feedback": challengeExtension(rate) };
  return JSON.stringify(challenge);
}

/** One valid id in the header; returns it. */
export function expectId(answer) {
  const ids = answer.all("forge-feedback-id");
  assert.equal(ids.length, 1, "one Forge-Feedback-Id header");
  assert.equal(verifyFeedbackId(ids[0], API_KEY), "valid");
  return ids[0];
}

/** The receipt is the bare one, byte for byte, plus the extension with the same id. */
export function expectReceipt(answer, bare, id, rate = RATE) {
  const before = sameSpelling(decodeText(bare.header("payment-response")));
  before.extensions = { ...before.extensions, "forge-feedback": receiptExtension(rate, id) };
  assert.ok(isStandardBase64(answer.header("payment-response")));
  assert.equal(decodeText(answer.header("payment-response")), JSON.stringify(before));
}

/** The bare body with our members inserted behind the last one and nothing else changed. */
export function expectFields(answer, bare, id, rate = RATE) {
  const before = bare.body.toString("latin1");
  const after = answer.body.toString("latin1");
  const empty = /^\s*\{\s*\}\s*$/.test(before);
  const inserted = `${empty ? "" : ","}${bodyMembers(rate, id)}`;
  const at = after.lastIndexOf(inserted);
  assert.ok(at > 0, `our members stand in the body: ${after.slice(-700)}`);
  assert.equal(after.slice(0, at) + after.slice(at + inserted.length), before);
  assert.match(after.slice(at + inserted.length), /^\s*\}\s*$/, "our members come last");
  assert.deepEqual(JSON.parse(after).feedback_id, id);
  if (answer.framing === "length") assert.equal(Number(answer.header("content-length")), answer.body.length);
}

/** A paid JSON answer that carries the id in header, receipt and body. `changes` are the header changes expected. */
export function expectRated(answer, bare, changes = {}) {
  const id = expectId(answer);
  expectReceipt(answer, bare, id);
  expectFields(answer, bare, id);
  assert.equal(answer.statusLine, bare.statusLine);
  assert.deepEqual(headerChanges(bare, answer), { added: ["accept-ranges", "forge-feedback-id"], removed: [], changed: ["content-length", "payment-response"], ...changes });
  assert.equal(answer.header("accept-ranges"), "none");
  return id;
}

/** A paid answer whose body is not ours to edit: the id is in header and receipt, the body keeps its bytes. */
export function expectHeaderOnly(answer, bare, changes = {}) {
  const id = expectId(answer);
  expectReceipt(answer, bare, id);
  assert.deepEqual(answer.body, bare.body);
  assert.equal(answer.statusLine, bare.statusLine);
  assert.equal(answer.framing, bare.framing);
  assert.deepEqual(headerChanges(bare, answer), { added: ["forge-feedback-id"], removed: [], changed: ["payment-response"], ...changes });
  return id;
}

/** Not one byte differs, the Date header apart. */
export function expectUntouched(answer, bare) {
  const visible = (from) => from.headers.filter(([name]) => name.toLowerCase() !== "date");
  assert.equal(answer.statusLine, bare.statusLine);
  assert.deepEqual(visible(answer), visible(bare));
  assert.deepEqual(answer.body, bare.body);
  assert.equal(answer.framing, bare.framing);
  assert.deepEqual(answer.trailers, bare.trailers);
}

function sameSpelling(text) {
  const value = JSON.parse(text);
  assert.equal(JSON.stringify(value), text, "the payment package writes compact JSON");
  return value;
}
