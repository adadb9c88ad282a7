// The agent's half and open402 as JavaScript sees them: values in and out, and errors where nothing is to be paid.

import assert from "node:assert/strict";
import { createRequire } from "node:module";
import { test } from "node:test";
import { Budget, OverBudgetError, decide, escalationEvent, parseChallenge, parseDiagnostic } from "forge-x402/client";
import * as open402 from "forge-x402/open402";

const require = createRequire(import.meta.url);
const v2 = (challenge) => Buffer.from(JSON.stringify({ x402Version: 2, ...challenge })).toString("base64");
const accepts = [{ scheme: "exact", network: "eip155:84532", amount: "7", asset: "0xA", payTo: "0xB", maxTimeoutSeconds: 60 }];
const offer = { scheme: "exact", network: "eip155:84532", asset: "0xA", amount: "7", unit: "atomic", payTo: "0xB", maxTimeoutSeconds: 60 };

test("a challenge of each dialect has one shape, whatever the headers come in", () => {
  const value = v2({ resource: { url: "https://api.example.com/w" }, accepts, extensions: { a: { info: { b: 1.5 } } } });
  const expected = { protocol: "x402/2", resource: "https://api.example.com/w", offers: [offer], extensions: { a: { info: { b: 1.5 } } } };
  for (const headers of [{ "payment-required": value }, { "Payment-Required": [value] }, [["PAYMENT-REQUIRED", value]], new Headers({ "payment-required": value })]) {
    assert.deepEqual(parseChallenge({ status: 402, headers, body: "{}" }), expected);
  }
  const body = JSON.stringify({ x402Version: 1, error: "e", accepts: [{ ...accepts[0], amount: undefined, maxAmountRequired: "7" }] });
  for (const given of [body, Buffer.from(body), new TextEncoder().encode(body), new TextEncoder().encode(body).buffer]) {
    assert.deepEqual(parseChallenge({ status: 402, body: given }), { protocol: "x402/1", error: "e", offers: [offer] });
  }
  const padded = new TextEncoder().encode(`xx${body}xx`).subarray(2, -2);
  assert.equal(parseChallenge({ status: 402, body: padded }).protocol, "x402/1", "a view's own bytes, not its buffer's");
  assert.deepEqual(parseChallenge({ status: 402, headers: { "www-authenticate": `x402 chain="s" token="U" amount="0.05" address="A"` } }).offers[0].unit, "token");
});

test("where there is nothing to pay, or two prices, it throws and says why", () => {
  const value = v2({ accepts });
  assert.throws(() => parseChallenge({ status: 200, headers: { "payment-required": value } }), /status 200 is no challenge/);
  assert.throws(() => parseChallenge({ status: 402, headers: { "payment-required": [value, value] } }), /PAYMENT-REQUIRED: stands there twice/);
  assert.throws(() => parseChallenge({ status: 402, headers: { "www-authenticate": `x402 chain="s" token="U" amount="0.05" address="A" max-amount="9"` } }), /amount: a loose scanner/);
  assert.throws(() => parseChallenge({ status: 402 }), /without an x402 or open402 challenge/);
  // A character whose low byte is a quote, and a line break, must not become one.
  assert.throws(() => parseChallenge({ status: 402, headers: { "www-authenticate": `x402 chain="s" token="U" amount="0.05" address="A\u0122 x\u013d\u01229"` } }), /address: holds a quote/);
  assert.throws(() => parseChallenge({ status: 402, headers: { "x-a": `b\nPAYMENT-REQUIRED\n${value}` } }), /without an x402/);
});

test("a diagnostic under the names of the wire, and null where there is none", () => {
  const diagnostic = { code: "PAYMENT_UNVERIFIED", reason: "signature_invalid", retry_policy: "do_not_retry", attempts: 2, escalate: false, correlation_id: "00c0ffee01234567" };
  assert.deepEqual(parseDiagnostic({ body: JSON.stringify({ diagnostic }) }), diagnostic);
  assert.deepEqual(parseDiagnostic({ headers: { "payment-required": v2({ extensions: { diagnostic: { info: diagnostic } } }) } }), diagnostic);
  for (const body of ["", "no JSON", "{}", `{"diagnostic":"x"}`, `{"diagnostic":{"code":"A"},"diagnostic":{"code":"B"}}`]) assert.equal(parseDiagnostic({ body }), null);
});

test("decide stops, waits and pays; what it does not understand is an error", () => {
  assert.deepEqual(decide(null, { withinBudget: true }), { action: "pay", waitS: 0, send: "new_payment", blockEndpoint: false, tellOperator: false });
  assert.equal(decide(null).action, "stop", "without a budget nothing is paid");
  assert.equal(decide({ code: "OPERATOR_ALERT" }, { withinBudget: true }).action, "escalate");
  assert.deepEqual(decide({ code: "PAYMENT_REQUIRED", retry_policy: "retry_with_backoff" }, { paymentsSent: 1, retryAfterS: 9 }), { action: "wait", waitS: 9, send: "same_payment", blockEndpoint: false, tellOperator: false });
  assert.throws(() => decide(null, { paymentSent: 1 }), /no member is called "paymentSent"/);
  assert.throws(() => decide({}, {}), /no JSON object with a text `code`/);
  assert.throws(() => decide("PAYMENT_REQUIRED", {}), /no JSON object/);
});

