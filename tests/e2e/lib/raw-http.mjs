// An HTTP/1.1 client on a bare socket: it shows the bytes a server really sent (header spelling and order, framing,
// informational answers, trailers) and can pipeline. It is strict: bytes that do not parse as an answer are an error.

import { connect } from "node:net";

/** One request on a connection of its own. */
export async function request(port, options = {}) {
  const connection = await open(port);
  try {
    connection.send(requestBytes({ ...options, headers: { Connection: "close", ...options.headers } }));
    return await connection.read(options.method);
  } finally {
    connection.close();
  }
}

export function requestBytes({ method = "GET", path = "/", headers = {}, body, host = "api.example.com" }) {
  const bytes = body === undefined ? Buffer.alloc(0) : Buffer.from(body);
  const lines = [`${method} ${path} HTTP/1.1`, `Host: ${host}`];
  for (const [name, value] of Object.entries(headers)) lines.push(`${name}: ${value}`);
  if (body !== undefined) lines.push(`Content-Length: ${bytes.length}`);
  return Buffer.concat([Buffer.from(`${lines.join("\r\n")}\r\n\r\n`, "latin1"), bytes]);
}

export async function open(port, { timeoutMs = 10_000 } = {}) {
  const socket = connect(port, "127.0.0.1");
  let received = Buffer.alloc(0);
  let closed = false;
  let wake = () => {};
  const timer = setTimeout(() => socket.destroy(new Error(`no complete answer within ${timeoutMs} ms`)), timeoutMs);
  let failure;
  socket.on("data", (chunk) => {
    received = Buffer.concat([received, chunk]);
    wake();
  });
  socket.on("error", (error) => {
    failure = error;
    wake();
  });
  socket.on("close", () => {
    closed = true;
    wake();
  });
  await new Promise((resolve, reject) => socket.once("connect", resolve).once("error", reject));

  /** Resolves with what `take(received, closed)` makes of the bytes so far, as soon as it is not undefined. */
  async function until(take) {
    for (;;) {
      const result = take(received, closed);
      if (result !== undefined) {
        received = received.subarray(result.used);
        return result.value;
      }
      if (closed) throw failure ?? new Error(`connection closed inside an answer: ${JSON.stringify(received.toString("latin1").slice(0, 200))}`);
      await new Promise((resolve) => (wake = resolve));
    }
  }

  return {
    send: (bytes) => socket.write(bytes),
    async read(method = "GET") {
      const informational = [];
      for (;;) {
        const head = await until(takeHead);
        if (head.status < 200 && head.status !== 101) {
          informational.push(head);
          continue;
        }
        const body = await until((bytes, ended) => takeBody(bytes, ended, head, method));
        return { ...head, ...body, informational };
      }
    },
    /** Waits for at least `count` bytes of whatever comes and returns all there is, without consuming it. */
    peek: (count) => until((bytes, ended) => (bytes.length >= count || ended ? { used: 0, value: Buffer.from(bytes) } : undefined)),
    /** Bytes received and not yet read as an answer. */
    leftover: () => Buffer.from(received),
    get closed() {
      return closed;
    },
    close() {
      clearTimeout(timer);
      socket.destroy();
    },
  };
}

function takeHead(bytes) {
  const end = bytes.indexOf("\r\n\r\n");
  if (end < 0) return undefined;
  const text = bytes.subarray(0, end).toString("latin1");
  const [statusLine, ...lines] = text.split("\r\n");
  const match = /^HTTP\/1\.1 (\d{3})(?: (.*))?$/.exec(statusLine);
  if (!match) throw new Error(`not a status line: ${JSON.stringify(statusLine.slice(0, 200))}`);
  return { used: end + 4, value: { statusLine, status: Number(match[1]), ...headerView(lines) } };
}

function headerView(lines) {
  const headers = lines.map((line) => {
    const colon = line.indexOf(":");
    return [line.slice(0, colon), line.slice(colon + 1).trim()];
  });
  const all = (name) => headers.filter(([key]) => key.toLowerCase() === name.toLowerCase()).map(([, value]) => value);
  return { headers, all, header: (name) => all(name)[0] };
}

function takeBody(bytes, ended, head, method) {
  const none = (framing) => ({ used: 0, value: { body: Buffer.alloc(0), framing, trailers: [], chunks: [] } });
  if (method === "HEAD" || head.status === 204 || head.status === 304 || head.status === 101) return none("none");
  if (/chunked/i.test(head.header("transfer-encoding") ?? "")) return takeChunked(bytes);
  const length = head.header("content-length");
  if (length !== undefined) {
    if (bytes.length < Number(length)) return undefined;
    return { used: Number(length), value: { body: Buffer.from(bytes.subarray(0, Number(length))), framing: "length", trailers: [], chunks: [] } };
  }
  if (!ended) return undefined;
  return { used: bytes.length, value: { body: Buffer.from(bytes), framing: "close", trailers: [], chunks: [] } };
}

function takeChunked(bytes) {
  const chunks = [];
  let at = 0;
  for (;;) {
    const lineEnd = bytes.indexOf("\r\n", at);
    if (lineEnd < 0) return undefined;
    const size = parseInt(bytes.subarray(at, lineEnd).toString("latin1"), 16);
    if (Number.isNaN(size)) throw new Error(`not a chunk size: ${JSON.stringify(bytes.subarray(at, at + 80).toString("latin1"))}`);
    at = lineEnd + 2;
    if (size === 0) break;
    if (bytes.length < at + size + 2) return undefined;
    chunks.push(Buffer.from(bytes.subarray(at, at + size)));
    at += size + 2;
  }
  const trailers = [];
  for (;;) {
    const lineEnd = bytes.indexOf("\r\n", at);
    if (lineEnd < 0) return undefined;
    const line = bytes.subarray(at, lineEnd).toString("latin1");
    at = lineEnd + 2;
    if (line === "") break;
    trailers.push([line.slice(0, line.indexOf(":")), line.slice(line.indexOf(":") + 1).trim()]);
  }
  return { used: at, value: { body: Buffer.concat(chunks), framing: "chunked", trailers, chunks } };
}

/** What differs between two answers' headers, Date left out: names are compared without case, values exactly. */
export function headerChanges(before, after) {
  const lines = (answer) => {
    const byName = new Map();
    for (const [name, value] of answer.headers) {
      if (name.toLowerCase() === "date") continue;
      byName.set(name.toLowerCase(), [...(byName.get(name.toLowerCase()) ?? []), value]);
    }
    return byName;
  };
  const [old, now] = [lines(before), lines(after)];
  const added = [...now.keys()].filter((name) => !old.has(name)).sort();
  const removed = [...old.keys()].filter((name) => !now.has(name)).sort();
  const changed = [...old.keys()].filter((name) => now.has(name) && old.get(name).join("\n") !== now.get(name).join("\n")).sort();
  return { added, removed, changed };
}

export const NO_CHANGES = { added: [], removed: [], changed: [] };
