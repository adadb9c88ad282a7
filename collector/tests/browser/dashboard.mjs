// The dashboard in a real browser: signs in, looks at it empty and filled, light and dark, wide and on a phone, by keyboard,
// with hostile text and without JavaScript. Usage: node dashboard.mjs ADDRESS KEY FOLDER (screenshots go there).
// Every check is one line; the last says how many passed.

import { createHmac, randomBytes } from "node:crypto";
import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { chromium } from "playwright-core";

const [address, key, folder] = process.argv.slice(2);
const base = `http://${address}`;
let passed = 0;
let failed = 0;

function check(what, good, more = "") {
  good ? passed++ : failed++;
  console.log(`${good ? "ok  " : "FAIL"} ${what}${good ? "" : ` ${more}`}`);
}

async function post(path, body) {
  const answer = await fetch(base + path, { method: "POST", headers: { authorization: `Bearer ${key}` }, body: JSON.stringify(body) });
  if (!answer.ok) throw new Error(`${path}: ${answer.status} ${await answer.text()}`);
}

function feedbackId(seconds) {
  const signing = createHmac("sha256", key).update("forge-feedback-id/v1").digest("base64url");
  const head = Buffer.alloc(10);
  head.writeUInt32BE(seconds);
  randomBytes(6).copy(head, 4);
  return Buffer.concat([head, createHmac("sha256", signing).update(head).digest().subarray(0, 6)]).toString("base64url");
}

const context = await chromium.launchPersistentContext(mkdtempSync(join(tmpdir(), "chromium-")), {
  executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium",
  viewport: { width: 1280, height: 900 },
  colorScheme: "light",
  args: ["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync"],
});
const page = context.pages()[0] ?? (await context.newPage());
page.setDefaultTimeout(15000);
const complaints = [];
page.on("console", (message) => ["error", "warning"].includes(message.type()) && complaints.push(message.text()));
page.on("pageerror", (error) => complaints.push(String(error)));
page.on("dialog", (dialog) => { complaints.push(`dialog ${dialog.message()}`); dialog.dismiss(); });
const shot = (name) => page.screenshot({ path: join(folder, `${name}.png`), fullPage: true });
const overflow = () => page.evaluate(() => document.scrollingElement.scrollWidth - document.documentElement.clientWidth);

await page.goto(base + "/");
check("without a session the sign-in page comes", page.url().endsWith("/login"));
check("the key field has the focus and a label", (await page.evaluate(() => document.activeElement.labels?.[0]?.textContent)) === "Project key");
await page.keyboard.type("ffk_wrong");
await page.keyboard.press("Enter");
await page.waitForSelector("[role=alert]");
check("a wrong key is refused in words", (await page.textContent("[role=alert]")).includes("belongs to no project"));
// The browser logs the 401 of its own page.
complaints.splice(0, complaints.length, ...complaints.filter((text) => !text.includes("401")));
await shot("sign-in");
await page.fill("#key", key);
await page.keyboard.press("Enter");
await page.waitForSelector(".welcome");
check("an empty project says what to do", (await page.textContent("#origin")) === base);
await shot("empty");
await post("/events", { events: [{ type: "challenge", route: "GET /first" }] });
await page.waitForSelector(".steps", { timeout: 15000 }).then(() => check("the first call brings the figures", true), () => check("the first call brings the figures", false));

const hostile = `<script>alert(1)</script>"><img src=x onerror=alert(2)>`;
await fill();
await page.goto(base + "/");
await page.waitForSelector(".uplot canvas");
const charts = await page.$$(".uplot canvas");
check("five charts are drawn", charts.length === 5, `${charts.length}`);
const inked = await Promise.all(charts.map((chart) => chart.evaluate((canvas) => {
  const pixels = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height).data;
  return new Set(new Uint32Array(pixels.buffer)).size;
})));
check("each has something on it", inked.every((colors) => colors > 5), inked.join());
check("each chart has its table", (await page.$$("figure details table")).length === 5);
check("hostile text is text", (await page.textContent("main")).includes(hostile) && (await page.$$("main script, main img")).length === 0);
check("nothing is wider than the window", (await overflow()) <= 0, String(await overflow()));
check("the funnel counts", /Challenges\s*[1-9]/.test(await page.textContent(".steps")));
await shot("filled-light");

