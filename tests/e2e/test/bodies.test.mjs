// Paid bodies: JSON objects gain our members and keep every byte of their own, everything else is left alone.

import assert from "node:assert/strict";
import { BODIES } from "../merchant/bodies.mjs";
import { expectFields, expectHeaderOnly, expectId, expectRated } from "../lib/expect.mjs";
import { compare, onePayment } from "../lib/stage.mjs";
import { openStage } from "../lib/x402-v2.mjs";

const stage = await openStage();

const EDITED = ["spellings", "pretty", "empty_object", "spaced_empty_object", "lone_surrogate", "with_charset", "deep"];

for (const name of EDITED) {
  const id = name === "deep" ? "P35" : "P33";
  compare(`${id} ${name}: our members are inserted, every other byte stays`, stage, {
    run: onePayment(stage, { path: `/paid/body/${name}` }),
    bare: (answer) => assert.deepEqual(answer.body, BODIES[name].bytes),
    ours: (answer, bare) => (name === "deep" ? expectInserted(answer, bare) : expectRated(answer, bare)),
  });
}

for (const name of Object.keys(BODIES).filter((key) => !EDITED.includes(key))) {
  compare(`P34 ${name}: header and receipt only, the body keeps its bytes`, stage, {
    run: onePayment(stage, { path: `/paid/body/${name}` }),
    bare: (answer) => assert.deepEqual(answer.body, BODIES[name].bytes),
    ours: expectHeaderOnly,
  });
}

for (const [id, size, edited] of [
  ["C14", 1_048_575, true],
  ["C15", 1_048_576, true],
  ["C16", 1_048_577, false],
  ["P20", 5_000_000, false],
]) {
  compare(`${id} a JSON body of ${size} bytes is ${edited ? "edited" : "passed through"}`, stage, {
    run: onePayment(stage, { path: `/paid/sized/${size}` }),
    bare: (answer) => assert.equal(answer.body.length, size),
    ours: (answer, bare) => (edited ? expectRated(answer, bare, { removed: ["etag"] }) : expectHeaderOnly(answer, bare)),
  });
}

compare("C12 a body with a feedback_id of its own keeps it, the id rides in header and receipt", stage, {
  run: onePayment(stage, { path: "/paid/own-id" }),
  bare: (answer) => assert.equal(answer.body.toString(), '{"feedback_id":"mine","ok":true}'),
  ours: expectHeaderOnly,
});

for (const header of ["Digest", "Content-MD5", "Content-Digest", "Repr-Digest", "Signature-Input"]) {
  compare(`C24 a body hashed in ${header} keeps its bytes`, stage, {
    run: onePayment(stage, { path: `/paid/hashed/${header}` }),
    bare: (answer) => assert.ok(answer.header(header)),
    ours: expectHeaderOnly,
  });
}

compare("C24 C27 ETag, Last-Modified and Accept-Ranges do not outlive the bytes they described", stage, {
  run: onePayment(stage, { path: "/paid/modified" }),
  bare: (answer) => assert.deepEqual([answer.header("etag"), answer.header("accept-ranges")], ['"strong"', "bytes"]),
  ours: (answer, bare) =>
    expectRated(answer, bare, { added: ["forge-feedback-id"], removed: ["etag", "last-modified"], changed: ["accept-ranges", "content-length", "payment-response"] }),
});

compare("D24 Set-Cookie twice is kept in order", stage, {
  run: onePayment(stage, { path: "/paid/cookies" }),
  bare: (answer) => assert.deepEqual(answer.all("set-cookie"), ["a=1", "b=2"]),
  ours: (answer, bare) => {
    expectRated(answer, bare, { removed: ["etag"] });
    assert.deepEqual(answer.all("set-cookie"), ["a=1", "b=2"]);
  },
});

compare("C32 P19 a gzip body keeps its bytes", stage, {
  run: onePayment(stage, { path: "/paid/gzip" }),
  bare: (answer) => assert.equal(answer.header("content-encoding"), "gzip"),
  ours: expectHeaderOnly,
});

