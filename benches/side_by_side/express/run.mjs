// Requests per second and CPU per request of an Express merchant, with and without forge-x402; see README.md.

import { execFile, fork } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { createBuyer } from "../../../tests/e2e/buyer.mjs";
import { request } from "../../../tests/e2e/lib/raw-http.mjs";

const ROUNDS = Number(process.env.ROUNDS ?? 7);
const SECONDS = Number(process.env.SECONDS ?? 2);
const children = [];

const [facilitator, backend] = await said(start("world.mjs", []));
const merchants = {};
for (const layer of ["real", "stub"]) {
  for (const side of ["bare", "ours"]) {
    const child = start("server.mjs", [layer, side, facilitator, backend]);
    merchants[`${layer} ${side}`] = { child, port: (await said(child)).port };
  }
}

console.log(`wrk, 16 connections, ${SECONDS} s a run, medians of ${ROUNDS} rounds; CPU is the server process's, its own threads included\n`);
console.log(["payment layer", "request", "without 1/s", "with 1/s", "with ÷ without", "CPU µs without", "with", "difference"].map(pad).join(""));
for (const layer of ["real", "stub"]) {
  const [bare, ours] = [merchants[`${layer} bare`], merchants[`${layer} ours`]];
  const payment = (await createBuyer().pay(await request(ours.port, { path: "/weather" })))["PAYMENT-SIGNATURE"];
  for (const [kind, path, status, header] of [["paid", "/weather", 200, `PAYMENT-SIGNATURE: ${payment}`], ["402", "/weather", 402], ["free", "/free", 200]]) {
    await expectStatus(bare, path, status, header);
    await expectStatus(ours, path, status, header);
    const rounds = [];
    for (let round = 0; round <= ROUNDS; round += 1) {
      // By turns, and the first of a round by turns too; the first round only warms up.
      const order = round % 2 === 0 ? [bare, ours] : [ours, bare];
      const results = new Map();
      for (const merchant of order) results.set(merchant, await load(merchant, path, header));
      if (round > 0) rounds.push({ bare: results.get(bare), ours: results.get(ours) });
    }
    const of = (pick) => median(rounds.map(pick));
    console.log(
      [
        layer === "real" ? "@x402/express" : "stub",
        kind,
        of(({ bare: one }) => one.rate).toFixed(0),
        of(({ ours: one }) => one.rate).toFixed(0),
        of((round) => round.ours.rate / round.bare.rate).toFixed(3),
        of(({ bare: one }) => one.cpuUs).toFixed(1),
        of(({ ours: one }) => one.cpuUs).toFixed(1),
        of((round) => round.ours.cpuUs - round.bare.cpuUs).toFixed(1),
      ].map(pad).join(""),
    );
  }
}
for (const child of children) child.kill();

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
