// Where our functions stand on a response of Express: once, on the prototype that all its responses share. So what must hold is who
// is concerned, and in which order, wherever the middleware stands and whatever others have put on the response.

import assert from "node:assert/strict";
import { test } from "node:test";
import express from "express";
import express4 from "express4";
import { API_KEY, PUBLIC_URL, loadForge, withoutForge } from "../lib/forge.mjs";
import { request } from "../lib/raw-http.mjs";

const { createForge } = withoutForge ? {} : loadForge();
const challenge = Buffer.from(JSON.stringify({
  x402Version: 2,
  error: "Payment required",
  resource: { url: "https://api.example.com/paid", description: "Weather." },
  accepts: [{ scheme: "exact", network: "eip155:84532", amount: "1000" }],
})).toString("base64");
const ask = (_req, res) => res.status(402).set("PAYMENT-REQUIRED", challenge).json({});
const ours = () => createForge({ apiKey: API_KEY, publicUrl: PUBLIC_URL }).middleware();

async function answerOf(app, path = "/paid") {
  const server = app.listen(0, "127.0.0.1");
  await new Promise((resolve) => server.once("listening", resolve));
  try {
    return await request(server.address().port, { path });
  } finally {
    server.close();
  }
}

const described = (answer) => JSON.parse(Buffer.from(answer.header("payment-required"), "base64")).resource.description !== "Weather.";

for (const [name, make] of [["Express 5", express], ["Express 4", express4]]) {
  const options = { skip: withoutForge && "E2E_WITHOUT_FORGE=1" };

  test(`${name}: in a mounted application that hands on, what the outer one answers is concerned too`, options, async () => {
    const [app, inner] = [make(), make()];
    inner.use(ours());
    app.use(inner);
    app.get("/paid", ask);
    assert.equal(described(await answerOf(app)), true);
  });

  test(`${name}: in the outer application, what a mounted one answers is concerned too`, options, async () => {
    const [app, inner] = [make(), make()];
    inner.get("/paid", ask);
    app.use(ours());
    app.use(inner);
    assert.equal(described(await answerOf(app)), true);
  });

  test(`${name}: what never came past the middleware is not concerned`, options, async () => {
    const [app, other] = [make(), make()];
    app.get("/before", ask);
    app.use(ours());
    app.get("/paid", ask);
    other.get("/paid", ask);
    assert.equal(described(await answerOf(app)), true);
    assert.equal(described(await answerOf(app, "/before")), false);
    assert.equal(described(await answerOf(other)), false);
  });

  test(`${name}: two of them make one change`, options, async () => {
    const app = make();
    app.use(ours(), ours());
    app.get("/paid", ask);
    const { resource } = JSON.parse(Buffer.from((await answerOf(app)).header("payment-required"), "base64"));
    assert.equal(resource.description.split("please rate").length, 2);
  });

  test(`${name}: a function that somebody in front has put on the response runs behind ours`, options, async () => {
    const app = make();
    const seen = [];
    app.get("/warm", ours(), ask);
    app.use((_req, res, next) => {
      const { writeHead } = res;
      res.writeHead = function (...args) {
        seen.push(this.getHeader("PAYMENT-REQUIRED"));
        return writeHead.apply(this, args);
      };
      next();
    });
    app.use(ours());
    app.get("/paid", ask);
    await answerOf(app, "/warm");
    const answer = await answerOf(app);
    assert.equal(described(answer), true);
    assert.deepEqual(seen, [answer.header("payment-required")]);
  });

  test(`${name}: an application's own end runs, and behind ours`, options, async () => {
    const app = make();
    const { end } = app.response;
    let seen;
    app.response.end = function (...args) {
      seen = this.getHeader("PAYMENT-REQUIRED");
      return end.apply(this, args);
    };
    app.use(ours());
    app.get("/paid", ask);
    const answer = await answerOf(app);
    assert.equal(described(answer), true);
    assert.equal(seen, answer.header("payment-required"));
  });

  test(`${name}: a response seen through a derived object or a proxy is concerned`, options, async () => {
    for (const seenThrough of [(res) => Object.create(res), (res) => new Proxy(res, {})]) {
      const app = make();
      app.use(ours());
      app.get("/paid", (req, res) => {
        res.status(402).set("PAYMENT-REQUIRED", challenge);
        seenThrough(res).end("{}");
      });
      assert.equal(described(await answerOf(app)), true);
    }
  });

  test(`${name}: a response answered twice on a free route gives the first answer, and the process goes on`, options, async () => {
    const app = make();
    app.use(ours());
    app.get("/paid", (_req, res) => {
      res.end("first");
      res.write("second");
      res.end("third");
    });
    const answer = await answerOf(app);
    assert.equal(answer.body.toString(), "first");
  });
}
