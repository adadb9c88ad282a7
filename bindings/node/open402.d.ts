// forge-x402/open402: the two headers of open402 / ag402, read and written strictly. Pure; nothing blocks.
// Every function throws where the native part could not be loaded.

export interface Challenge {
  /** "solana", "base", "ethereum". */
  chain: string;
  /** Symbol or mint address. */
  token: string;
  /** In token units, a plain decimal above zero. */
  amount: string;
  address: string;
  service_hash?: string;
  service_tier?: string;
  refund_contract?: string;
}

export interface Proof {
  tx_hash: string;
  /** A claim of the client until somebody has looked at the chain. */
  payer_address?: string;
  chain?: string;
  request_id?: string;
}

/** One `WWW-Authenticate` value. Throws where clients could read it in two ways: duplicates, smuggled names, a second x402 challenge. */
export function parseChallenge(value: string): Challenge;
/** The `WWW-Authenticate` value. Throws on an unknown field, an empty one, a character that is unsafe in a header, an amount that is none. */
export function buildChallenge(challenge: Challenge): string;
/** One `Authorization` value: `x402 <tx_hash>` or the structured spelling. Throws on anything else. */
export function parseProof(value: string): Proof;
/** The `Authorization` value in the structured spelling. Throws as buildChallenge does. */
export function buildProof(proof: Proof): string;
/** The JSON Schema of both: `x402_challenge`, `x402_proof` (draft 2020-12) and `protocol_version`. */
export function jsonSchema(): { protocol_version: string; x402_challenge: object; x402_proof: object };
/** The value of `X-Service-Hash` for a service description: "sha256:" and 64 hex digits of its UTF-8. */
export function serviceHash(description: string): string;
/** The replay fields, one pair for both legs of a call. `nowMs`: unix milliseconds; now. */
export function replayHeaders(options?: { nowMs?: number }): { "X-x402-Timestamp": string; "X-x402-Nonce": string };
