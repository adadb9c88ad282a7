// Runs the merchant on its own, against a facilitator of your choice.
//
//   FORGE_API_KEY=... FACILITATOR_URL=https://... PAY_TO=0x... PUBLIC_URL=https://... node server.mjs

import { createForge } from "forge-x402";
import { createMerchant } from "./merchant.mjs";

const { FORGE_API_KEY, FACILITATOR_URL, PAY_TO, PUBLIC_URL, PORT = "3000" } = process.env;
for (const [name, value] of Object.entries({ FORGE_API_KEY, FACILITATOR_URL, PAY_TO, PUBLIC_URL })) {
  if (!value) {
    console.error(`${name} is not set; needed are FORGE_API_KEY, FACILITATOR_URL, PAY_TO and PUBLIC_URL`);
    process.exit(1);
  }
}

const forge = createForge({ apiKey: FORGE_API_KEY, publicUrl: PUBLIC_URL });
createMerchant({ facilitatorUrl: FACILITATOR_URL, publicUrl: PUBLIC_URL, payTo: PAY_TO, forge }).listen(Number(PORT), () => {
  console.log(`weather service on port ${PORT}`);
});
