// An Express 4 merchant on the real x402-express (x402 v1), listening on loopback. `outer` stands in front of it.

import { createServer } from "node:http";
import express from "express";
import { paymentMiddleware } from "x402-express";
import { closeServer } from "../facilitator.mjs";

export async function startMerchant({ facilitatorUrl, outer = [], inner = [], routes = paidRoutes(), port = 0 }) {
  const app = express();
  for (const middleware of outer) app.use(middleware);
  app.use(paymentMiddleware("0x209693Bc6afc0C5328bA36FaF03C514EF312287C", routes, { url: facilitatorUrl }));
  for (const middleware of inner) app.use(middleware);
  addHandlers(app);

  const server = createServer(app);
  await new Promise((resolve) => server.listen(port, "127.0.0.1", resolve));
  return { app, seen: {}, port: server.address().port, url: `http://127.0.0.1:${server.address().port}`, close: () => closeServer(server) };
}

export function paidRoutes() {
  const price = { price: "$0.001", network: "base-sepolia" };
  return {
    "GET /weather": {
      ...price,
      config: { description: "Current weather for a city", mimeType: "application/json", resource: "https://api.example.com/weather", inputSchema: { queryParams: { city: "string" } }, outputSchema: { type: "object" } },
    },
    "POST /analyze": { ...price, config: { description: "Sentiment \u2014 caf\u00e9 \u{1F324}", mimeType: "application/json", resource: "https://api.example.com/analyze" } },
    "GET /bare": price,
    "GET /long": { ...price, config: { description: "L".repeat(480), resource: "https://api.example.com/long" } },
    "GET /paid/*": price,
  };
}

function addHandlers(app) {
  app.get("/weather", (req, res) => res.json({ city: req.query.city ?? "Oslo", weather: "foggy", temperature: 60 }));
  app.post("/analyze", express.json(), (req, res) => res.json({ sentiment: "positive", text: req.body.text }));
  app.get("/bare", (req, res) => res.json({ bare: true }));
  app.get("/long", (req, res) => res.json({ long: true }));
  app.get("/free", (req, res) => res.json({ free: true }));
  app.get("/paid/text", (req, res) => res.type("text/plain").send("plain"));
  app.get("/paid/throws", () => {
    throw new Error("thrown by the handler");
  });
  app.get("/paid/missing", (req, res) => res.status(404).json({ error: "not here" }));
  app.get("/paid/trailers", (req, res) => {
    res.setHeader("Content-Type", "application/json");
    res.setHeader("Trailer", "X-Checksum");
    res.write('{"trailers":true}');
    res.addTrailers({ "X-Checksum": "abc" });
    res.end();
  });
  app.use((error, req, res, next) => (res.headersSent ? next(error) : res.status(500).json({ error: error.message })));
}
