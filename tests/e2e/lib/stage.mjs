// Two merchants that differ in one thing: `bare` has no forge-x402, `ours` has it in front of the payment middleware.
// Each has a facilitator of its own, so that one payment can be made to both and what they were sent can be compared.

import { after, test } from "node:test";
import { startFacilitator } from "../facilitator.mjs";
import { API_KEY, loadForge, PUBLIC_URL, withoutForge } from "./forge.mjs";
import { open as openConnection, request } from "./raw-http.mjs";

/**
 * Makes the `openStage` of one protocol version and host out of its merchant, its buyer, its route table, and the way our side is
 * attached (`attach(forge)`: what the merchant gets in `outer`).
 *
 * `openStage(setup)`: `forge`: options for createForge · `beside(ours)`: how our middleware stands among others,
 *   `{ outer, between, inner }`; it is called with a list that holds our middleware, or nothing for the bare merchant ·
 *   `routes(own)`: another route table · `express`: another Express.
 */
export function stageFor({ startMerchant, createBuyer, paidRoutes, attach = (forge) => forge.middleware() }) {
  return async function openStage({ forge = {}, beside = (ours) => ({ outer: [...ours] }), routes = (own) => own, express } = {}) {
    const buyer = createBuyer();
    const open = async (ours) => {
      const facilitator = await startFacilitator();
      const merchant = await startMerchant({ facilitatorUrl: facilitator.url, ...beside(ours), routes: routes(paidRoutes()), express });
      return side({ facilitator, merchant, buyer });
    };
    const bare = await open([]);
    after(() => bare.close());
    if (withoutForge) return { bare, buyer, ours: null };

    const engine = loadForge().createForge({ apiKey: API_KEY, publicUrl: PUBLIC_URL, ...forge });
    const ours = await open([attach(engine)]);
    after(() => ours.close());
    return { bare, ours, buyer, engine };
  };
}

function side({ facilitator, merchant, buyer }) {
  return {
    facilitator,
    merchant,
    /** What the merchant's handlers observed. */
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
