// Runs the merchant on its own, against a facilitator of your choice. SIGTERM ends it once the last events are sent.
//
//   FORGE_API_KEY=... FACILITATOR_URL=https://... PAY_TO=0x... PUBLIC_URL=https://... node server.mjs
//
// FORGE_BACKEND_URL: where events and ratings go, such as http://127.0.0.1:8402; without it nothing is reported.

import { createForge } from "forge-x402";
import { createMerchant } from "./merchant.mjs";

const { FORGE_API_KEY, FORGE_BACKEND_URL, FACILITATOR_URL, PAY_TO, PUBLIC_URL, PORT = "3000" } = process.env;
for (const [name, value] of Object.entries({ FORGE_API_KEY, FACILITATOR_URL, PAY_TO, PUBLIC_URL })) {
  if (!value) {
    console.error(`${name} is not set; needed are FORGE_API_KEY, FACILITATOR_URL, PAY_TO and PUBLIC_URL`);
    process.exit(1);
  }
}

const forge = createForge({ apiKey: FORGE_API_KEY, publicUrl: PUBLIC_URL, backendUrl: FORGE_BACKEND_URL });
const merchant = createMerchant({ facilitatorUrl: FACILITATOR_URL, publicUrl: PUBLIC_URL, payTo: PAY_TO, forge });
const server = merchant.listen(Number(PORT), () => console.log(`weather service on port ${PORT}`));
process.once("SIGTERM", () => {
  server.close(() => forge.shutdown().then(() => process.exit(0)));
  server.closeIdleConnections();
});
