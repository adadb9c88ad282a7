"use strict";
// The agent's half: what a 402 asks for, why a payment failed, whether to go on, how much may be spent. Pure: no network, no wallet.

const { addon } = require("./addon.js");

/** What a response asks to be paid; throws where there is nothing to pay, or where two readers could see two prices. */
function parseChallenge({ status, headers, body }) {
  return JSON.parse(addon().clientParseChallenge(status, flat(headers), bytes(body)));
}

/** What a response says about why payments fail, under the names of the wire; null where it says nothing. */
function parseDiagnostic({ headers, body }) {
  const found = addon().clientParseDiagnostic(flat(headers), bytes(body));
  return found === null ? null : JSON.parse(found);
}

/** What to do after a refused call. Throws on an input that is none, and then nothing is to be paid. */
function decide(diagnostic, state = {}) {
  const { paymentsSent, lastPaymentExpired, waits, withinBudget, retryAfterS, ...unknown } = state;
  const given = { payments_sent: paymentsSent, last_payment_expired: lastPaymentExpired, waits, within_budget: withinBudget, retry_after_s: retryAfterS };
  const made = JSON.parse(addon().clientDecide(text(diagnostic), JSON.stringify({ ...given, ...unknown })));
  return { action: made.action, waitS: made.wait_s, send: made.send, blockEndpoint: made.block_endpoint, tellOperator: made.tell_operator };
}

/** The event to hand to the agent's operator. */
function escalationEvent(diagnostic, call) {
  const { requestId, nowMs = Date.now(), ...rest } = call;
  return JSON.parse(addon().clientEscalationEvent(text(diagnostic), JSON.stringify({ ...rest, request_id: requestId, now_ms: nowMs })));
}

/** A payment that a budget does not allow; `limit` is "call", "minute" or "day". Nothing was booked. */
class OverBudgetError extends Error {
  constructor(limit) {
    super(`over the limit per ${limit}`);
    this.name = "OverBudgetError";
    this.limit = limit;
  }
}

/** What an agent may spend, exactly. Amounts are texts such as "0.05", or smallest units with `decimals`. */
class Budget {
  #inner;

  constructor(limits = {}) {
    const { perCall, perMinute, perDay, ...unknown } = limits;
    const Inner = addon().ClientBudget;
    this.#inner = new Inner(JSON.stringify({ per_call: perCall, per_minute: perMinute, per_day: perDay, ...unknown }));
  }

  /** The limit that a payment would break, or null. */
  check(amount, { decimals, nowMs = Date.now() } = {}) {
    return this.#inner.check(nowMs, String(amount), decimals);
  }

  /** Books a payment, before it is signed; throws OverBudgetError where it does not fit. */
  spend(amount, { decimals, nowMs = Date.now() } = {}) {
    const limit = this.#inner.spend(nowMs, String(amount), decimals);
    if (limit !== null) throw new OverBudgetError(limit);
  }

  /** What may still be spent in the 24 hours that end now, as a plain decimal. */
  leftToday({ nowMs = Date.now() } = {}) {
    return this.#inner.leftToday(nowMs);
  }
}

/** Header lines as one text; from a Headers, a list of pairs, or an object of texts and lists of texts. */
function flat(headers) {
  if (headers === undefined || headers === null) return "";
  const pairs = typeof headers[Symbol.iterator] === "function" ? [...headers] : Object.entries(headers);
  const lines = pairs.flatMap(([name, value]) => (Array.isArray(value) ? value : [value]).map((one) => [name, one]));
  // A line break would end the value where the caller's own parser did not.
  return lines.flat().map((part) => String(part).replace(/[\r\n]/g, " ")).join("\n");
}

function bytes(body) {
  if (body === undefined || body === null) return Buffer.alloc(0);
  return typeof body === "string" ? Buffer.from(body) : Buffer.from(body.buffer ?? body, body.byteOffset, body.byteLength);
}

function text(diagnostic) {
  return diagnostic === undefined || diagnostic === null ? "" : JSON.stringify(diagnostic);
}

module.exports = { Budget, OverBudgetError, decide, escalationEvent, parseChallenge, parseDiagnostic };
