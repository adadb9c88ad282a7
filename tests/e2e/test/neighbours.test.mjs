// Other middleware beside ours: cors and compression, each outside (registered before us) and inside (after us).

import assert from "node:assert/strict";
import { gunzipSync } from "node:zlib";
import compression from "compression";
import cors from "cors";
import { expectDecorated, expectFields, expectHeaderOnly, expectId, expectReceipt, expectUntouched } from "../lib/expect.mjs";
import { compare, onePayment } from "../lib/stage.mjs";
import { openStage } from "../lib/x402-v2.mjs";

const outside = (middleware) => openStage({ beside: (ours) => ({ outer: [middleware, ...ours] }) });
const inside = (middleware) => openStage({ beside: (ours) => ({ outer: [...ours], between: [middleware] }) });
const FROM_A_PAGE = { Origin: "https://page.example" };

for (const [place, put] of [
  ["outside", outside],
  ["inside", inside],
]) {
  const plain = await put(cors());
  const exposing = await put(cors({ origin: "https://page.example", credentials: true, exposedHeaders: ["PAYMENT-RESPONSE"] }));

  compare(`P06 cors ${place}: the preflight of a paid route is untouched`, plain, {
    run: (side) => side.request({ method: "OPTIONS", path: "/weather", headers: { ...FROM_A_PAGE, "Access-Control-Request-Method": "GET", "Access-Control-Request-Headers": "payment-signature" } }),
    bare: (answer) => assert.deepEqual([answer.status, answer.header("access-control-allow-origin")], [204, "*"]),
    ours: expectUntouched,
  });

  compare(`P06 cors ${place}: the challenge keeps its CORS headers`, exposing, {
    run: (side) => side.request({ path: "/weather", headers: FROM_A_PAGE }),
    bare: (answer) => assert.equal(answer.header("access-control-expose-headers"), "PAYMENT-RESPONSE"),
    ours: expectDecorated,
  });

  compare(`P06 C42 cors ${place}: a page may read the id of a paid answer`, plain, {
    run: onePayment(plain, { path: "/weather", headers: FROM_A_PAGE }),
    bare: (answer) => assert.deepEqual([answer.header("access-control-allow-origin"), answer.header("access-control-expose-headers")], ["*", undefined]),
    ours: (answer, bare) => {
      expectFields(answer, bare, expectId(answer));
      assert.equal(answer.header("access-control-allow-origin"), "*");
      assert.equal(answer.header("access-control-expose-headers"), "Forge-Feedback-Id");
    },
  });

  compare(`P06 C42 cors ${place}: a list of exposed headers is added to`, exposing, {
    run: onePayment(exposing, { path: "/weather", headers: FROM_A_PAGE }),
    bare: (answer) => assert.equal(answer.header("access-control-expose-headers"), "PAYMENT-RESPONSE"),
    ours: (answer, bare) => {
      expectFields(answer, bare, expectId(answer));
      assert.deepEqual(list(answer.header("access-control-expose-headers")), ["PAYMENT-RESPONSE", "Forge-Feedback-Id"]);
      assert.equal(answer.header("access-control-allow-credentials"), "true");
      assert.equal(answer.header("vary"), bare.header("vary"));
    },
  });

  const zipped = await put(compression({ threshold: 0 }));
  const GZIP = { "Accept-Encoding": "gzip" };

  compare(`P19 compression ${place}: the challenge is decorated, its body as without us`, zipped, {
    run: (side) => side.request({ path: "/weather", headers: GZIP }),
    bare: (answer) => assert.equal(unzipped(answer), "{}"),
    ours: expectDecorated,
  });

  compare(`P19 compression ${place}: a paid answer`, zipped, {
    run: onePayment(zipped, { path: "/weather?city=Oslo", headers: GZIP }),
    bare: (answer) => {
      assert.equal(answer.header("content-encoding"), "gzip");
      assert.equal(unzipped(answer), '{"city":"Oslo","weather":"foggy","temperature":60}');
    },
    ours: (answer, bare) => {
      // Inside, the body is compressed before we see it.
      if (place === "inside") return expectHeaderOnly(answer, bare);
      const id = expectId(answer);
      expectReceipt(answer, bare, id);
      expectFields(plainView(answer), plainView(bare), id);
      assert.equal(answer.header("etag"), undefined);
      assert.equal(answer.header("vary"), bare.header("vary"));
    },
  });

  for (const path of ["/paid/stream.json", "/paid/events", "/paid/trailers", "/paid/no-content"]) {
    compare(`P19 compression ${place}: ${path} arrives whole`, zipped, {
      run: onePayment(zipped, { path, headers: GZIP }),
      bare: (answer) => assert.ok([200, 204].includes(answer.status)),
      ours: (answer, bare) => {
        expectId(answer);
        assert.deepEqual([answer.statusLine, unzipped(answer), answer.trailers], [bare.statusLine, unzipped(bare), bare.trailers]);
      },
    });
  }

  compare(`P12 compression ${place}: HEAD`, zipped, {
    run: onePayment(zipped, { method: "HEAD", path: "/any-method", headers: GZIP }),
    bare: (answer) => assert.equal(answer.status, 200),
    ours: (answer) => assert.equal(answer.status, 200),
  });
}

function unzipped(answer) {
  return (answer.header("content-encoding") === "gzip" && answer.body.length > 0 ? gunzipSync(answer.body) : answer.body).toString();
}

function plainView(answer) {
  return { ...answer, body: Buffer.from(unzipped(answer)), framing: "decompressed" };
}

function list(value) {
  return value.split(",").map((name) => name.trim());
}
