// The paying side of x402 v1: the real client packages with an account made for this run and thrown away with it.

import { generatePrivateKey, privateKeyToAccount } from "viem/accounts";
import { createPaymentHeader, selectPaymentRequirements } from "x402/client";
import { PaymentRequirementsSchema } from "x402/types";
import { wrapFetchWithPayment } from "x402-fetch";

export function createBuyer() {
  const account = privateKeyToAccount(generatePrivateKey());
  return {
    address: account.address,
    /** `fetch` that pays when it meets a 402. */
    fetch: wrapFetchWithPayment(fetch, account),
    /** The entries of a 402 as the client understands them; throws where its schema refuses one. */
    read: (answer) => JSON.parse(answer.body).accepts.map((entry) => PaymentRequirementsSchema.parse(entry)),
    /** Pays for a 402 and returns the request headers that carry the payment. */
    async pay(answer) {
      const chosen = selectPaymentRequirements(this.read(answer), "base-sepolia", "exact");
      return { "X-PAYMENT": await createPaymentHeader(account, 1, chosen) };
    },
  };
}