await page.emulateMedia({ colorScheme: "dark" });
await page.waitForTimeout(400);
check("dark follows the system", (await page.evaluate(() => getComputedStyle(document.body).backgroundColor)) === "rgb(15, 18, 22)");
check("the charts are redrawn", (await page.$$(".uplot canvas")).length === 5);
await shot("filled-dark");

await page.setViewportSize({ width: 375, height: 740 });
await page.waitForTimeout(400);
check("nothing is wider than a phone", (await overflow()) <= 0, String(await overflow()));
const small = await page.evaluate(() => [...document.querySelectorAll("button, select, .ranges span")].filter((e) => e.offsetParent && e.getBoundingClientRect().height < 38).map((e) => e.textContent));
check("what is touched is large enough", small.length === 0, small.join());
await shot("phone-dark");
await page.emulateMedia({ colorScheme: "light" });
await page.waitForTimeout(300);
await shot("phone-light");
await page.setViewportSize({ width: 1280, height: 900 });

await page.goto(base + "/");
await page.waitForSelector(".uplot canvas");
await page.keyboard.press("Tab");
check("the first stop is the skip link", (await page.evaluate(() => document.activeElement.className)) === "skip");
await page.keyboard.press("Enter");
check("it leads to the figures", (await page.evaluate(() => document.activeElement.id)) === "main");
await page.keyboard.press("Tab");
await page.keyboard.press("ArrowRight");
check("the arrow keys choose without leaving", new URL(page.url()).search === "" && (await page.evaluate(() => document.activeElement.value)) === "30");
await page.keyboard.press("Enter");
await page.waitForURL(/days=30/);
check("Enter shows the choice", await page.isChecked("input[value='30']"));
await page.waitForSelector(".uplot canvas");
await page.focus("figure details summary");
await page.keyboard.press("Enter");
check("a table opens by keyboard", await page.evaluate(() => document.activeElement.parentElement.open));
const unnamed = await page.evaluate(() => [...document.querySelectorAll("a, button, input, select, [tabindex='0']")]
  .filter((e) => !(e.textContent.trim() || e.labels?.length || e.getAttribute("aria-label") || e.getAttribute("aria-labelledby"))).length);
check("everything that takes the focus has a name", unnamed === 0, String(unnamed));
await page.selectOption("#route", "GET /weather");
await page.click("text=Show");
await page.waitForURL(/route=GET/);
check("one route alone", (await page.$$("tbody th[scope=row] >> text=POST /translate")).length === 0);

await page.evaluate(() => document.activeElement.blur());
await post("/events", { events: [{ type: "challenge", route: "GET /just-now", user_agent: "live/1" }] });
await page.waitForSelector("#feed >> text=GET /just-now", { timeout: 10000 }).then(() => check("the live feed is live", true), () => check("the live feed is live", false));
await page.click("#pause");
await post("/events", { events: [{ type: "challenge", route: "GET /while-paused" }] });
await page.waitForTimeout(4500);
check("paused is paused", (await page.$$("#feed >> text=GET /while-paused")).length === 0 && (await page.getAttribute("#pause", "aria-pressed")) === "true");

check("no complaint of the browser, no violated policy", complaints.length === 0, complaints.join(" | "));
const cookies = await context.cookies();
check("the cookie is for the server only", cookies.length === 1 && cookies[0].httpOnly && cookies[0].sameSite === "Strict");

const plain = await context.browser()?.newContext({ javaScriptEnabled: false, storageState: { cookies, origins: [] } });
if (plain) {
  const bare = await plain.newPage();
  await bare.goto(base + "/");
  check("without JavaScript the figures are there", (await bare.textContent(".steps")).includes("Challenges") && (await bare.$$("figure details table tbody tr")).length > 5);
  await plain.close();
} else {
  check("a second context without JavaScript", false);
}

