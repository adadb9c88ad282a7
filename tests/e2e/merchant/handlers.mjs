// What the merchant answers: ordinary answers, and every way of writing a response that has broken a rewriting middleware.

import { createHash } from "node:crypto";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";
import express from "express";
import { BODIES } from "./bodies.mjs";

export const files = fileURLToPath(new URL("./files/", import.meta.url));

export function addHandlers(app) {
  const seen = {};
  app.get("/weather", (req, res) => res.json({ city: req.query.city ?? "Oslo", weather: "foggy", temperature: 60 }));
  app.post("/analyze", express.json({ limit: "40mb" }), (req, res) => res.json({ sentiment: "positive", score: 0.9, length: String(req.body?.text).length }));
  for (const path of ["/bare", "/two-prices", "/preview", "/apology", "/paywall", "/upfront", "/long-description/:length"]) {
    app.get(path, (req, res) => res.json({ path: req.path }));
  }
  app.get("/upfront-failing", (req, res) => res.status(500).json({ error: "the handler failed" }));
  app.all("/any-method", (req, res) => res.json({ method: req.method }));
  app.get("/free", (req, res) => res.json({ free: true }));
  app.get("/free-text", (req, res) => res.type("text/plain").send("free"));
  addBodies(app);
  addStreams(app, seen);
  addHeaders(app);
  addWriteForms(app, seen);
  addFailures(app, seen);
  return seen;
}

function addBodies(app) {
  app.get("/paid/body/:name", (req, res) => {
    const { type, bytes } = BODIES[req.params.name];
    if (type) res.setHeader("Content-Type", type);
    res.setHeader("Content-Length", bytes.length);
    res.end(bytes);
  });
  app.get("/challenge-of/:size", (req, res) => res.json({ size: req.params.size }));
  app.get("/paid/sized/:bytes", (req, res) => {
    const bytes = Number(req.params.bytes);
    res.json({ filler: "x".repeat(bytes - '{"filler":""}'.length) });
  });
  app.get("/paid/status/:code", (req, res) => res.status(Number(req.params.code)).json({ status: Number(req.params.code) }));
  app.get("/paid/no-content", (req, res) => res.status(204).end());
  app.get("/paid/gzip", (req, res) => res.set({ "Content-Type": "application/json", "Content-Encoding": "gzip" }).end(gzipSync('{"zipped":true}')));
  app.get("/paid/file.json", (req, res) => res.sendFile("report.json", { root: files }));
  app.get("/paid/file.txt", (req, res) => res.sendFile("report.txt", { root: files }));
  app.post("/paid/echo", express.raw({ type: () => true, limit: "40mb" }), (req, res) =>
    res.json({ bytes: req.body.length, sha256: createHash("sha256").update(req.body).digest("hex") }),
  );
}

function addStreams(app, seen) {
  app.get("/paid/stream.json", (req, res) => {
    res.setHeader("Content-Type", "application/json");
    seen.streamWrites = [res.write('{"rows":['), res.write("1,2,3")];
    setTimeout(() => res.end("]}"), 30);
  });
  app.get("/paid/slow.json", (req, res) => {
    const text = '{"slow":"one two three"}';
    res.setHeader("Content-Type", "application/json");
    res.setHeader("Content-Length", text.length);
    res.write(text.slice(0, 8));
    setTimeout(() => res.write(text.slice(8, 16)), 10);
    setTimeout(() => res.end(text.slice(16)), 20);
  });
  for (const path of ["/paid/events", "/free-events"]) {
    app.get(path, (req, res) => {
      res.setHeader("Content-Type", "text/event-stream");
      res.flushHeaders();
      res.write('data: {"n":1}\n\n');
      setTimeout(() => res.end('data: {"n":2}\n\n'), 150);
    });
  }
  app.get("/paid/ndjson", (req, res) => {
    res.setHeader("Content-Type", "application/x-ndjson");
    res.write('{"n":1}\n');
    res.end('{"n":2}\n');
  });
  app.get("/paid/flushed.json", (req, res) => {
    res.setHeader("Content-Type", "application/json");
    res.flushHeaders();
    res.end('{"flushed":true}');
  });
  app.get("/paid/trailers", (req, res) => {
    res.setHeader("Content-Type", "application/json");
    res.setHeader("Trailer", "X-Checksum");
    res.write('{"trailers":true}');
    res.addTrailers({ "X-Checksum": "abc" });
    res.end();
  });
  app.get("/paid/early-hints", (req, res) => {
    res.writeEarlyHints({ link: "</style.css>; rel=preload; as=style" });
    res.json({ hinted: true });
  });
  app.get("/paid/write-callback", (req, res) => {
    res.setHeader("Content-Type", "application/json");
    res.setHeader("Content-Length", 17);
    seen.writeCallback = false;
    res.write('{"callback":', () => (seen.writeCallback = true));
    res.end("true}");
  });
}

