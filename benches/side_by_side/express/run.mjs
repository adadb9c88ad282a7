// Requests per second and CPU per request of an Express merchant, with and without forge-x402; see README.md.

import { execFile, fork } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { createBuyer } from "../../../tests/e2e/buyer.mjs";
import { request } from "../../../tests/e2e/lib/raw-http.mjs";

const PROCESSES = Number(process.env.PROCESSES ?? 2);
const ROUNDS = Number(process.env.ROUNDS ?? 4);
const SECONDS = Number(process.env.SECONDS ?? 1);
const LAYERS = (process.env.LAYERS ?? "real,stub").split(",");
const SIDES = ["bare", "empty", "ours"];
const KINDS = [["paid", "/weather", 200], ["402", "/weather", 402], ["free", "/free", 200]];
const children = [];

const [facilitator, backend] = await said(start("world.mjs", []));
console.log(`wrk, 16 connections, ${SECONDS} s a run, medians of ${ROUNDS} rounds in each of ${PROCESSES} sets of processes; CPU is the server process's, its own threads included\n`);
console.log(["payment layer", "request", "without 1/s", "with 1/s", "with ÷ without", "CPU µs without", "with", "difference", "of it Express's"].map(pad).join(""));
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
  for (const side of SIDES) {
    const child = start("server.mjs", [layer, side, facilitator, backend]);
    merchants[side] = { child, port: (await said(child)).port };
  }
  const payment = (await createBuyer().pay(await request(merchants.ours.port, { path: "/weather" })))["PAYMENT-SIGNATURE"];
  for (const [kind, path, status] of KINDS) {
    const header = kind === "paid" ? `PAYMENT-SIGNATURE: ${payment}` : undefined;
    for (const side of SIDES) await expectStatus(merchants[side], path, status, header);
    for (let round = 0; round <= ROUNDS; round += 1) {
      // By turns, and the first of a round by turns too; the first round only warms up.
      const order = round % 2 === 0 ? SIDES : SIDES.toReversed();
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
  console.log(
    [
      layer === "real" ? "@x402/express" : "stub",
      kind,
      of(({ bare }) => bare.rate).toFixed(0),
      of(({ ours }) => ours.rate).toFixed(0),
      of(({ bare, ours }) => ours.rate / bare.rate).toFixed(3),
      of(({ bare }) => bare.cpuUs).toFixed(1),
      of(({ ours }) => ours.cpuUs).toFixed(1),
      of(({ bare, ours }) => ours.cpuUs - bare.cpuUs).toFixed(1),
      of(({ bare, empty }) => empty.cpuUs - bare.cpuUs).toFixed(1),
    ].map(pad).join(""),
  );
}

function start(file, args) {
  const child = fork(fileURLToPath(new URL(file, import.meta.url)), args, { stdio: ["ignore", "ignore", "inherit", "ipc"], env: { ...process.env, NODE_ENV: "production" } });
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
    return (await answer).cpuUs;
  };
  const before = await cpu();
  const args = ["-t1", "-c16", `-d${SECONDS}s`, ...(header ? ["-H", header] : []), `http://127.0.0.1:${port}${path}`];
  const { stdout } = await promisify(execFile)("wrk", args);
  const after = await cpu();
  const requests = Number(/(\d+) requests in/.exec(stdout)[1]);
  if (/Socket errors/.test(stdout)) throw new Error(stdout);
  return { rate: Number(/Requests\/sec:\s+([\d.]+)/.exec(stdout)[1]), cpuUs: (after - before) / requests };
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
  return String(text).padEnd(16);
}
