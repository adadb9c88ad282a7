// A merchant on Fastify. `outer[0]` is a plugin that is registered first. The payment layer is made of Fastify's hooks.

import createFastify from "fastify";
import { answer } from "./answers.mjs";
import { openPayments } from "./payments.mjs";

export async function startFastify({ facilitatorUrl, outer = [], routes }) {
  const payments = await openPayments({ facilitatorUrl, routes });
  const seen = {};
  const app = createFastify({ bodyLimit: 40 * 1024 * 1024 });
  for (const plugin of outer) await app.register(plugin);

  app.decorateRequest("charge", null);
  app.addHook("preParsing", async (request, reply) => {
    request.charge = await payments.ask({ method: request.method, url: request.raw.url, header: (name) => request.headers[name.toLowerCase()] });
    if (!request.charge.refused) return undefined;
    const { status, headers, body } = request.charge.refused;
    request.charge = null;
    await reply.code(status).headers(headers).send(body);
    return undefined;
  });
  app.addHook("onSend", async (request, reply, payload) => {
    if (!request.charge?.paid) return payload;
    const made = await payments.settle(request.charge.paid, { status: reply.statusCode, headers: {}, body: payload ?? "" });
    reply.code(made.status).headers(made.headers);
    return made.body;
  });
  app.addContentTypeParser("*", { parseAs: "buffer" }, (_request, body, done) => done(null, body));
  app.addContentTypeParser("application/json", { parseAs: "buffer" }, (_request, body, done) => done(null, body));

  const handler = (request, reply) => {
    seen.query = request.query;
    const made = answer({
      method: request.method,
      path: request.url.split("?")[0],
      url: request.url,
      header: (name) => request.headers[name],
      body: request.body ?? Buffer.alloc(0),
    });
    reply.code(made.status).headers(made.headers).send(made.body);
  };
  app.route({ method: ["GET", "POST"], url: "/paid/:name", handler });
  app.post("/free-seen", handler);
  for (const path of ["/weather", "/free"]) app.get(path, handler);
  app.setErrorHandler((error, _request, reply) => {
    seen.error = error.message;
    reply.code(500).send("failed");
  });

  await app.listen({ port: 0, host: "127.0.0.1" });
  return { app, seen, port: app.server.address().port, close: () => (app.server.closeAllConnections(), app.close()) };
}
