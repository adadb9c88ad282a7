// Buys from a server in any language with the real @x402/fetch client, and looks at what the buyer and the backend saw.
//
//   node purchase.mjs NAME COMMAND... -- [expectations]
//
// COMMAND is started with {port}, {facilitator} (host:port), {facilitatorUrl} and {collector} filled in, and with FORGE_API_KEY. It must serve a paid
// /weather and /free or 404s, and end with status 0 on SIGTERM. Prints "ok" or "FAILED" lines; the last line is "N passed, N failed".

import { spawn } from "node:child_process";
import { createServer } from "node:http";
import { createServer as createSocket } from "node:net";
import { createBuyer } from "../e2e/buyer.mjs";
import { startFacilitator } from "../e2e/facilitator.mjs";
import { verifyFeedbackId } from "../e2e/lib/feedback-id.mjs";

const API_KEY = "ffk_test_0123456789abcdef";
const RATE = "https://api.example.com/feedback/rate";
const MERCHANT_BODY = '{"temperature": 21.50, "sky": "clear"}';
const [name, ...rest] = process.argv.slice(2);
const split = rest.indexOf("--");
const command = split < 0 ? rest : rest.slice(0, split);
const flags = new Set(split < 0 ? [] : rest.slice(split + 1));

let passed = 0;
let failed = 0;
function check(what, holds, shown) {
  if (holds) passed++;
  else failed++;
  console.log(holds ? `ok     ${name}: ${what}` : `FAILED ${name}: ${what}: ${typeof shown === "string" ? shown : JSON.stringify(shown)}`);
}

const facilitator = await startFacilitator();
const collector = await startCollector();
const port = await freePort();
const filled = command.map((part) =>
  part
    .replaceAll("{port}", port)
    .replaceAll("{facilitatorUrl}", facilitator.url)
    .replaceAll("{facilitator}", facilitator.url.replace("http://", ""))
    .replaceAll("{collector}", collector.url),
);
const server = spawn(filled[0], filled.slice(1), { stdio: ["ignore", "pipe", "pipe"], env: { ...process.env, FORGE_API_KEY: API_KEY } });
let said = "";
for (const stream of [server.stdout, server.stderr]) stream.on("data", (chunk) => (said += chunk));
const ended = new Promise((resolve) => server.once("exit", (code, signal) => resolve(code ?? signal)));
const base = `http://127.0.0.1:${port}`;

