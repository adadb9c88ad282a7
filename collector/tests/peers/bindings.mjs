// Our own engine in five servers, each reporting to one real collector: what the collector says afterwards is what happened.
//
//   node bindings.mjs COLLECTOR DATABASE ADDRESS PYTHON GO_MERCHANT C_MERCHANT
//
// COLLECTOR: the program, which serves DATABASE at ADDRESS. Each merchant has a project of its own. The buyer is the real
// @x402/fetch; only the blockchain is imitated. Prints "ok" or "FAILED" lines; the last line is "N passed, N failed".

import { execFile, spawn } from "node:child_process";
import { createServer } from "node:net";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { createBuyer } from "../../../tests/e2e/buyer.mjs";
import { startFacilitator } from "../../../tests/e2e/facilitator.mjs";

const [program, database, address, python, goMerchant, cMerchant] = process.argv.slice(2);
const run = promisify(execFile);
const examples = (name) => fileURLToPath(new URL(`../../../examples/${name}`, import.meta.url));
const backend = `http://${address}`;
const PAY_TO = "0x209693Bc6afc0C5328bA36FaF03C514EF312287C";
const CONTEXT = "city=Bergen&agent_type=claude-code&agent_search_query=weather+api";
const began = new Date().toISOString();
let passed = 0;
let failed = 0;

/** Name, what is started, in which folder of examples/. */
const merchants = [
  ["Node, Express", ({ port }) => [process.execPath, "server.mjs", port], "express"],
  ["Python, ASGI (FastAPI)", ({ port }) => [python, "-m", "uvicorn", "--log-level", "warning", "--port", port, "server:app"], "fastapi"],
  ["Python, WSGI (Flask)", ({ port }) => [python, "-m", "gunicorn", "--log-level", "warning", "--bind", `127.0.0.1:${port}`, "server:app"], "flask"],
  ["Go, net/http", ({ port, facilitator }) => [goMerchant, port, facilitator, backend], "nethttp"],
  ["C, libmicrohttpd", ({ port, facilitator }) => [cMerchant, port, facilitator.replace("http://", ""), backend], "c"],
];

const facilitator = await startFacilitator();
await Promise.all(
  merchants.map(async ([name, command, folder]) => {
    try {
      await trade(name, command, examples(folder));
    } catch (error) {
      check(name, "the run", false, error?.stack);
    }
  }),
);
const { stdout } = await run(program, ["--database", database, "export", "--since", began], { maxBuffer: 64 << 20 });
const all = stdout.trim().split("\n").map((line) => JSON.parse(line));
check("all", "nothing is stored but that", all.length === merchants.length * 5, all.length);
await facilitator.close();
console.log(`${passed} passed, ${failed} failed`);
process.exit(failed === 0 ? 0 : 1);

/** One merchant: a challenge, a purchase, a rating and its correction, a last challenge; then what is stored of it. */
async function trade(name, command, cwd) {
  const { stdout } = await run(program, ["--database", database, "project", "add", name], {});
  const key = stdout.trim();
  check(name, "project add printed a key", /^ffk_[\w-]{43}$/.test(key), stdout);

  const port = await freePort();
  const base = `http://127.0.0.1:${port}`;
  const [file, ...rest] = command({ port, facilitator: facilitator.url });
  const env = { ...process.env, PORT: port, FORGE_API_KEY: key, FORGE_BACKEND_URL: backend, PUBLIC_URL: base, FACILITATOR_URL: facilitator.url, PAY_TO };
  const server = spawn(file, rest, { cwd, env, stdio: ["ignore", "pipe", "pipe"] });
  let said = "";
  for (const stream of [server.stdout, server.stderr]) stream.on("data", (chunk) => (said += chunk));
  const ended = new Promise((resolve) => server.once("exit", (code, signal) => resolve(code ?? signal)));
  let sold;
  try {
    await up(base, ended);
    sold = await purchase(name, base);
    // A reporter sends by itself after a while; the end below must not be what makes it arrive.
    await until(async () => (await rows(name)).filter(({ kind }) => kind === "event").length >= 3);
    const seen = await (await fetch(`${base}/feedback/summary`)).json();
    check(name, "the merchant's summary is the collector's", seen.ratings === 1 && seen.outcomes?.no === 1, seen);
    // What is reported right before the end is delivered by the end.
    await fetch(`${base}/weather?${CONTEXT}`, { headers: sold.agent });
  } finally {
    server.kill("SIGTERM");
    const code = await Promise.race([ended, new Promise((resolve) => setTimeout(resolve, 10_000, "still running"))]);
    if (code === "still running") server.kill("SIGKILL");
    // Uvicorn ends in order and then lets the signal have its way.
    check(name, "the server ends cleanly", code === 0 || (code === "SIGTERM" && rest.includes("uvicorn")), [code, said]);
  }
  await stored(name, key, sold);
}

