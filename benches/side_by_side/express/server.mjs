// One merchant in a process of its own: `server.mjs real|stub bare|empty|same|ours <facilitator> <backend> [answers]`. Tells its port
// to the parent, and its CPU time whenever asked.

import { createRequire } from "node:module";
import { startMerchant } from "../../../tests/e2e/merchant.mjs";
import { loadForge } from "../../../tests/e2e/lib/forge.mjs";

const [layer, side, facilitatorUrl, backendUrl, answers] = process.argv.slice(2);
const outer = {
  bare: () => [],
  // Without us, but with the larger answers: what those cost a server is not ours to save.
  same: () => [],
  // What Express takes for any middleware, whatever it does.
  empty: () => [(_req, _res, next) => next()],
  ours: () => [loadForge().createForge({ apiKey: "ffk_bench_key", publicUrl: "https://api.example.com", backendUrl }).middleware()],
}[side]();
const { port } = layer === "real" ? await startMerchant({ facilitatorUrl, outer }) : await startStub();

process.on("message", () => {
  const { user, system } = process.cpuUsage();
  process.send({ cpuUs: user + system });
});
process.on("disconnect", () => process.exit());
process.send({ port });

/** In place of the payment layer: the same headers, no facilitator, no check. */
async function startStub() {
  const express = createRequire(new URL("../../../tests/e2e/package.json", import.meta.url))("express");
  const encode = (value) => Buffer.from(JSON.stringify(value)).toString("base64");
  const accepts = [{ scheme: "exact", network: "eip155:84532", amount: "1000", asset: "0x036CbD53842c5426634e7929541eC2318f3dCF7e", payTo: "0x209693Bc6afc0C5328bA36FaF03C514EF312287C", maxTimeoutSeconds: 60, extra: { name: "USDC", version: "2" } }];
  const challenge = encode({ x402Version: 2, error: "Payment required", resource: { url: "https://api.example.com/weather", description: "Current weather for a city", mimeType: "application/json" }, accepts });
  const receipt = encode({ success: true, payer: "0x1111111111111111111111111111111111111111", transaction: `0x${"ab".repeat(32)}`, network: "eip155:84532" });
  const app = express();
  for (const middleware of outer) app.use(middleware);
  if (side === "same") sendInstead(app, ...JSON.parse(answers));
  app.use("/weather", (req, res, next) => {
    if (req.headers["payment-signature"] === undefined) return res.status(402).set("PAYMENT-REQUIRED", challenge).json({});
    res.set("PAYMENT-RESPONSE", receipt);
    return next();
  });
  app.get("/weather", (req, res) => res.json({ city: "Oslo", weather: "foggy", temperature: 60 }));
  app.get("/free", (req, res) => res.json({ free: true }));
  const server = app.listen(0, "127.0.0.1");
  await new Promise((resolve) => server.once("listening", resolve));
  return { port: server.address().port };
}

/** The two answers that ours gives, as the stub below them would send them. */
function sendInstead(app, challenge, paid) {
  const [asked, receipt, body] = [challenge.headers, paid.headers, JSON.parse(paid.body)];
  const withHeaders = (res, headers) => headers.reduce((response, [name, value]) => response.set(name, value), res);
  app.use("/weather", (req, res, next) => {
    if (req.headers["payment-signature"] === undefined) return withHeaders(res.status(402), asked).json({});
    withHeaders(res, receipt);
    return next();
  });
  app.get("/weather", (req, res) => res.json(body));
}
