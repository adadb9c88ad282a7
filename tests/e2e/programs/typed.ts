// Is only checked, never run: every public name with the types of the real frameworks.

import { createServer } from "node:http";
import express from "express";
import { fastify } from "fastify";
import { Hono } from "hono";
import { createForge, type Forge, type ForgeOptions, type Stats } from "forge-x402";
import { Budget, decide, escalationEvent, OverBudgetError, parseChallenge, parseDiagnostic, type Decision, type Offer } from "forge-x402/client";
import { buildChallenge, parseProof, replayHeaders } from "forge-x402/open402";

const options: ForgeOptions = {
  apiKey: "ffk_example_key",
  publicUrl: "https://api.example.com",
  agentContext: "ask",
  openapi: { paths: ["/openapi.json"], document: { openapi: "3.1.0" } },
  diagnostics: { attempts: 100, minAgeMs: 60_000 },
  maxWaits: 2,
};
const forge: Forge = createForge(options);

const app = express();
app.use(forge.middleware());
app.use("/api", forge.middleware());
createServer(forge.listener((_req, res) => res.end("ok")));
createServer(forge.listener(app));

const server = fastify();
server.register(forge.fastify());

const hono = new Hono();
const handle: (request: Request) => Promise<Response> = forge.fetch((request: Request) => hono.fetch(request));
class NextRequest extends Request {}
export const GET = forge.fetch(async (request: NextRequest, context: { params: Promise<{ slug: string }> }) => new Response((await context.params).slug + request.url), {
  clientIp: (request, context) => request.headers.get("x-real-ip") ?? (context ? undefined : ""),
});
void handle;

const stats: Stats | null = forge.stats();
const minted: number = stats?.minted ?? 0;
const lines: string[] = forge.diagnostics();
forge.enqueueEvent({ type: "note", minted, lines });
const sent: Promise<boolean> = forge.flush(1_000);
const lost: Promise<number> = forge.shutdown();
const challenge: Buffer | null = forge.transformChallenge("header", "eyJ9");
const verdict: "valid" | "malformed" | "bad_signature" | "expired" = forge.verifyId("x");
void [sent, lost, challenge, verdict, forge.enrichReceipt("", "x"), forge.enrichBody(Buffer.of(), "x"), forge.enrichOpenapi("{}"), forge.mintId()];

// @ts-expect-error an option in the wrong type
createForge({ maxWaits: "2" });
// @ts-expect-error an option that does not exist
createForge({ nope: true });
// @ts-expect-error a value that does not exist
createForge({ agentContext: "always" });

async function asks(answer: Response, budget: Budget): Promise<Decision> {
  const received = { status: answer.status, headers: answer.headers, body: await answer.arrayBuffer() };
  const [offer]: (Offer | undefined)[] = parseChallenge(received).offers;
  const diagnostic = parseDiagnostic(received);
  if (diagnostic?.escalate) console.log(escalationEvent(diagnostic, { endpoint: answer.url, amount: offer?.amount }).diagnostic.code);
  try {
    budget.spend(offer?.amount ?? "0", { decimals: 6 });
  } catch (error) {
    if (error instanceof OverBudgetError && error.limit === "day") console.log(budget.leftToday());
  }
  // @ts-expect-error: a misspelt member of the state
  decide(diagnostic, { paymentSent: 1 });
  return decide(diagnostic, { paymentsSent: 0, withinBudget: budget.check(1) === null });
}
void asks;
console.log(parseProof("x402 5Kd3").payer_address, replayHeaders()["X-x402-Nonce"], buildChallenge({ chain: "solana", token: "USDC", amount: "0.05", address: "A" }));
