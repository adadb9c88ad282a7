// The ESM face of lib/open402.js.
import open402 from "./lib/open402.js";

export const { buildChallenge, buildProof, jsonSchema, parseChallenge, parseProof, replayHeaders, serviceHash } = open402;