await page.click("text=Sign out");
await page.waitForURL(/login/);
await page.goto(base + "/");
check("signed out is out", page.url().endsWith("/login"));
await context.close();
console.log(`${passed} passed, ${failed} failed`);
process.exit(failed === 0 ? 0 : 1);

// A week of a small merchant.
async function fill() {
  const now = Date.now();
  const pick = (list, n) => list[n % list.length];
  const agents = [["Claude Code", "agentcash", "python-httpx/0.27.0"], ["Codex", "awal", "node"], ["Cursor", "pay.sh", "axios/1.7"], [null, null, "curl/8.5.0"], ["OpenClaw", "other", "Go-http-client/1.1"]];
  const routes = ["GET /weather", "GET /weather", "GET /weather", "POST /translate", "GET /search"];
  for (let hour = 168; hour >= 0; hour--) {
    const events = [];
    const rated = [];
    const busy = 4 + Math.round(4 * Math.sin((hour / 24) * 2 * Math.PI) + (hour * 7919) % 4);
    for (let n = 0; n < busy; n++) {
      const at = now - hour * 3600e3 - n * 60e3 - 1000;
      const [agent, client, agentName] = pick(agents, hour + n * 3);
      const route = pick(routes, hour * 3 + n);
      const common = { route, ts: at, user_agent: agentName, ...(agent ? { agent_context: { agent_type: agent, client, search_query: "weather api" } } : {}) };
      events.push({ type: "challenge", ...common, dialect: "x402/2" });
      if ((hour + n) % 3) {
        const id = feedbackId(Math.floor((now - 60e3) / 1000));
        const bad = (hour + n) % 11 === 0;
        const unsettled = (hour + n) % 17 === 0;
        events.push({ type: "interaction", feedback_id: id, ...common, payer: "0x0000000000000000000000000000000000000001", network: "eip155:8453", amount: "10000", status: bad ? 500 : unsettled ? 402 : 200, settled: !unsettled, latency_ms: 30 + ((hour * 13 + n * 57) % 400) });
        if (!bad && (hour + n) % 2) rated.push({ feedback_id: id, outcome: pick(["fully", "fully", "fully", "partially", "no"], hour + n), issue: (hour + n) % 5 > 2 ? pick(["slow", "wrong_output", "unclear_docs", "too_expensive", "schema_mismatch", "unmet_expectation"], hour) : null, note: (hour + n) % 41 === 3 ? "Temperatures were in Fahrenheit although the schema says Celsius." : null, via: "POST", user_agent: agentName });
      }
    }
    await post("/events", { events });
    for (const rating of rated) await post("/feedback", rating);
  }
  await post("/events", { events: [
    { type: "escalation", route: "GET /weather", code: "PAYMENT_ATTEMPTS_EXCEEDED", reason: "8,432 requests received with no valid payment in 18 days.", attempts: 8432, correlation_id: "5b1f0a9c77de0342", user_agent: "loop-agent/2.1", operator_contact: "mailto:ops@example.com", since: "2026-11-12T08:00:00Z" },
    { type: "escalation", route: "POST /translate", code: "WALLET_INSUFFICIENT_FUNDS", attempts: 120, correlation_id: "0d4c6b2a91ef5577", request_headers: { "user-agent": "node", "x-agent-id": "translator-7" } },
    { type: "challenge", route: hostile, user_agent: hostile, agent_context: { agent_type: hostile, client: hostile } },
    { type: "escalation", route: hostile, code: hostile, correlation_id: hostile },
    { type: "discovery", route: "GET /openapi.json", user_agent: "python-httpx/0.27.0" },
  ] });
  await post("/feedback", { feedback_id: feedbackId(Math.floor(now / 1000) - 5), outcome: "no", issue: "slow", note: hostile, via: "POST" });
}
