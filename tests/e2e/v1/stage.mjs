// The stage for x402 v1: x402-express on Express 4 and x402-fetch.

import { stageFor } from "../lib/stage.mjs";
import { createBuyer } from "./buyer.mjs";
import { paidRoutes, startMerchant } from "./merchant.mjs";

export const openStage = stageFor({ startMerchant, createBuyer, paidRoutes });
