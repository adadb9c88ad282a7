// An agent whose payment handler is broken: it asks, cannot pay, and asks again. The one thing in it that works is `decide`.

import { decide, escalationEvent, parseChallenge, parseDiagnostic } from "forge-x402/client";

export const USER_AGENT = "weather-loop/0.3";

/** Runs until `decide` stops it, at most `most` times; resolves with what it was told last and what it made of that. */
export async function runBrokenAgent(url, { most = 50 } = {}) {
  const headers = {
    "User-Agent": USER_AGENT,
    "X-Agent-ID": "weather-loop-7",
    "X-Operator-Contact": "mailto:operator@agent.example",
    // It comes from elsewhere, through the merchant's proxy; the demo's merchant trusts that header from loopback.
    "X-Forwarded-For": "203.0.113.9",
  };
  for (let attempts = 1; attempts <= most; attempts++) {
    const answer = await fetch(url, { headers });
    const received = { status: answer.status, headers: answer.headers, body: await answer.text() };
    const [offer] = parseChallenge(received).offers;
    const diagnostic = parseDiagnostic(received);
    const decision = decide(diagnostic, { withinBudget: true });
    if (decision.action !== "pay") {
      const event = escalationEvent(diagnostic, { endpoint: url, amount: Number(offer.amount) / 1e6, currency: "USDC" });
      return { attempts, received, diagnostic, decision, event };
    }
    try {
      pay(offer);
    } catch {
      // The bug: nobody looks, and the loop goes round.
    }
  }
  throw new Error(`nothing stopped the broken agent in ${most} attempts`);
}

function pay(offer) {
  throw new Error(`cannot sign ${offer.amount}: the wallet does not answer`);
}
