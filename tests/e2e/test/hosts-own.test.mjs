// What hosts know better than a bare request: routes of the merchant's own, the client's address.

import assert from "node:assert/strict";
import { test } from "node:test";
import express from "express";
import express4 from "express4";
import fastify from "fastify";
import { API_KEY, loadForge } from "../lib/forge.mjs";

const { createForge } = loadForge();

async function listening(app) {
  const server = app.listen(0, "127.0.0.1");
  await new Promise((resolve) => server.once("listening", resolve));
  return { url: `http://127.0.0.1:${server.address().port}`, close: () => server.close() };
}

for (const [name, make] of [["Express 5", express], ["Express 4", express4]]) {
  for (const [basePath, own, told] of [["/feedback", "/feedback", true], ["/ratings", "/feedback", false], ["/ratings", "/ratings/rate", true]]) {
    test(`D12 ${name}: a handler of the merchant's own on ${own}, rating routes on ${basePath}: ${told ? "told once" : "nothing to tell"}`, async () => {
      const warnings = [];
      const listen = (warning) => warning.message.includes("never run") && warnings.push(warning.message);
      process.on("warning", listen);
      const app = make();
      app.use(createForge({ apiKey: API_KEY, basePath }).middleware());
      app.post(own, (req, res) => res.json({ mine: true }));
      const { url, close } = await listening(app);
      await fetch(`${url}/`);
      const posted = await (await fetch(`${url}${own}`, { method: "POST" })).json().catch(() => ({}));
      await new Promise((resolve) => setImmediate(resolve));
      process.off("warning", listen);
      close();
      assert.equal(warnings.length, told ? 1 : 0, warnings.join("\n"));
      if (told) assert.ok(warnings[0].includes(own));
      assert.equal(posted.mine, told ? undefined : true);
    });
  }
}

/** The target of a request that the engine is shown; an ordinary one it is not. */
const worthALook = "/?agent_type=bot";

/** Stands in for the engine and keeps what it is told of each request. */
function spied(forge) {
  const told = [];
  const { engine } = forge;
  forge.engine = new Proxy(engine, {
    get: (target, name) =>
      name === "onRequest" ? (bytes, length, exchange) => (told.push(bytes.latin1Slice(0, length).split("\n")), target.onRequest(bytes, length, exchange)) : typeof target[name] === "function" ? target[name].bind(target) : target[name],
  });
  return told;
}

test("Express: the client's address is req.ip where trust proxy is set, else the socket's", async () => {
  for (const [trust, ip] of [[false, "127.0.0.1"], ["loopback", "203.0.113.9"]]) {
    const forge = createForge({ apiKey: API_KEY });
    const told = spied(forge);
    const app = express();
    if (trust) app.set("trust proxy", trust);
    app.use(forge.middleware());
    const { url, close } = await listening(app);
    await fetch(new URL(worthALook, url), { headers: { "X-Forwarded-For": "203.0.113.9" } });
    close();
    assert.equal(told[0][2].replace("::ffff:", ""), ip);
  }
});

test("Fastify: the client's address is request.ip after trustProxy", async () => {
  for (const [trustProxy, ip] of [[false, "127.0.0.1"], [true, "203.0.113.9"]]) {
    const forge = createForge({ apiKey: API_KEY });
    const told = spied(forge);
    const app = fastify({ trustProxy });
    await app.register(forge.fastify());
    await app.inject({ url: worthALook, headers: { "X-Forwarded-For": "203.0.113.9" } });
    await app.close();
    assert.equal(told[0][2], ip);
  }
});