async function purchase(name, base) {
  const asked = Date.now();
  const url = `${base}/weather?${CONTEXT}`;
  const agent = { "user-agent": `peer/1.0 (${name})`, "x-agent-id": "peer-7" };
  const refused = await fetch(url, { headers: agent });
  check(name, "a challenge", refused.status === 402, refused.status);
  const buyer = createBuyer();
  const answer = await buyer.fetch(url, { headers: agent });
  const body = await answer.json();
  const receipt = JSON.parse(Buffer.from(answer.headers.get("payment-response") ?? "e30", "base64"));
  const id = answer.headers.get("forge-feedback-id");
  check(name, "a paid answer with an id", answer.status === 200 && id && body.feedback_id === id && receipt.success === true, [answer.status, body]);

  // The link as the agent was given it; where its origin is not this machine, at the server itself.
  const link = new URL(body.feedback_url);
  const rated = await fetch(`${base}${link.pathname}${link.search}fully`, { headers: agent });
  check(name, "a rating through the merchant", rated.status === 200 && (await rated.text()) === '{"recorded":true}', rated.status);
  const correction = { feedback_id: id, outcome: "no", issue: "wrong_output", note: `from ${name}` };
  const corrected = await fetch(`${base}/feedback`, { method: "POST", headers: { ...agent, "content-type": "application/json" }, body: JSON.stringify(correction) });
  check(name, "and its correction", corrected.status === 200 && (await corrected.json()).corrected === true, corrected.status);
  return { asked, buyer: buyer.address, id, receipt, correction, agent };
}

/** What `export --since` and GET /summary say of this merchant's project: everything, once, with the right members. */
async function stored(name, key, { asked, buyer, id, receipt, correction, agent }) {
  const found = await rows(name);
  const of = (type) => found.filter((row) => row.kind === "event" && row.event.type === type).map((row) => row.event);
  const [calls, challenges, ratings] = [of("interaction"), of("challenge"), found.filter(({ kind }) => kind === "rating")];
  check(name, "one paid call, three challenges, one rating, nothing else", [calls.length, challenges.length, ratings.length, found.length].join() === "1,3,1,5", found);
  check(name, "every event has an id of its own", new Set(found.filter(({ kind }) => kind === "event").map((row) => row.event_id)).size === 4, found);

  const [call] = calls;
  is(name, "the call", call, {
    feedback_id: id, route: "GET /weather", dialect: "x402/2", status: 200, settled: true, payer: buyer, amount: "1000",
    network: "eip155:84532", scheme: "exact", asset: "0x036CbD53842c5426634e7929541eC2318f3dCF7e", transaction: receipt.transaction,
  });
  check(name, "took a believable time", Number.isInteger(call?.latency_ms) && call.latency_ms >= 0 && call.latency_ms < 60_000, call?.latency_ms);
  for (const event of [...challenges, call]) {
    is(name, `the caller of the ${event?.type}`, event, { route: "GET /weather", user_agent: agent["user-agent"] });
    is(name, `the caller's headers of the ${event?.type}`, event?.request_headers, { "user-agent": agent["user-agent"], "x-agent-id": "peer-7" });
    is(name, `what it said of itself at the ${event?.type}`, event?.agent_context, { agent_type: "Claude Code", search_query: "weather api" });
    check(name, `when the ${event?.type} was`, event?.ts >= asked && event.ts <= Date.now(), [event?.ts, asked]);
  }
  const text = JSON.stringify(found);
  check(name, "no key and no payment is stored", !text.includes(key) && !/authorization|payment-signature|"signature"/i.test(text), text);
  is(name, "the rating", ratings[0], { ...correction, via: "POST", user_agent: agent["user-agent"], route: "GET /weather", status: 200, settled: true });

  const summary = await (await fetch(`${backend}/summary`, { headers: { authorization: `Bearer ${key}` } })).json();
  is(name, "the summary", summary, { ratings: 1, window_days: 30 });
  is(name, "its outcomes", summary.outcomes, { fully: 0, partially: 0, no: 1, not_evaluated: 0 });
  check(name, "its issue", summary.issues?.wrong_output === 1, summary.issues);
  check(name, "its route", summary.routes?.length === 1 && summary.routes[0].route === "GET /weather" && summary.routes[0].outcomes.no === 1, summary.routes);
  is(name, "what does not count", summary.not_counted, { unsettled: 0, waiting_for_call: 0 });
}

async function rows(name) {
  const { stdout } = await run(program, ["--database", database, "export", "--since", began, "--project", name]);
  return stdout.trim().split("\n").filter(Boolean).map((line) => JSON.parse(line));
}

function is(name, what, found, wanted) {
  const wrong = Object.entries(wanted).filter(([member, value]) => found?.[member] !== value);
  check(name, what, wrong.length === 0, { wrong, found });
}

function check(name, what, holds, shown) {
  if (holds) passed++;
  else failed++;
  console.log(holds ? `ok     ${name}: ${what}` : `FAILED ${name}: ${what}: ${typeof shown === "string" ? shown : JSON.stringify(shown)}`);
}

async function up(base, ended) {
  let gone = false;
  ended.then(() => (gone = true));
  await until(async () => gone || (await fetch(`${base}/`).then(() => true, () => false)));
  if (gone) throw new Error("the server ended before it answered");
}

async function until(holds) {
  for (const limit = Date.now() + 90_000; Date.now() < limit; await new Promise((resolve) => setTimeout(resolve, 100))) {
    if (await holds()) return;
  }
  throw new Error("it did not happen within 90 s");
}

function freePort() {
  return new Promise((resolve) => {
    const socket = createServer().listen(0, "127.0.0.1", () => {
      const { port } = socket.address();
      socket.close(() => resolve(String(port)));
    });
  });
}
