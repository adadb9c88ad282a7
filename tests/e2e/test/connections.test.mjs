// Connections that carry more than one answer, and answers nobody waits for.

import assert from "node:assert/strict";
import { expectFields, expectId } from "../lib/expect.mjs";
import { compare, paid } from "../lib/stage.mjs";
import { openStage } from "../lib/x402-v2.mjs";
import { requestBytes } from "../lib/raw-http.mjs";

const stage = await openStage();

compare("L13 three paid requests pipelined on one connection: three whole answers, nothing left over", stage, {
  run: async (side) => {
    const paths = ["/weather?city=Oslo", "/bare", "/weather?city=Bergen"];
    const payments = [];
    for (const path of paths) payments.push(await stage.buyer.pay(await side.request({ path })));
    const connection = await side.open();
    connection.send(Buffer.concat(paths.map((path, at) => requestBytes(paid({ path }, payments[at])))));
    const answers = [await connection.read(), await connection.read(), await connection.read()];
    connection.send(requestBytes({ path: "/free" }));
    const after = await connection.read();
    const leftover = connection.leftover().length;
    connection.close();
    return { answers, after, leftover };
  },
  bare: ({ answers, after, leftover }) => {
    assert.deepEqual(answers.map(({ status }) => status), [200, 200, 200]);
    assert.equal(after.body.toString(), '{"free":true}');
    assert.equal(leftover, 0);
  },
  ours: ({ answers, after, leftover }, bare) => {
    const ids = answers.map((answer, at) => {
      const id = expectId(answer);
      expectFields(answer, bare.answers[at], id);
      return id;
    });
    assert.equal(new Set(ids).size, 3);
    assert.equal(after.body.toString(), '{"free":true}');
    assert.equal(leftover, 0);
  },
});

compare("P14 challenge, payment and free answer on one keep-alive connection", stage, {
  run: async (side) => {
    const connection = await side.open();
    const ask = async (options) => {
      connection.send(requestBytes(options));
      return connection.read(options.method);
    };
    const challenge = await ask({ path: "/weather" });
    const answer = await ask(paid({ path: "/weather" }, await stage.buyer.pay(challenge)));
    const free = await ask({ path: "/free" });
    const leftover = connection.leftover().length;
    connection.close();
    return { challenge, answer, free, leftover };
  },
  bare: ({ answer, leftover }) => assert.deepEqual([answer.status, leftover], [200, 0]),
  ours: ({ answer, free, leftover }, bare) => {
    expectFields(answer, bare.answer, expectId(answer));
    assert.deepEqual([free.body.toString(), leftover], ['{"free":true}', 0]);
  },
});

for (const path of ["/any-method", "/weather", "/free"]) {
  compare(`P12 C23 HEAD ${path}, then GET on the same connection: no body bytes, the next answer parses`, stage, {
    run: async (side) => {
      const challenge = await side.request({ path: path === "/any-method" ? path : "/weather" });
      const payment = path === "/free" ? {} : await stage.buyer.pay(challenge);
      const connection = await side.open();
      connection.send(requestBytes(paid({ method: "HEAD", path }, payment)));
      const head = await connection.read("HEAD");
      connection.send(requestBytes({ path: "/free" }));
      const next = await connection.read();
      const leftover = connection.leftover().length;
      connection.close();
      return { head, next, leftover };
    },
    bare: ({ head, next, leftover }) => {
      assert.equal(head.status, 200);
      // HEAD of a route paid for GET only is not protected at all: no receipt.
      assert.equal(head.header("payment-response") !== undefined, path === "/any-method");
      assert.deepEqual([next.body.toString(), leftover], ['{"free":true}', 0]);
    },
    ours: ({ head, next, leftover }, bare) => {
      assert.equal(head.statusLine, bare.head.statusLine);
      assert.equal(head.header("forge-feedback-id") !== undefined, path === "/any-method");
      if (path === "/any-method") {
        assert.equal(head.header("content-length") ?? head.header("etag"), undefined, "the length and the tag of a GET that would be edited");
      }
      assert.deepEqual([next.body.toString(), leftover], ['{"free":true}', 0]);
    },
  });
}

compare("P40 the client leaves before settlement: charged as without us, the handler sees the close, the server goes on", stage, {
  run: async (side) => {
    const payment = await stage.buyer.pay(await side.request({ path: "/paid/late" }));
    const settled = side.facilitator.sent("/settle").length;
    const connection = await side.open();
    connection.send(requestBytes(paid({ path: "/paid/late" }, payment)));
    await until(() => side.seen.lateClosed === false);
    connection.close();
    await until(() => side.facilitator.sent("/settle").length > settled);
    return { closed: side.seen.lateClosed, next: await side.request({ path: "/free" }) };
  },
  bare: ({ closed, next }) => assert.deepEqual([closed, next.status], [true, 200]),
  ours: ({ closed, next }) => assert.deepEqual([closed, next.status], [true, 200]),
});

compare("P40 the client leaves while the facilitator settles: charged as without us, the server goes on", stage, {
  run: async (side) => {
    const payment = await stage.buyer.pay(await side.request({ path: "/weather" }));
    const settled = side.facilitator.sent("/settle").length;
    side.facilitator.delayMs.settle = 150;
    const connection = await side.open();
    connection.send(requestBytes(paid({ path: "/weather" }, payment)));
    await until(() => side.facilitator.sent("/settle").length > settled);
    connection.close();
    await until(() => side.facilitator.usedNonces.size > settled);
    side.facilitator.delayMs = {};
    return side.request({ path: "/free" });
  },
  bare: (next) => assert.equal(next.status, 200),
  ours: (next) => assert.equal(next.status, 200),
});

compare("res.destroy() in a paid handler: the connection closes, the server goes on", stage, {
  run: async (side) => {
    const payment = await stage.buyer.pay(await side.request({ path: "/paid/destroys" }));
    const failure = await side.request(paid({ path: "/paid/destroys" }, payment)).catch((error) => error);
    return { failure, next: await side.request({ path: "/free" }) };
  },
  bare: ({ failure, next }) => {
    assert.ok(failure instanceof Error);
    assert.equal(next.status, 200);
  },
  ours: ({ failure, next }) => {
    assert.ok(failure instanceof Error);
    assert.equal(next.status, 200);
  },
});

async function until(condition) {
  for (let left = 500; left > 0; left--) {
    if (condition()) return;
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
  throw new Error(`never came true: ${condition}`);
}
