// A paid API that has never heard of forge-x402: node:http, the x402 v2 exchange with a facilitator, nothing else.
//
//   node upstream.mjs FACILITATOR_URL     prints its port

import { createServer } from "node:http";

const facilitator = process.argv[2];
const TERMS = {
  scheme: "exact", network: "eip155:84532", amount: "1000", asset: "0x036CbD53842c5426634e7929541eC2318f3dCF7e",
  payTo: "0x1111111111111111111111111111111111111111", maxTimeoutSeconds: 60, extra: { name: "USDC", version: "2" },
};
const BODY = '{"temperature": 21.50, "sky": "clear"}';

const server = createServer(async (req, res) => {
  for await (const chunk of req) void chunk;
  const paid = req.headers["payment-signature"];
  if (req.url !== "/weather") return send(res, 404, { "content-type": "text/plain" }, "not here");
  if (paid === undefined) return challenge(res, "PAYMENT-SIGNATURE header is required");
  const ask = async (path) =>
    (await fetch(facilitator + path, { method: "POST", body: JSON.stringify({ x402Version: 2, paymentPayload: JSON.parse(Buffer.from(paid, "base64")), paymentRequirements: TERMS }) })).json();
  if (!(await ask("/verify")).isValid) return challenge(res, "the payment is not valid");
  const receipt = await ask("/settle");
  const headers = { "payment-response": Buffer.from(JSON.stringify(receipt)).toString("base64") };
  if (!receipt.success) return challenge(res, "the payment was not settled", headers);
  send(res, 200, { ...headers, "content-type": "application/json", etag: '"1"' }, BODY);
});

function challenge(res, error, headers = {}) {
  const text = JSON.stringify({ x402Version: 2, error, resource: { url: "http://upstream/weather", description: "Weather now.", mimeType: "application/json" }, accepts: [TERMS] });
  send(res, 402, { ...headers, "payment-required": Buffer.from(text).toString("base64"), "content-type": "application/json" }, "{}");
}

function send(res, status, headers, body) {
  res.writeHead(status, { ...headers, "content-length": body.length });
  res.end(body);
}

server.listen(0, "127.0.0.1", () => console.log(server.address().port));
