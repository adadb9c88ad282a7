// Request bodies: an unpaid upload is answered before it arrives, a paid one reaches the handler whole.

import assert from "node:assert/strict";
import { createHash, randomBytes } from "node:crypto";
import { expectDecorated, expectFields, expectId } from "../lib/expect.mjs";
import { compare, paid } from "../lib/stage.mjs";
import { openStage } from "../lib/x402-v2.mjs";

const stage = await openStage();
const MiB = 1024 * 1024;

for (const [id, expectation] of [
  ["D08", ""],
  ["L11", "Expect: 100-continue\r\n"],
]) {
  compare(`${id} an unpaid upload of 1 MiB is answered 402 before a byte of it is sent${expectation && " (Expect: 100-continue)"}`, stage, {
    run: async (side) => {
      const connection = await side.open();
      connection.send(`POST /analyze HTTP/1.1\r\nHost: api.example.com\r\nContent-Type: application/json\r\nContent-Length: ${MiB}\r\n${expectation}\r\n`);
      const answer = await connection.read();
      connection.close();
      return answer;
    },
    bare: (answer) => {
      assert.equal(answer.status, 402);
      assert.deepEqual(answer.informational.map(({ status }) => status), expectation ? [100] : []);
    },
    ours: (answer, bare) => {
      expectDecorated(answer, bare);
      assert.deepEqual(answer.informational.map(({ status }) => status), bare.informational.map(({ status }) => status));
    },
  });
}

for (const [name, type, size] of [
  ["JSON of 2 KB", "application/json", 2_000],
  ["JSON of 1 MiB", "application/json", MiB],
  ["JSON of 30 MiB", "application/json", 30 * MiB],
  ["bytes of 1 MiB", "application/octet-stream", MiB],
  ["multipart", "multipart/form-data; boundary=x", 5_000],
]) {
  for (const framing of ["Content-Length", "chunked"]) {
    const body = type === "application/json" ? Buffer.from(JSON.stringify({ text: "x".repeat(size - '{"text":""}'.length) })) : randomBytes(size);
    compare(`P20 a paid upload, ${name}, ${framing}: the handler sees every byte`, stage, {
      run: async (side) => {
        const options = { method: "POST", path: "/paid/echo" };
        const payment = await stage.buyer.pay(await side.request({ ...options, body: "" }));
        const headers = { "Content-Type": type, ...payment };
        if (framing === "Content-Length") return side.request(paid({ ...options, headers, body }, {}));
        const connection = await side.open();
        const lines = Object.entries({ ...headers, "Transfer-Encoding": "chunked" }).map(([key, value]) => `${key}: ${value}\r\n`);
        connection.send(`POST ${options.path} HTTP/1.1\r\nHost: api.example.com\r\n${lines.join("")}\r\n`);
        for (let at = 0; at < body.length; at += 65_536) {
          const chunk = body.subarray(at, at + 65_536);
          connection.send(`${chunk.length.toString(16)}\r\n`);
          connection.send(chunk);
          connection.send("\r\n");
        }
        connection.send("0\r\n\r\n");
        const answer = await connection.read();
        connection.close();
        return answer;
      },
      bare: (answer) => assert.deepEqual(JSON.parse(answer.body), arrived(body)),
      ours: (answer, bare) => {
        expectFields(answer, bare, expectId(answer));
        const { bytes, sha256 } = JSON.parse(answer.body);
        assert.deepEqual({ bytes, sha256 }, arrived(body));
      },
    });
  }
}

function arrived(body) {
  return { bytes: body.length, sha256: createHash("sha256").update(body).digest("hex") };
}
