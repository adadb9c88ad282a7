// The stage for x402 v2: @x402/express on Express 5 and @x402/fetch.

import { createBuyer } from "../buyer.mjs";
import { startMerchant } from "../merchant.mjs";
import { paidRoutes } from "../merchant/routes.mjs";
import { stageFor } from "./stage.mjs";

export const openStage = stageFor({ startMerchant, createBuyer, paidRoutes });
