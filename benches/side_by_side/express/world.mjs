// The other ends: a facilitator that agrees at once, and a backend that takes all events. Tells both URLs to the parent.

import { createServer } from "node:http";

const facilitator = createServer(async (req, res) => {
  const chunks = [];
  for await (const chunk of req) chunks.push(chunk);
  res.setHeader("content-type", "application/json");
  if (req.url === "/supported") return res.end(JSON.stringify({ kinds: [{ x402Version: 2, scheme: "exact", network: "eip155:84532" }], extensions: [], signers: {} }));
  const payer = "0x1111111111111111111111111111111111111111";
  if (req.url === "/verify") return res.end(JSON.stringify({ isValid: true, payer }));
  return res.end(JSON.stringify({ success: true, payer, transaction: `0x${"ab".repeat(32)}`, network: "eip155:84532" }));
});
const backend = createServer((req, res) => {
  req.resume();
  req.on("end", () => res.writeHead(req.url.endsWith("/events") ? 202 : 200, { "content-type": "application/json" }).end("{}"));
});

const urls = [];
for (const server of [facilitator, backend]) {
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  urls.push(`http://127.0.0.1:${server.address().port}`);
}
process.on("disconnect", () => process.exit());
process.send(urls);
