// The whole flow in one terminal page: a real client pays a real x402 merchant, before and after forge-x402.
// ONCE=1 ends by itself; otherwise the merchant stays up, with commands to try, until Ctrl-C.

import assert from "node:assert/strict";
import { verifyFeedbackId } from "../../tests/e2e/lib/feedback-id.mjs";
import { decodeJson } from "../../tests/e2e/lib/x402-headers.mjs";
import { runBrokenAgent, USER_AGENT as BROKEN } from "./demo/broken-agent.mjs";
import { payWith, purchase } from "./demo/purchase.mjs";
import { added, bold, dim, facts, green, json, label, say, step, title } from "./demo/screen.mjs";
import { openWorld } from "./demo/world.mjs";

const world = await openWorld();
const weather = `${world.ours.url}/weather?city=Oslo`;
const plainWeather = `${world.plain.url}/weather?city=Oslo`;

const bought = await purchase(weather);
const [unpaid, paid] = bought.legs;
const payment = paid.request.headers.get("payment-signature");
const id = bought.answer.headers.get("forge-feedback-id");
if (!id) {
  console.error("The answer carries no Forge-Feedback-Id: is the native part of bindings/node built?");
  process.exit(1);
}
const plainUnpaid = await fetch(plainWeather);
const plainPaid = await payWith(plainWeather, payment);

title("An agent buys a weather report, and is told how to rate it");
say(
  "x402 lets a program pay for an HTTP call: the server answers 402 with its price, the client signs a payment, asks again, and gets the answer with a receipt. forge-x402 stands in front of the server's payment code and adds one thing: how to rate the call.",
);
say();
facts([
  ["merchant", world.ours.url, "Express 5 with @x402/express, forge-x402 in front"],
  ["facilitator", world.ours.facilitator.url, "checks payments for the merchant; the blockchain is imitated"],
  ["agent", bought.buyer, "@x402/fetch with an account made a second ago"],
]);
say();
say("Lines marked + are what forge-x402 adds. Everything else is what the merchant sends without it, byte for byte.");

step(1, "The agent asks without paying");
facts([["it sends", `GET ${weather}`], ["it gets", `${unpaid.answer.status} ${unpaid.answer.statusText}, and in the PAYMENT-REQUIRED header:`]]);
say();
const challenge = decodeJson(unpaid.answer.headers.get("payment-required"));
const plainChallenge = decodeJson(plainUnpaid.headers.get("payment-required"));
json(plainChallenge, challenge, { folded: ["bazaar"] });
say();
say(`The terms of payment ("accepts") are the merchant's own. The agent now knows, before it pays, that it will be asked to rate.`);

step(2, "The agent pays");
const sent = decodeJson(payment).payload.authorization;
facts([
  ["it signs", `${Number(sent.value) / 1e6} USDC to ${sent.to}`],
  ["it sends", `GET ${weather}  with a PAYMENT-SIGNATURE header of ${payment.length} bytes`],
]);
const [checked, plainChecked] = [world.ours, world.plain].map(({ facilitator }) => termsOf(facilitator.sent("/verify")[0]));
assert.equal(checked, plainChecked);
say();
say(`The facilitator checked signature, amount, payee and time: valid. The terms it checked them against (${checked.length} bytes) are the same as without forge-x402, byte for byte.`);

step(3, "The agent gets its answer");
const body = await bought.answer.text();
const plainBody = await plainPaid.text();
facts([["it gets", `${bought.answer.status} ${bought.answer.statusText}`]]);
say();
added(`Forge-Feedback-Id: ${id}`);
json(JSON.parse(plainBody), JSON.parse(body));

step(4, "The receipt says the same");
say("In the PAYMENT-RESPONSE header:");
say();
json(decodeJson(plainPaid.headers.get("payment-response")), decodeJson(bought.answer.headers.get("payment-response")));

step(5, "The agent rates the call");
const verdict = verifyFeedbackId(id, world.collector.apiKey);
assert.equal(verdict, "valid");
say(`The id is signed with the merchant's key (checked here with node:crypto: ${verdict}) and good for a day, so only somebody who was served can rate. One free request to the link it was given does it:`);
const link = `${JSON.parse(body).feedback_url}fully`;
const rated = await fetch(link);
const plainRated = await fetch(link.replace(world.ours.url, world.plain.url));
assert.deepEqual([rated.status, plainRated.status, world.receiver.ratings.length], [200, 404, 1]);
facts([
  ["it sends", green(`GET ${link}`)],
  ["it gets", `${rated.status} ${rated.statusText}  ${await rated.text()}`],
]);
say();
say("forge-x402 checked the id and passed the rating to the backend; the merchant's own code did not run.");

