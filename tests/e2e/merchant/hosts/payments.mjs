// A payment layer for hosts that have no x402 package, on the real @x402/core: verify, run the handler, settle, answer.

import { HTTPFacilitatorClient, x402HTTPResourceServer, x402ResourceServer } from "@x402/core/server";
import { ExactEvmScheme } from "@x402/evm/exact/server";
import { bazaarResourceServerExtension } from "@x402/extensions/bazaar";

export async function openPayments({ facilitatorUrl, routes }) {
  const server = new x402ResourceServer(new HTTPFacilitatorClient({ url: facilitatorUrl }));
  server.register("eip155:84532", new ExactEvmScheme());
  server.registerExtension(bazaarResourceServerExtension);
  const http = new x402HTTPResourceServer(server, routes);
  await http.initialize();

  return {
    /** `{ free }`, `{ refused: { status, headers, body } }` or `{ paid }`, to be given to `settle`. */
    async ask({ method, url, header }) {
      const { pathname, searchParams } = new URL(url, "http://api.example.com");
      const adapter = {
        getHeader: header,
        getMethod: () => method,
        getPath: () => pathname,
        getUrl: () => new URL(url, "http://api.example.com").href,
        getAcceptHeader: () => header("accept") ?? "",
        getUserAgent: () => header("user-agent") ?? "",
        getQueryParams: () => Object.fromEntries(searchParams),
        getQueryParam: (name) => searchParams.get(name) ?? undefined,
        getBody: () => undefined,
      };
      const context = { adapter, path: pathname, method, paymentHeader: header("payment-signature") ?? header("x-payment") };
      if (!http.requiresPayment(context)) return { free: true };
      const result = await http.processHTTPRequest(context);
      if (result.type === "no-payment-required") return { free: true };
      if (result.type === "payment-error") {
        const { status, headers, body } = result.response;
        return { refused: { status, headers: { "Content-Type": "application/json", ...headers }, body: JSON.stringify(body ?? {}) } };
      }
      return { paid: { ...result, context } };
    },
    /** The answer with its receipt, or the refusal of a failed settlement. */
    async settle({ paymentPayload, paymentRequirements, declaredExtensions, context }, answer) {
      if (answer.status >= 400) return answer;
      const settled = await http.processSettlement(paymentPayload, paymentRequirements, declaredExtensions, { request: context, responseBody: Buffer.from(answer.body) });
      if (!settled.success) return { status: settled.response.status, headers: settled.response.headers, body: JSON.stringify(settled.response.body ?? {}) };
      return { ...answer, headers: { ...answer.headers, ...settled.headers } };
    },
  };
}
