// An Express 5 (or 4) merchant on the real @x402/express, listening on loopback.
//
// `outer` middleware stands in front of the payment middleware (forge-x402 goes there), `inner` between the payment
// middleware and the handlers, `between` in front of the payment middleware but behind `outer`.

import { createServer } from "node:http";
import express5 from "express";
import { HTTPFacilitatorClient } from "@x402/core/server";
import { ExactEvmScheme } from "@x402/evm/exact/server";
import { paymentMiddleware, x402ResourceServer } from "@x402/express";
import { closeServer } from "./facilitator.mjs";
import { addHandlers } from "./merchant/handlers.mjs";
import { paidRoutes } from "./merchant/routes.mjs";

export async function startMerchant({ facilitatorUrl, outer = [], between = [], inner = [], routes = paidRoutes(), port = 0, express = express5 }) {
  const resourceServer = new x402ResourceServer(new HTTPFacilitatorClient({ url: facilitatorUrl }));
  resourceServer.register("eip155:84532", new ExactEvmScheme());

  const app = express();
  for (const middleware of [...outer, ...between]) app.use(middleware);
  app.use(paymentMiddleware(routes, resourceServer));
  for (const middleware of inner) app.use(middleware);
  const seen = addHandlers(app);

  const server = createServer(app);
  await new Promise((resolve) => server.listen(port, "127.0.0.1", resolve));
  return {
    app,
    /** What handlers observed, by name: values returned by res.write, callbacks called, errors caught. */
    seen,
    port: server.address().port,
    url: `http://127.0.0.1:${server.address().port}`,
    close: () => closeServer(server),
  };
}
