// Buys one answer with a throw-away account: node pay.mjs <url>. Works against the demo, whose blockchain is imitated.

import { purchase } from "./demo/purchase.mjs";

const url = process.argv[2];
if (!url) {
  console.error("usage: node pay.mjs <url of a paid route>");
  process.exit(1);
}
const { answer } = await purchase(url);
console.log(`${answer.status} ${answer.statusText}`);
for (const [name, value] of answer.headers) console.log(`${name}: ${value}`);
console.log(`\n${await answer.text()}`);