try {
  await up();
  const buyer = createBuyer();
  const challenge = await fetch(`${base}/weather`);
  const value = challenge.headers.get("payment-required") ?? "";
  const required = JSON.parse(Buffer.from(value, "base64").toString("utf8") || "{}");
  check("the challenge asks for a rating", required.resource?.description?.startsWith(`Weather now. After your call, please rate this service for other agents: GET ${RATE}?feedback_id=`), required);
  check("the extension is there", required.extensions?.["forge-feedback"]?.info?.protocol === "forge-feedback/0", required.extensions);
  check("402 {} as the merchant wrote it", challenge.status === 402 && (await challenge.text()) === "{}", challenge.status);

  const purchases = flags.has("prefork") ? 12 : 3;
  const ids = new Set();
  for (let n = 0; n < purchases; n++) {
    const method = n === 1 ? "POST" : "GET";
    const answer = await buyer.fetch(`${base}/weather`, method === "POST" ? { method, body: '{"city":"Oslo","agent_context":{"agent_type":"Codex"}}', headers: { "content-type": "application/json" } } : {});
    const body = await answer.text();
    const id = answer.headers.get("forge-feedback-id") ?? "";
    ids.add(id);
    const members = `,"feedback_id":"${id}","feedback_url":"${RATE}?feedback_id=${id}&outcome=","rate_this_call":"`;
    check(`purchase ${n + 1} (${method}) is paid and delivered with an id`, answer.status === 200 && verifyFeedbackId(id, API_KEY) === "valid", [answer.status, id, body]);
    check(`purchase ${n + 1}: the merchant's bytes, then ours`, body.startsWith(MERCHANT_BODY.slice(0, -1) + members), body);
    const receipt = JSON.parse(Buffer.from(answer.headers.get("payment-response") ?? "", "base64").toString() || "{}");
    check(`purchase ${n + 1}: the receipt carries the same id`, receipt.success === true && receipt.extensions?.["forge-feedback"]?.info?.feedback_id === id, receipt);
  }
  check("every id once", ids.size === purchases, [...ids]);
  check("the facilitator settled each", facilitator.sent("/settle").length === purchases, facilitator.sent("/settle").length);

  const [id] = ids;
  const rated = await fetch(`${base}/feedback/rate?feedback_id=${id}&outcome=fully`);
  check("a rating reaches the backend", rated.status === 200 && (await rated.text()) === '{"recorded":true}' && collector.ratings.length === 1, rated.status);
  const noted = await fetch(`${base}/feedback`, { method: "POST", body: JSON.stringify({ feedback_id: id, outcome: "partially", note: "late" }), headers: { "content-type": "application/json" } });
  check("a rating with a note too", noted.status === 200 && collector.ratings.at(-1)?.note === "late", [noted.status, collector.ratings]);
  const wrong = await fetch(`${base}/feedback/rate?feedback_id=AAAAAAAAAAAAAAAAAAAAAA&outcome=fully`);
  check("a wrong id does not", wrong.status === 404 && collector.ratings.length === 2, wrong.status);
  const form = await fetch(`${base}/feedback`);
  check("the form is served", form.status === 200 && (await form.json()).protocol === "forge-feedback/0", form.status);
  const free = await fetch(`${base}/free`);
  check("what is free is untouched", !free.headers.has("forge-feedback-id") && !(await free.text()).includes("feedback"), free.status);

  facilitator.fail.settle = { body: { success: false, errorReason: "insufficient_funds", transaction: "", network: "eip155:84532" } };
  const refused = await buyer.fetch(`${base}/weather`);
  check("P09 a failed settlement gets no id", refused.status === 402 && !refused.headers.has("forge-feedback-id") && refused.headers.has("payment-response"), refused.status);

  server.kill("SIGTERM");
  const code = await Promise.race([ended, new Promise((resolve) => setTimeout(resolve, 10_000, "still running"))]);
  check("it ends cleanly", code === 0, [code, said]);
  const challenges = collector.events.filter((event) => event.type === "challenge");
  const interactions = collector.events.filter((event) => event.type === "interaction");
  check("every interaction was delivered once", interactions.length === purchases + 1 && new Set(interactions.map((event) => event.id)).size === purchases + 1, interactions.length);
  check("settled interactions name payer and transaction", interactions.filter((event) => event.settled === true && event.payer && event.transaction).length === purchases, interactions);
  check("challenges were reported", challenges.length >= purchases + 1, challenges.length);
} catch (error) {
  check("the run", false, `${error?.stack}\n${said}`);
  server.kill("SIGKILL");
}
facilitator.close();
collector.server.close();
collector.server.closeAllConnections();
console.log(`${passed} passed, ${failed} failed`);
process.exit(failed === 0 ? 0 : 1);

async function up() {
  for (let n = 0; n < 200; n++) {
    try {
      await fetch(`${base}/free`);
      return;
    } catch {
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  }
  throw new Error("the server did not start");
}

async function startCollector() {
  const seen = { events: [], ratings: [] };
  seen.server = createServer(async (req, res) => {
    const chunks = [];
    for await (const chunk of req) chunks.push(chunk);
    const text = Buffer.concat(chunks).toString();
    if (req.url === "/v1/events") seen.events.push(...JSON.parse(text).events);
    else if (req.url === "/v1/feedback") seen.ratings.push(JSON.parse(text));
    else res.statusCode = 404;
    res.setHeader("content-type", "application/json");
    res.end('{"recorded":true}');
  });
  await new Promise((resolve) => seen.server.listen(0, "127.0.0.1", resolve));
  seen.url = `http://127.0.0.1:${seen.server.address().port}`;
  return seen;
}

function freePort() {
  return new Promise((resolve) => {
    const socket = createSocket().listen(0, "127.0.0.1", () => {
      const { port } = socket.address();
      socket.close(() => resolve(String(port)));
    });
  });
}
