// Routes whose PAYMENT-REQUIRED value has a given size before we add anything, by means of an extension of filler.

import { decodeText } from "../lib/x402-headers.mjs";

const PAY_TO = "0x209693Bc6afc0C5328bA36FaF03C514EF312287C";

export const pathOf = (size) => `/challenge-of/${String(size).padStart(5, "0")}`;

export function sizedRoutes(sizes, emptyBytes = 0) {
  return Object.fromEntries(sizes.map((size) => [`GET ${pathOf(size)}`, route("x".repeat(Math.max(0, Math.floor((size * 3) / 4) - emptyBytes)))]));
}

/** Bytes of the JSON of a challenge without filler. */
export function emptyBytes(answer) {
  return Buffer.byteLength(decodeText(answer.header("payment-required")));
}

function route(filler) {
  return {
    accepts: { scheme: "exact", network: "eip155:84532", price: "$0.001", payTo: PAY_TO, maxTimeoutSeconds: 600 },
    description: "A route with a challenge of a given size",
    extensions: { filler: { info: { text: filler } } },
  };
}