for (const path of ["/paid/no-content", "/paid/status/205", "/paid/status/206"]) {
  compare(`C41 ${path}: no body edit, the id in the header`, stage, {
    run: onePayment(stage, { path }),
    bare: (answer) => assert.equal(String(answer.status), path.endsWith("content") ? "204" : path.slice(-3)),
    ours: expectHeaderOnly,
  });
}

compare("C41 P19 a paid 304 is untouched: no body, no id", stage, {
  run: (() => {
    let etag;
    return async (side) => {
      etag ??= (await stage.bare.buy({ path: "/weather" })).answer.header("etag");
      return (notModified ??= onePayment(stage, { path: "/weather", headers: { "If-None-Match": etag } }))(side);
    };
  })(),
  bare: (answer) => {
    assert.equal(answer.status, 304);
    assert.ok(answer.header("payment-response"));
  },
  ours: (answer, bare) => {
    assert.equal(answer.status, 304);
    assert.equal(answer.header("forge-feedback-id"), undefined);
    assert.deepEqual(answer.headers.map(([name]) => name), bare.headers.map(([name]) => name));
  },
});
let notModified;

compare("P18 a Range request: 206 and its bytes are the same", stage, {
  run: onePayment(stage, { path: "/paid/file.json", headers: { Range: "bytes=0-9" } }),
  bare: (answer) => {
    assert.equal(answer.status, 206);
    assert.equal(answer.body.toString(), '{"report":');
  },
  ours: expectHeaderOnly,
});

compare("P18 P14 sendFile of a small JSON file (Content-Length set, body piped): edited with the right length", stage, {
  run: onePayment(stage, { path: "/paid/file.json" }),
  bare: (answer) => assert.equal(answer.framing, "length"),
  ours: (answer, bare) => {
    expectFields(answer, bare, expectId(answer));
    assert.equal(answer.header("accept-ranges"), "none");
    assert.equal(answer.header("etag") ?? answer.header("last-modified"), undefined);
  },
});

compare("sendFile of a text file: header only", stage, {
  run: onePayment(stage, { path: "/paid/file.txt" }),
  bare: (answer) => assert.equal(answer.body.toString(), "a plain text report\n"),
  ours: (answer, bare) => expectHeaderOnly(answer, bare),
});

compare("P08 a public answer that now carries an id is private; Vary stays", stage, {
  run: onePayment(stage, { path: "/paid/public" }),
  bare: (answer) => assert.equal(answer.header("cache-control"), "public, max-age=60, private"),
  ours: (answer, bare) => {
    expectRated(answer, bare, { removed: ["cdn-cache-control", "etag", "surrogate-control"], changed: answer.header("cache-control") === bare.header("cache-control") ? ["content-length", "payment-response"] : ["cache-control", "content-length", "payment-response"] });
    assert.match(answer.header("cache-control"), /\bprivate\b/);
    assert.equal(answer.header("vary"), "Accept-Language");
  },
});

compare("P08 C26 Cache-Control: public given to writeHead survives the payment layer, not us", stage, {
  run: onePayment(stage, { path: "/paid/public-head" }),
  bare: (answer) => assert.equal(answer.header("cache-control"), "public, max-age=60"),
  ours: (answer, bare) => {
    expectRated(answer, bare, { changed: ["cache-control", "content-length", "payment-response"] });
    assert.match(answer.header("cache-control"), /\bprivate\b/);
    assert.doesNotMatch(answer.header("cache-control"), /\bpublic\b/);
  },
});

compare("P08 no-store is never weakened", stage, {
  run: onePayment(stage, { path: "/paid/no-store" }),
  bare: (answer) => assert.match(answer.header("cache-control"), /no-store/),
  ours: (answer, bare) => {
    expectRated(answer, bare, { removed: ["etag"] });
    assert.equal(answer.header("cache-control"), bare.header("cache-control"));
  },
});

function expectInserted(answer, bare) {
  const id = expectId(answer);
  const at = answer.body.indexOf(`,"feedback_id":"${id}"`);
  assert.ok(at > 0);
  assert.deepEqual(answer.body.subarray(0, at), bare.body.subarray(0, at));
  assert.equal(at, bare.body.length - 1);
}
