// A weather service that charges a tenth of a cent per call. forge-x402 is two lines of it.

import express from "express";
import { HTTPFacilitatorClient } from "@x402/core/server";
import { ExactEvmScheme } from "@x402/evm/exact/server";
import { paymentMiddleware, x402ResourceServer } from "@x402/express";
import { declareDiscoveryExtension } from "@x402/extensions/bazaar";

/** `forge` is what `createForge(options)` returned; without it the service is the same, minus the feedback loop. */
export function createMerchant({ facilitatorUrl, publicUrl, payTo, forge }) {
  const app = express();

  // In front of the payment middleware, so that it sees the 402, the receipt and the paid answer.
  if (forge) app.use(forge.middleware());

  const payments = new x402ResourceServer(new HTTPFacilitatorClient({ url: facilitatorUrl }));
  payments.register("eip155:84532", new ExactEvmScheme());
  app.use(
    paymentMiddleware(
      {
        "GET /weather": {
          accepts: { scheme: "exact", network: "eip155:84532", price: "$0.001", payTo, maxTimeoutSeconds: 60 },
          resource: `${publicUrl}/weather`,
          description: "Current weather for a city",
          mimeType: "application/json",
          extensions: declareDiscoveryExtension({
            input: { city: "Oslo" },
            inputSchema: { properties: { city: { type: "string" } }, required: ["city"] },
            output: { example: { city: "Oslo", weather: "foggy", temperature: 6.5 } },
          }),
        },
      },
      payments,
    ),
  );

  app.get("/weather", (req, res) => res.json({ city: req.query.city ?? "Oslo", weather: "foggy", temperature: 6.5 }));
  app.get("/", (req, res) => res.type("text/plain").send("GET /weather?city=Oslo costs 0.001 USDC\n"));
  return app;
}
