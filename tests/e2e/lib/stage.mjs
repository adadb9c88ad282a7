// Two merchants that differ in one thing: `bare` has no forge-x402, `ours` has it in front of the payment middleware.
// Each has a facilitator of its own, so that one payment can be made to both and what they were sent can be compared.

import { after, test } from "node:test";
import { createBuyer } from "../buyer.mjs";
import { startFacilitator } from "../facilitator.mjs";
import { startMerchant } from "../merchant.mjs";
import { paidRoutes } from "../merchant/routes.mjs";
import { API_KEY, loadForge, PUBLIC_URL, withoutForge } from "./forge.mjs";
import { open as openConnection, request } from "./raw-http.mjs";

/**
 * @param {object} setup `forge`: options for createForge · `beside(ours)`: how our middleware stands among others,
 *   `{ outer, between, inner }`; it is called with a list that holds our middleware, or nothing for the bare merchant ·
 *   `routes(own)`: another route table.
 */
export async function openStage({ forge = {}, beside = (ours) => ({ outer: [...ours] }), routes = (own) => own } = {}) {
  const buyer = createBuyer();
  const open = (name, ours) => openSide(name, buyer, { ...beside(ours), routes: routes(paidRoutes()) });
  const bare = await open("without forge-x402", []);
  let ours = null;
  if (!withoutForge) {
    const instance = loadForge().createForge({ apiKey: API_KEY, publicUrl: PUBLIC_URL, ...forge });
    ours = await open("with forge-x402", [instance.middleware()]);
    ours.forge = instance;
  }
  after(async () => {
    await bare.close();
    await ours?.close();
    await ours?.forge.shutdown?.();
  });
  return { bare, ours, buyer };
}

async function openSide(name, buyer, middleware) {
  const facilitator = await startFacilitator();
  const merchant = await startMerchant({ facilitatorUrl: facilitator.url, ...middleware });
  return {
    name,
    facilitator,
    merchant,
    seen: merchant.seen,
    request: (options) => request(merchant.port, options),
    open: () => openConnection(merchant.port),
    /** Asks without paying, pays for the answer, asks again. Resolves with all three. */
    async buy(options) {
      const challenge = await this.request(options);
      const payment = await buyer.pay(challenge);
      const answer = await this.request(paid(options, payment));
      return { challenge, payment, answer };
    },
    close: async () => {
      await merchant.close();
      await facilitator.close();
    },
  };
}

/**
 * A `run` for `compare` that makes one payment and sends the very same bytes to both merchants.
 * It is signed for the challenge of the bare merchant.
 */
export function onePayment(stage, options) {
  let payment;
  return async (side) => {
    payment ??= await stage.buyer.pay(await stage.bare.request(options));
    return side.request(paid(options, payment));
  };
}

export function paid(options, payment) {
  return { ...options, headers: { ...options.headers, ...payment } };
}

/**
 * One behaviour, shown first without us and then with us.
 * `run(side)` produces the evidence; `bare(evidence)` and `ours(evidence, bareEvidence)` judge it.
 */
export function compare(name, stage, { run, bare, ours }) {
  return test(name, async (t) => {
    let before;
    await t.test("without us", async () => {
      before = await run(stage.bare);
      await bare(before);
    });
    await t.test("with us", { skip: withoutForge && "E2E_WITHOUT_FORGE=1" }, async () => {
      await ours(await run(stage.ours), before);
    });
  });
}
