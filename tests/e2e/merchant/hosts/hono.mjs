// A merchant on Hono with the real @x402/hono, served by @hono/node-server. `outer[0]` wraps the application's fetch.

import { serve } from "@hono/node-server";
import { HTTPFacilitatorClient } from "@x402/core/server";
import { ExactEvmScheme } from "@x402/evm/exact/server";
import { paymentMiddleware, x402ResourceServer } from "@x402/hono";
import { Hono } from "hono";
import { closeServer } from "../../facilitator.mjs";
import { answer } from "./answers.mjs";

export async function startHono({ facilitatorUrl, outer = [], routes }) {
  const resources = new x402ResourceServer(new HTTPFacilitatorClient({ url: facilitatorUrl }));
  resources.register("eip155:84532", new ExactEvmScheme());
  const seen = {};
  const app = new Hono();
  app.use(paymentMiddleware(routes, resources));
  app.all("*", async (c) => {
    const { pathname, search } = new URL(c.req.url);
    const body = Buffer.from(await c.req.arrayBuffer());
    const made = answer({ method: c.req.method, path: pathname, url: pathname + search, header: (name) => c.req.header(name), body });
    const headers = Object.entries(made.headers).flatMap(([name, value]) => [value].flat().map((one) => [name, one]));
    return new Response(made.body, { status: made.status, headers });
  });
  app.onError((error, c) => {
    seen.error = error.message;
    return c.text("failed", 500);
  });
  return serveFetch(outer[0]?.(app.fetch) ?? app.fetch, seen);
}

export async function serveFetch(fetch, seen) {
  const server = await new Promise((resolve) => {
    const made = serve({ fetch, port: 0, hostname: "127.0.0.1" }, () => resolve(made));
  });
  return { seen, port: server.address().port, close: () => closeServer(server) };
}