step(6, "Another agent is broken, and is told to stop");
say("Its payment handler fails, so it asks again and again. forge-x402 counts requests that never pay (here five are enough), and then says so in the body of the 402:");
const broken = await runBrokenAgent(weather);
assert.deepEqual([broken.attempts, broken.diagnostic.code, broken.decision.action], [5, "PAYMENT_ATTEMPTS_EXCEEDED", "escalate"]);
say();
facts([["it gets", `${broken.received.status}, the ${broken.attempts}th in a row`]]);
json({}, JSON.parse(broken.received.body));
say();
say(`Its client asks decide() of forge-x402/client, which can stop an agent or make it wait, never make it pay more: ${bold(broken.decision.action)}. It stops, and tells its operator:`);
say();
json(broken.event, broken.event, { folded: [] });
say();
say("The agent that paid was told nothing of the kind.");

step(7, "What the merchant learns");
await world.ours.forge.flush(2_000);
say("Sent to the backend in the background, never in the way of a request:");
const loop = world.receiver.events.filter(({ type, user_agent }) => type === "challenge" && user_agent === BROKEN);
for (const { type, route, ...event } of world.receiver.events.filter((event) => !loop.includes(event))) {
  say();
  say(`${bold(type)}  ${route}`);
  facts(told(event));
}
const [alarm, ...more] = world.receiver.of("escalation");
assert.deepEqual([alarm?.correlation_id, more.length], [broken.diagnostic.correlation_id, 0]);
say();
say(dim(`and ${loop.length} × challenge of the broken agent, which ended when it was told`));
const [rating] = world.receiver.ratings;
say();
say(`${bold("rating")}  ${rating.feedback_id}`);
facts([["outcome", rating.outcome]]);
say();
say("The backend here is forge-collector, which any merchant can run. What it has kept so far, as agents see it:");
say();
const summary = await fetch(`${world.ours.url}/feedback/summary`).then((answer) => answer.json());
for (const { route, ratings, outcomes } of summary.routes) {
  const said = Object.entries(outcomes).filter(([, count]) => count > 0);
  facts([[route, `${ratings} rating: ${said.map(([outcome, count]) => `${outcome} ${count}`).join(", ")}`]]);
}
say();
say("And as the merchant sees it:");
facts([
  ["dashboard", bold(world.collector.url)],
  ["sign in with", world.collector.apiKey],
]);

if (process.env.ONCE === "1") {
  say();
  await world.close();
} else {
  label("The merchant and its dashboard stay up. Try, in another terminal:");
  const commands = [
    ["the 402 as an agent sees it", `curl -si '${weather}'`],
    ["the terms, decoded", `curl -si '${weather}' | sed -n 's/^PAYMENT-REQUIRED: //p' | tr -d '\\r' | base64 -d`],
    ["the same without forge-x402", `curl -si '${plainWeather}' | sed -n 's/^PAYMENT-REQUIRED: //p' | tr -d '\\r' | base64 -d`],
    ["how to rate", `curl -s '${world.ours.url}/feedback'`],
    ["what others said", `curl -s '${world.ours.url}/feedback/summary'`],
    ["buy again", `node ${pathTo("pay.mjs")} '${weather}'`],
  ];
  for (const [what, command] of commands) {
    say();
    say(dim(`# ${what}`));
    console.log(`   ${bold(command)}`);
  }
  say();
  say(dim("Ctrl-C ends it."));
  process.once("SIGINT", () => world.close().then(() => process.exit(0)));
}

/** The members of an event that tell a merchant something. */
function told(event) {
  const names = ["dialect", "status", "settled", "outcome", "feedback_id", "payer", "amount", "network", "transaction", "latency_ms", "code", "attempts", "correlation_id", "agent_id", "operator_contact"];
  return names.filter((name) => event[name] !== undefined).map((name) => [name, String(event[name])]);
}

function termsOf({ raw }) {
  const text = raw.toString("utf8");
  return text.slice(text.indexOf(',"paymentRequirements":'));
}

function pathTo(file) {
  const path = new URL(file, import.meta.url).pathname;
  return path.startsWith(`${process.cwd()}/`) ? path.slice(process.cwd().length + 1) : path;
}
