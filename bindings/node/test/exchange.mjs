// Runs one exchange of a conformance case through the addon, by the steps of tests/conformance/README.md.

import assert from "node:assert/strict";
import { createRequire } from "node:module";
import exchanges from "../lib/exchanges.js";
import verdicts from "../lib/verdict.js";
import wire from "../lib/wire.js";

const { PASS, REPLY, WANT_BODY, WAIT, bodyBytes } = verdicts;
const { Exchange } = createRequire(import.meta.url)("../lib/native.js").load();

/** `{ began, first, final, body }`: whether on_request gave an exchange, the two verdicts' edits, the final verdict, the body. */
export function exchange(engine, request, response, { atOnce = false } = {}) {
  const flat = (headers) => headers.flat().join("\n");
  const { status, headers, body } = response;
  const head = wire.requestHead(request.method, request.target, "", request.headers.flat());
  const ours = new exchanges.Exchanges(engine, () => new Exchange());
  let begun = ours.onRequest(head);
  const began = begun !== null;
  let current = begun?.exchange;
  if (began && begun.verdict.action === WANT_BODY) {
    const verdict = current.onRequestBody(request.body);
    assert.deepEqual([verdict.action, verdict.target, verdict.body], [PASS, "", null], "the request comes out as it went in");
  }
  if (!began && status !== 402) return { began, wanted: false, edits: [], body };

  const shown = atOnce ? body : undefined;
  let verdict;
  if (began) verdict = current.onResponse(status, "", flat(headers), shown, false);
  else {
    begun = ours.onResponseLate(head, status, "", flat(headers), shown, false);
    if (begun === null) return { began, wanted: false, edits: [], body };
    ({ exchange: current, verdict } = begun);
  }
  const first = edits(verdict);
  const wanted = verdict.action === WANT_BODY;
  if (wanted && body.length <= verdict.bodyLimit) verdict = current.onResponse(status, "", flat(headers), body, false);
  current.end("delivered", status, body.length);
  return { began, wanted, first, edits: edits(verdict), body: bodyBytes(verdict) ?? body, id: verdict.feedbackId || undefined };
}

/** What becomes of a request, by the part of README.md about requests.json: the verdict's name and what is handed on or answered. */
export async function ofRequest(engine, { method, target, headers, body }) {
  const head = wire.requestHead(method, target, "", headers.flat());
  const begun = new exchanges.Exchanges(engine, () => new Exchange()).onRequest(head);
  if (begun === null) return { verdict: "nothing", wanted: false, waited: false, target, edits: [], body };
  let { exchange: current, verdict } = begun;
  const wanted = verdict.action === WANT_BODY;
  if (wanted) verdict = current.onRequestBody(body.subarray(0, verdict.bodyLimit + 1));
  const waited = verdict.action === WAIT;
  if (waited) verdict = await current.wait(3_000);
  assert.ok([PASS, REPLY].includes(verdict.action), `action ${verdict.action}`);
  current.end("delivered", verdict.httpStatus, 0);
  const replied = verdict.action === REPLY;
  return {
    verdict: replied ? "reply" : "pass",
    wanted,
    waited,
    status: verdict.httpStatus,
    target: verdict.target || target,
    edits: edits(verdict),
    body: bodyBytes(verdict) ?? (replied ? Buffer.alloc(0) : body),
  };
}

function edits({ edits }) {
  const out = [];
  for (let at = 0; at < edits.length; at += 3) out.push([{ S: "set", A: "add", R: "remove" }[edits[at]], edits[at + 1], edits[at + 2]]);
  return out;
}

/** The head after edits: kept lines in order, appended ones as a set. */
export function applied(headers, edits) {
  const kept = headers.map(([name, value]) => [name, value]);
  const appended = [];
  for (const [op, name, value] of edits) {
    const same = ([line]) => line.toLowerCase() === name.toLowerCase();
    const [index, later] = [kept.findIndex(same), appended.findIndex(same)];
    if (op === "add" || (op === "set" && index < 0 && later < 0)) appended.push([name, value]);
    else {
      let place = op === "set";
      for (const lines of [kept, appended]) {
        for (let at = 0; at < lines.length; at += 1) {
          if (!same(lines[at])) continue;
          if (place) lines[at] = [lines[at][0], value];
          else lines.splice(at--, 1);
          place = false;
        }
      }
    }
  }
  return { kept, appended: appended.map((line) => line.join(": ")).sort() };
}
