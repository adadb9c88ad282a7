// What the merchant charges for: the route table @x402/express reads.

import { declareDiscoveryExtension } from "@x402/extensions/bazaar";

export function paidRoutes() {
  return {
    "GET /weather": {
      accepts: price({ maxTimeoutSeconds: 60 }),
      description: "Current weather for a city",
      mimeType: "application/json",
      extensions: declareDiscoveryExtension({
        input: { city: "San Francisco" },
        inputSchema: { properties: { city: { type: "string" } }, required: ["city"] },
        output: { example: { city: "San Francisco", weather: "foggy", temperature: 60 } },
      }),
    },
    "POST /analyze": {
      accepts: price({ price: "$0.01" }),
      description: "Sentiment analysis of a text \u2014 caf\u00e9 \u2713 \u{1F324}",
      mimeType: "application/json",
      extensions: declareDiscoveryExtension({
        bodyType: "json",
        input: { text: "I love this" },
        inputSchema: { properties: { text: { type: "string" } }, required: ["text"] },
        output: { example: { sentiment: "positive", score: 0.9 } },
      }),
    },
    "GET /bare": { accepts: price() },
    "GET /two-prices": {
      accepts: [price({ maxTimeoutSeconds: 300 }), price({ price: "$0.002", maxTimeoutSeconds: 120 })],
      description: "Two prices",
      mimeType: "text/plain",
      serviceName: "Two prices",
      tags: ["a", "b"],
      iconUrl: "https://example.com/icon.png",
    },
    "GET /long-description/:length": { accepts: price(), description: "L".repeat(450), mimeType: "application/json" },
    "GET /preview": {
      accepts: price(),
      description: "Rows of a table",
      unpaidResponseBody: () => ({ contentType: "application/json", body: { preview: "first 3 rows", rows: [1, 2, 3] } }),
    },
    "GET /apology": {
      accepts: price(),
      description: "Says sorry when the payment fails",
      settlementFailedResponseBody: (_context, failure) => ({ contentType: "application/json", body: { sorry: failure.errorReason } }),
    },
    "GET /paywall": { accepts: price(), description: "A page with a paywall of its own", customPaywallHtml: PAYWALL },
    "GET /upfront": { accepts: price({ extra: { paymentFlow: "upfront" } }), description: "Settled before the handler runs" },
    "GET /upfront-failing": { accepts: price({ extra: { paymentFlow: "upfront" } }), description: "Settled, then the handler fails" },
    "/any-method": { accepts: price(), description: "Paid whatever the method" },
    // Everything below /paid/ costs the same and has no description: the subject is the answer, not the challenge.
    "GET /paid/*": { accepts: price() },
    "POST /paid/*": { accepts: price() },
    "OPTIONS /paid-options": { accepts: price() },
  };
}

export const PAYWALL = "<!doctype html><title>Pay</title><p>caf\u00e9 {\"x402Version\":2,\"accepts\":[]}</p>\n";

function price(extra = {}) {
  return { scheme: "exact", network: "eip155:84532", price: "$0.001", payTo: "0x209693Bc6afc0C5328bA36FaF03C514EF312287C", ...extra };
}
