// A backend on loopback: takes events and ratings, has a summary, and fails the way backends do when told to. With
// `forward`, it only keeps a copy of what passes: each request goes on to a real collector, whose answer is given back.

import { createServer } from "node:http";
import { closeServer } from "./facilitator.mjs";

export async function startReceiver({ apiKey, forward } = {}) {
  const receiver = {
    /** Events received, in order. */
    events: [],
    /** Bodies of POST /feedback, in order. */
    ratings: [],
    /** All requests: `{ method, path, headers, body }`. */
    requests: [],
    /** `fail[path] = { status, body?, delayMs?, hang? }`, path as in "/events". */
    fail: {},
    /** Resolves with the events as soon as `enough(events)` is true. */
    async until(enough, limitMs = 10_000) {
      const deadline = Date.now() + limitMs;
      while (!enough(receiver.events)) {
        if (Date.now() > deadline) throw new Error(`the events did not come: ${JSON.stringify(receiver.events)}`);
        await new Promise((resolve) => setTimeout(resolve, 10));
      }
      return receiver.events;
    },
    of: (type) => receiver.events.filter((event) => event.type === type),
  };

  const server = createServer(async (req, res) => {
    const chunks = [];
    for await (const chunk of req) chunks.push(chunk);
    const text = Buffer.concat(chunks).toString();
    const path = req.url.replace(/^\/v1/, "");
    const body = text === "" ? undefined : JSON.parse(text);
    receiver.requests.push({ method: req.method, path, headers: req.headers, body });
    if (apiKey && req.headers.authorization !== `Bearer ${apiKey}`) return send(res, 401, { error: "unauthorized" });
    const failure = receiver.fail[path];
    if (failure?.hang) return;
    if (failure?.delayMs) await new Promise((resolve) => setTimeout(resolve, failure.delayMs));
    if (failure?.status) return send(res, failure.status, failure.body ?? { error: "told to fail" });
    if (path === "/events") receiver.events.push(...body.events);
    if (path === "/feedback") receiver.ratings.push(body);
    if (forward) return relay(forward + req.url, req, text, res);
    if (path === "/events") return send(res, 202, {});
    if (path === "/feedback") {
      return send(res, 200, { recorded: true, feedback_id: body.feedback_id });
    }
    if (path === "/summary") return send(res, 200, { ratings: receiver.ratings.length });
    if (path === "/project") return send(res, 200, {});
    send(res, 404, { error: "no such path" });
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  receiver.url = `http://127.0.0.1:${server.address().port}`;
  receiver.close = () => closeServer(server);
  return receiver;
}

async function relay(url, { method, headers }, text, res) {
  const kept = ["authorization", "content-type", "idempotency-key", "user-agent"];
  const answer = await fetch(url, {
    method,
    headers: Object.fromEntries(kept.filter((name) => headers[name]).map((name) => [name, headers[name]])),
    body: text === "" ? undefined : text,
  });
  res.writeHead(answer.status, { "content-type": answer.headers.get("content-type") ?? "application/json" });
  res.end(Buffer.from(await answer.arrayBuffer()));
}

function send(res, status, body) {
  res.writeHead(status, { "content-type": "application/json" });
  res.end(JSON.stringify(body));
}
