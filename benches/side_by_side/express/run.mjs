// CPU per request of an Express merchant, and the requests per second that makes, with and without forge-x402; see README.md.

import { execFile, fork } from "node:child_process";
import { readFileSync, readdirSync } from "node:fs";
import { availableParallelism } from "node:os";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { createBuyer } from "../../../tests/e2e/buyer.mjs";
import { request } from "../../../tests/e2e/lib/raw-http.mjs";

const PROCESSES = Number(process.env.PROCESSES ?? 2);
const ROUNDS = Number(process.env.ROUNDS ?? 6);
const SECONDS = Number(process.env.SECONDS ?? 1);
const LAYERS = (process.env.LAYERS ?? "real,stub").split(",");
const SIDES = { real: ["bare", "empty", "ours"], stub: ["bare", "empty", "same", "ours"] };
// The processor of server and wrk, and that of their peers.
const [OURS, THEIRS] = [0, availableParallelism() - 1];
const KINDS = [["paid", "/weather", 200], ["402", "/weather", 402], ["free", "/free", 200]];
const children = [];

const [facilitator, backend] = await said(start(THEIRS, "world.mjs", []));
console.log(`wrk, 16 connections, ${SECONDS} s a run, medians of ${ROUNDS} rounds in each of ${PROCESSES} sets of processes; CPU is the server process's\n`);
console.log(["payment layer", "request", "without 1/s", "with 1/s", "with ÷ without", "CPU µs without", "with", "difference", "quiet ratio", "quiet diff.", "empty", "same answers", "reporting"].map(pad).join(""));
for (const layer of LAYERS) {
  const rounds = Object.fromEntries(KINDS.map(([kind]) => [kind, []]));
  // V8 compiles the same program differently each time: one process may be several microseconds faster than the next.
  for (let set = 0; set < PROCESSES; set += 1) await measure(layer, rounds);
  for (const [kind] of KINDS) report(layer, kind, rounds[kind]);
}
for (const child of children) child.kill();

/** Adds the rounds of one set of processes. */
async function measure(layer, rounds) {
  const merchants = {};
  const sides = SIDES[layer];
  const begin = async (side, ...more) => {
    const child = start(OURS, "server.mjs", [layer, side, facilitator, backend, ...more]);
    merchants[side] = { child, port: (await said(child)).port };
  };
  await begin("ours");
  const challenge = await request(merchants.ours.port, { path: "/weather" });
  const payment = (await createBuyer().pay(challenge))["PAYMENT-SIGNATURE"];
  const paid = await request(merchants.ours.port, { path: "/weather", headers: { "PAYMENT-SIGNATURE": payment } });
  if (!paid.header("forge-feedback-id")) throw new Error("the addon is not built: node bindings/node/build.mjs");
  for (const side of sides) {
    if (side !== "ours") await begin(side, ...(side === "same" ? [JSON.stringify([challenge, paid].map(sent))] : []));
  }
  for (const [kind, path, status] of KINDS) {
    const header = kind === "paid" ? `PAYMENT-SIGNATURE: ${payment}` : undefined;
    for (const side of sides) await expectStatus(merchants[side], path, status, header);
    for (let round = 0; round <= ROUNDS; round += 1) {
      // By turns, and the first of a round by turns too; the first round only warms up.
      const order = round % 2 === 0 ? sides : sides.toReversed();
      const results = {};
      for (const side of order) results[side] = await load(merchants[side], path, header);
      if (round > 0) rounds[kind].push(results);
    }
  }
  for (const { child } of Object.values(merchants)) {
    child.removeAllListeners("exit");
    child.kill();
  }
}

function report(layer, kind, rounds) {
  const of = (pick) => median(rounds.map(pick));
  // Between the fastest quarters of both sides, which whatever else the machine does disturbs least.
  const quiet = (side) => rounds.map((results) => results[side].cpuUs).toSorted((a, b) => a - b)[Math.floor(rounds.length / 4)];
  console.log(
    [
      layer === "real" ? "@x402/express" : "stub",
      kind,
      of(({ bare }) => 1e6 / bare.cpuUs).toFixed(0),
      of(({ ours }) => 1e6 / ours.cpuUs).toFixed(0),
      of(({ bare, ours }) => bare.cpuUs / ours.cpuUs).toFixed(3),
      of(({ bare }) => bare.cpuUs).toFixed(1),
      of(({ ours }) => ours.cpuUs).toFixed(1),
      of(({ bare, ours }) => ours.cpuUs - bare.cpuUs).toFixed(1),
      (quiet("bare") / quiet("ours")).toFixed(3),
      (quiet("ours") - quiet("bare")).toFixed(1),
      (quiet("empty") - quiet("bare")).toFixed(1),
      rounds[0].same ? (quiet("same") - quiet("bare")).toFixed(1) : "-",
      of(({ ours }) => ours.reportingUs).toFixed(1),
    ].map(pad).join(""),
  );
}

/** What an answer of ours consists of, for a server that sends the same. */
function sent({ status, headers, body }) {
  return { status, headers: headers.filter(([name]) => !/^(date|connection|keep-alive|content-length|etag|x-powered-by)$/i.test(name)), body: body.toString() };
}

function start(processor, file, args) {
  const child = fork(fileURLToPath(new URL(file, import.meta.url)), args, {
    execPath: "taskset", execArgv: ["-c", String(processor), process.execPath],
    stdio: ["ignore", "ignore", "inherit", "ipc"], env: { ...process.env, NODE_ENV: "production" },
  });
  children.push(child);
  return child;
}

function said(child) {
  return new Promise((resolve, reject) => {
    const ended = () => reject(new Error("a server ended"));
    child.once("exit", ended);
    child.once("message", (message) => {
      child.off("exit", ended);
      resolve(message);
    });
  });
}

async function load({ child, port }, path, header) {
  const cpu = async () => {
    const answer = said(child);
    child.send("cpu");
    return { ...(await answer), reportingUs: reporting(child.pid) };
  };
  const before = await cpu();
  const args = ["-b", "0", "taskset", "-c", String(OURS), "wrk", "-t1", "-c16", `-d${SECONDS}s`, ...(header ? ["-H", header] : []), `http://127.0.0.1:${port}${path}`];
  const { stdout } = await promisify(execFile)("chrt", args);
  const after = await cpu();
  const requests = Number(/(\d+) requests in/.exec(stdout)[1]);
  if (/Socket errors/.test(stdout)) throw new Error(stdout);
  const reportingUs = (after.reportingUs - before.reportingUs) / requests;
  return { cpuUs: (after.cpuUs - before.cpuUs) / requests - reportingUs, reportingUs };
}

/** Microseconds that the thread which sends events has run. */
function reporting(pid) {
  const tasks = readdirSync(`/proc/${pid}/task`).map((task) => `/proc/${pid}/task/${task}`);
  const ours = tasks.filter((task) => readFileSync(`${task}/comm`, "utf8").startsWith("fx402"));
  return ours.reduce((sum, task) => sum + Number(readFileSync(`${task}/schedstat`, "utf8").split(" ")[0]) / 1e3, 0);
}

async function expectStatus({ port }, path, status, header) {
  const [name, value] = header?.split(": ") ?? [];
  const answer = await request(port, { path, headers: name ? { [name]: value } : {} });
  if (answer.status !== status) throw new Error(`${path} is answered ${answer.statusLine}`);
}

function median(values) {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.floor(sorted.length / 2)];
}

function pad(text) {
  return String(text).padEnd(15);
}