function addHeaders(app) {
  app.get("/paid/public", (req, res) =>
    res.set({ "Cache-Control": "public, max-age=60", Vary: "Accept-Language", "CDN-Cache-Control": "max-age=60", "Surrogate-Control": "max-age=60" }).json({ cached: true }),
  );
  app.get("/paid/public-head", (req, res) => {
    res.writeHead(200, { "Content-Type": "application/json", "Content-Length": 15, "Cache-Control": "public, max-age=60" });
    res.end('{"cached":true}');
  });
  app.get("/paid/no-store", (req, res) => res.set({ "Cache-Control": "no-store", Vary: "Cookie" }).json({ cached: false }));
  app.get("/paid/modified", (req, res) => res.set({ "Last-Modified": "Mon, 30 Nov 2026 10:00:00 GMT", ETag: '"strong"', "Accept-Ranges": "bytes" }).json({ dated: true }));
  app.get("/paid/cookies", (req, res) => {
    res.append("Set-Cookie", "a=1");
    res.append("Set-Cookie", "b=2");
    res.json({ cookies: 2 });
  });
  for (const name of ["Digest", "Content-MD5", "Content-Digest", "Repr-Digest", "Signature-Input"]) {
    app.get(`/paid/hashed/${name}`, (req, res) => res.set(name, "sha-256=:fake:").json({ hashed: name }));
  }
  app.get("/paid/own-id", (req, res) => res.json({ feedback_id: "mine", ok: true }));
}

function addWriteForms(app, seen) {
  const json = '{"form":true}';
  const heads = {
    status: (res) => res.setHeader("Content-Type", "application/json") && res.writeHead(200),
    message: (res) => res.setHeader("Content-Type", "application/json") && res.writeHead(200, "Fine"),
    headers: (res) => res.writeHead(201, { "Content-Type": "application/json", "X-Own": "1" }),
    "message-headers": (res) => res.writeHead(200, "Fine", { "content-type": "application/json", "content-length": json.length }),
    flat: (res) => res.writeHead(200, ["Content-Type", "application/json", "X-Own", "1"]),
  };
  for (const [name, writeHead] of Object.entries(heads)) {
    app.get(`/paid/write-head/${name}`, (req, res) => {
      seen.writeHeadReturnedRes = writeHead(res) === res;
      res.end(json);
    });
  }
  const ends = {
    "chunk-callback": (res, done) => res.end(json, done),
    "chunk-encoding-callback": (res, done) => res.end(Buffer.from(json).toString("base64"), "base64", done),
    hex: (res, done) => res.end(Buffer.from(json).toString("hex"), "hex", done),
    latin1: (res, done) => res.end('{"form":"\u00e9"}', "latin1", done),
    "other-alphabets": (res, done) => res.end('{"form":"caf\u00e9 \u5929\u6c17"}', done),
    "write-other-alphabets": (res, done) => {
      res.setHeader("Content-Length", Buffer.byteLength('{"form":"caf\u00e9 \u5929\u6c17"}'));
      res.write('{"form":"caf\u00e9 ');
      return res.end('\u5929\u6c17"}', done);
    },
    uint8array: (res, done) => res.end(new Uint8Array(Buffer.from(json)), done),
    "write-end-callback": (res, done) => {
      res.write(json);
      return res.end(done);
    },
  };
  for (const [name, end] of Object.entries(ends)) {
    for (const prefix of ["/paid", "/free"]) {
      app.get(`${prefix}/end/${name}`, (req, res) => {
        res.setHeader("Content-Type", "application/json");
        seen.endCallback = false;
        seen.endReturnedRes = end(res, () => (seen.endCallback = true)) === res;
      });
    }
  }
  app.get("/paid/reused-buffer", (req, res) => {
    const buffer = Buffer.from(json);
    res.setHeader("Content-Type", "application/json");
    res.setHeader("Content-Length", buffer.length);
    res.end(buffer);
  });
}

function addFailures(app, seen) {
  app.get("/paid/throws", () => {
    throw new Error("thrown by the handler");
  });
  app.get("/paid/rejects", async () => {
    throw new Error("rejected by the handler");
  });
  app.get("/paid/partial-then-error", (req, res, next) => {
    res.setHeader("Content-Type", "application/json");
    res.write('{"partial":');
    next(new Error("failed after a partial body"));
  });
  app.get("/paid/write-head-500", (req, res) => {
    res.writeHead(500, { "Content-Type": "application/json" });
    res.end('{"error":"late"}');
  });
  app.get("/paid/sent-twice", (req, res) => {
    res.json({ first: true });
    res.json({ second: "longer than the first" });
  });
  app.get("/paid/rejects-late", async (req, res) => {
    res.json({ first: true });
    throw new Error("rejected after the answer");
  });
  app.get("/paid/destroys", (req, res) => res.destroy());
  app.get("/paid/late", (req, res) => {
    seen.lateClosed = false;
    res.on("close", () => (seen.lateClosed = true));
    setTimeout(() => res.json({ late: true }), 150);
  });
  app.use((error, req, res, next) => {
    seen.errors = [...(seen.errors ?? []), error.message];
    if (res.headersSent) return next(error);
    res.status(500).json({ error: error.message });
  });
}
