// A merchant on node:http without a framework. `outer[0]` wraps its listener.

import { createServer } from "node:http";
import { closeServer } from "../../facilitator.mjs";
import { answer } from "./answers.mjs";
import { openPayments } from "./payments.mjs";

export async function startNode({ facilitatorUrl, outer = [], routes }) {
  const payments = await openPayments({ facilitatorUrl, routes });
  const seen = {};

  const listener = async (req, res) => {
    const header = (name) => req.headers[name.toLowerCase()];
    const charge = await payments.ask({ method: req.method, url: req.url, header });
    if (charge.refused) return send(res, charge.refused);
    const chunks = [];
    for await (const chunk of req) chunks.push(chunk);
    let made = answer({ method: req.method, path: req.url.split("?")[0], url: req.url, header, body: Buffer.concat(chunks) });
    if (charge.paid) made = await payments.settle(charge.paid, made);
    return send(res, made);
  };
  const [wrap = (own) => own] = outer;
  const wrapped = wrap(listener);
  const server = createServer((req, res) =>
    wrapped(req, res).catch((error) => {
      seen.error = error.message;
      send(res, { status: 500, headers: {}, body: "failed" });
    }),
  );
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  return { seen, port: server.address().port, close: () => closeServer(server) };
}

function send(res, { status, headers, body }) {
  res.writeHead(status, { ...headers, "Content-Length": Buffer.byteLength(body) });
  res.end(body);
}