test("the operator's event", () => {
  const diagnostic = { code: "WALLET_INSUFFICIENT_FUNDS", escalate: true };
  const event = escalationEvent(diagnostic, { endpoint: "https://api.example.com/w", amount: "0.001", currency: "USDC", balance: 0, requestId: "r-1", nowMs: 1_773_100_800_000 });
  assert.deepEqual(event, { type: "x402_escalation", endpoint: "https://api.example.com/w", amount: 0.001, currency: "USDC", balance: 0, correlation_id: "r-1", diagnostic, timestamp: "2026-03-10T00:00:00Z" });
  const before = Math.floor(Date.now() / 1000) * 1000;
  assert.ok(Date.parse(escalationEvent(diagnostic, { endpoint: "x" }).timestamp) >= before);
  assert.throws(() => escalationEvent(diagnostic, {}), /call.endpoint: missing/);
  assert.throws(() => escalationEvent(diagnostic, { endpoint: "x", url: "y" }), /no member is called "url"/);
});

test("a budget keeps its limits exactly, and names the one that a payment would break", () => {
  const budget = new Budget({ perCall: "0.2", perMinute: 0.3, perDay: "0.3" });
  const nowMs = 86_400_000_000;
  assert.equal(budget.check("0.21", { nowMs }), "call");
  budget.spend("0.1", { nowMs });
  budget.spend("200000", { decimals: 6, nowMs });
  assert.equal(budget.check("0.000000000000000001", { nowMs }), "minute");
  assert.throws(() => budget.spend("0.01", { nowMs: nowMs + 120_000 }), (error) => error instanceof OverBudgetError && error.limit === "day");
  assert.equal(budget.leftToday({ nowMs }), "0");
  assert.equal(budget.check("0.2", { nowMs: nowMs + 2 * 86_400_000 }), null);
  for (const bad of ["1e3", "-1", "", "ten"]) assert.throws(() => budget.spend(bad, { nowMs }), /amount: not a plain decimal/);
  assert.throws(() => new Budget({ perDay: 1000.5 }), /above the ceiling/);
  assert.throws(() => new Budget({ perWeek: 1 }), /no member is called "perWeek"/);
  assert.equal(new Budget().leftToday(), "10");
});

test("open402: what is built is read back, and nothing is smuggled", () => {
  const fields = { chain: "solana", token: "USDC", amount: "0.05", address: "Addr", service_tier: "basic" };
  const header = `x402 chain="solana" token="USDC" amount="0.05" address="Addr" service_tier="basic"`;
  assert.equal(open402.buildChallenge(fields), header);
  assert.deepEqual(open402.parseChallenge(`Bearer realm="x", ${header}`), fields);
  const proof = { tx_hash: "5Kd3", payer_address: "P", chain: "solana", request_id: "r" };
  assert.deepEqual(open402.parseProof(open402.buildProof(proof)), proof);
  assert.deepEqual(open402.parseProof("x402 5Kd3"), { tx_hash: "5Kd3" });
  for (const address of [`A" amount="9`, "A\r\nX-Evil: 1", "A\\", "A\u0122", ""]) assert.throws(() => open402.buildChallenge({ ...fields, address }), /address: /);
  assert.throws(() => open402.buildChallenge({ ...fields, "max-amount": "9" }), /no field is called so/);
  assert.throws(() => open402.buildChallenge({ ...fields, amount: 0.05 }), /amount: not a text/);
  assert.throws(() => open402.parseChallenge(`${header} amount="9"`), /amount: stands there twice/);
  assert.throws(() => open402.parseProof("Bearer x"), /no x402 challenge or credential/);
});

test("open402: schema, service hash, replay fields", () => {
  const schema = open402.jsonSchema();
  assert.deepEqual(schema.x402_challenge.required, ["chain", "token", "amount", "address"]);
  assert.equal(schema.protocol_version, "v1.0");
  assert.equal(open402.serviceHash("A weather service"), `sha256:${require("node:crypto").createHash("sha256").update("A weather service").digest("hex")}`);
  const [one, two] = [open402.replayHeaders({ nowMs: 1_796_038_177_673 }), open402.replayHeaders()];
  assert.equal(one["X-x402-Timestamp"], "1796038177.673");
  assert.match(one["X-x402-Nonce"], /^[0-9a-f]{32}$/);
  assert.notEqual(one["X-x402-Nonce"], two["X-x402-Nonce"]);
});

test("ESM and CommonJS have the same names, and the types list them all", async () => {
  const { readFileSync } = await import("node:fs");
  for (const name of ["client", "open402"]) {
    const [esm, cjs] = [await import(`forge-x402/${name}`), require(`forge-x402/${name}`)];
    assert.deepEqual(Object.keys(esm).sort(), Object.keys(cjs).sort());
    const types = readFileSync(new URL(`../${name}.d.ts`, import.meta.url), "utf8");
    assert.deepEqual([...types.matchAll(/^export (?:function|class) (\w+)/gm)].map(([, found]) => found).sort(), Object.keys(cjs).sort());
  }
});
