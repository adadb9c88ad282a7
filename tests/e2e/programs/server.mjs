// A server with the middleware that takes one request and closes: nothing of ours may keep the process alive.

import { createServer } from "node:http";
import { API_KEY, loadForge } from "../lib/forge.mjs";

const forge = loadForge().createForge({ apiKey: API_KEY, backendUrl: process.argv[2] });
const middleware = forge.middleware();
const server = createServer((req, res) => middleware(req, res, () => res.end("ok")));
await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
const payment = Buffer.from('{"x402Version":2,"payload":{},"accepted":{}}').toString("base64");
const answer = await fetch(`http://127.0.0.1:${server.address().port}/`, { headers: { "PAYMENT-SIGNATURE": payment, Connection: "close" } });
console.log(await answer.text());
server.close();
