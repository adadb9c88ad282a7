// The paying side: the real x402 client with an account made for this run and thrown away with it.

import { x402Client, x402HTTPClient } from "@x402/core/client";
import { ExactEvmScheme } from "@x402/evm";
import { wrapFetchWithPayment } from "@x402/fetch";
import { generatePrivateKey, privateKeyToAccount } from "viem/accounts";

/** `fetch` is what requests go through; another one may look on. */
export function createBuyer({ fetch: through = fetch } = {}) {
  const account = privateKeyToAccount(generatePrivateKey());
  const client = new x402Client();
  client.register("eip155:84532", new ExactEvmScheme(account));
  const http = new x402HTTPClient(client);
  return {
    address: account.address,
    /** `fetch` that pays when it meets a 402. */
    fetch: wrapFetchWithPayment(through, client),
    /** What the client understands of a 402: the parsed PAYMENT-REQUIRED. */
    read: (answer) => http.getPaymentRequiredResponse((name) => answer.header(name), undefined),
    /** Pays for a 402 and returns the request headers that carry the payment. */
    async pay(answer) {
      return http.encodePaymentSignatureHeader(await client.createPaymentPayload(this.read(answer)));
    },
  };
}
