// Child process of the double-send test: one merchant, one paid request to the given path, then one free request.
// Prints what the socket received; a crash of the server is a crash of this process, which is what the test looks at.

import { createBuyer } from "../buyer.mjs";
import { startFacilitator } from "../facilitator.mjs";
import { startMerchant } from "../merchant.mjs";
import { API_KEY, loadForge, PUBLIC_URL } from "./forge.mjs";
import { open, request, requestBytes } from "./raw-http.mjs";

const [side, path] = process.argv.slice(2);
const outer = side === "ours" ? [loadForge().createForge({ apiKey: API_KEY, publicUrl: PUBLIC_URL }).middleware()] : [];
const facilitator = await startFacilitator();
const merchant = await startMerchant({ facilitatorUrl: facilitator.url, outer });

const payment = await createBuyer().pay(await request(merchant.port, { path }));
const connection = await open(merchant.port);
connection.send(requestBytes({ path, headers: payment }));
await connection.peek(1);
await new Promise((resolve) => setTimeout(resolve, 200));
const received = connection.leftover().toString("latin1");
connection.close();
const next = await request(merchant.port, { path: "/free" });
console.log(JSON.stringify({ received, next: next.status }));
process.exit(0);
