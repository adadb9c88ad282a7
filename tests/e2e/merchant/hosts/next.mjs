// A merchant made of route handlers in the shape of Next.js: `export const GET = wrapped((request, { params }) => Response)`, called with a
// request class of its own. `outer[0]` wraps each handler; a catch-all handler stands where the rating routes are.

import { answer } from "./answers.mjs";
import { serveFetch } from "./hono.mjs";
import { openPayments } from "./payments.mjs";

/** As NextRequest: a Request with something more. */
class RouteRequest extends Request {
  get nextUrl() {
    return new URL(this.url);
  }
}

export async function startNext({ facilitatorUrl, outer = [], routes }) {
  const payments = await openPayments({ facilitatorUrl, routes });
  const seen = {};
  const [wrap = (own) => own] = outer;

  const route = wrap(async (request, { params }) => {
    const { pathname, search } = request.nextUrl;
    seen.params = await params;
    const header = (name) => request.headers.get(name) ?? undefined;
    const charge = await payments.ask({ method: request.method, url: pathname + search, header });
    if (charge.refused) return respond(charge.refused);
    const body = Buffer.from(await request.arrayBuffer());
    let made = answer({ method: request.method, path: pathname, url: pathname + search, header, body });
    if (charge.paid) made = await payments.settle(charge.paid, made);
    return respond(made);
  });

  // What the framework does around a route handler.
  return serveFetch(async (request) => {
    const own = new RouteRequest(request.url, { method: request.method, headers: request.headers, body: request.body, duplex: "half" });
    try {
      return await route(own, { params: Promise.resolve({ slug: "x" }) });
    } catch (error) {
      seen.error = error.message;
      return new Response("failed", { status: 500 });
    }
  }, seen);
}

function respond({ status, headers, body }) {
  return new Response(body, { status, headers: Object.entries(headers).flatMap(([name, value]) => [value].flat().map((one) => [name, one])) });
}
