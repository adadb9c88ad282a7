// The demo's cast on loopback: the merchant with forge-x402, the same merchant without it, a facilitator for each, and the
// backend that takes events and ratings.

import { createServer } from "node:http";
import { createForge } from "forge-x402";
import { closeServer, startFacilitator } from "../../../tests/e2e/facilitator.mjs";
import { startReceiver } from "../../../tests/e2e/receiver.mjs";
import { createMerchant } from "../merchant.mjs";
import { startCollector } from "./collector.mjs";

const PAY_TO = "0x209693Bc6afc0C5328bA36FaF03C514EF312287C";

export async function openWorld() {
  const facilitator = await startFacilitator();
  const server = await listen();
  const url = addressOf(server);
  const collector = await startCollector();
  const { apiKey } = collector;
  // The receiver passes everything on to the collector and keeps a copy to show.
  const receiver = await startReceiver({ apiKey, forward: collector.url });
  // Five attempts instead of a hundred in a minute, so that the broken agent of the demo is told soon.
  const diagnostics = { attempts: 5, minAgeMs: 0 };
  const forge = createForge({ apiKey, publicUrl: url, backendUrl: receiver.url, diagnostics });
  const merchant = createMerchant({ facilitatorUrl: facilitator.url, publicUrl: url, payTo: PAY_TO, forge });
  // As behind a proxy on the same machine, which says where a request came from.
  merchant.set("trust proxy", "loopback");
  server.on("request", merchant);

  // The same service without us; it believes it is the other one, so that only our additions differ.
  const plainFacilitator = await startFacilitator();
  const plainServer = await listen();
  plainServer.on("request", createMerchant({ facilitatorUrl: plainFacilitator.url, publicUrl: url, payTo: PAY_TO }));

  return {
    ours: { url, facilitator, forge },
    receiver,
    collector,
    plain: { url: addressOf(plainServer), facilitator: plainFacilitator },
    payTo: PAY_TO,
    async close() {
      await Promise.all([closeServer(server), closeServer(plainServer), facilitator.close(), plainFacilitator.close()]);
      await forge.shutdown();
      await receiver.close();
      await collector.close();
    },
  };
}

async function listen() {
  const server = createServer();
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  return server;
}

function addressOf(server) {
  return `http://127.0.0.1:${server.address().port}`;
}
