// One purchase by the real client, with both legs kept: the 402, the payment it made of it, the paid answer.

import { createBuyer } from "../../../tests/e2e/buyer.mjs";

export async function purchase(url) {
  const legs = [];
  const buyer = createBuyer({
    fetch: async (request) => {
      const answer = await fetch(request);
      legs.push({ request, answer: answer.clone() });
      return answer;
    },
  });
  const answer = await buyer.fetch(url);
  return { buyer: buyer.address, legs, answer };
}

/** Sends a payment made elsewhere, as a client would send its own. */
export async function payWith(url, payment) {
  return fetch(url, { headers: { "PAYMENT-SIGNATURE": payment } });
}
