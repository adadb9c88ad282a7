// A facilitator on loopback: /supported, /verify and /settle of x402 v1 and v2.
//
// The payment check is the real one (EIP-712 signature of an EIP-3009 transfer, payee, amount, time window, nonce used
// once); only the chain is imitated, by a transaction hash derived from the signature. Every request body is kept as raw
// bytes in `requests`, and `fail`, `delayMs` and `maxDescription` make it misbehave the way facilitators in production do.

import { createServer } from "node:http";
import { isAddressEqual, keccak256, verifyTypedData } from "viem";

export async function startFacilitator({ port = 0 } = {}) {
  const facilitator = {
    /** Bodies received, in order: `{ path, raw: Buffer, body }`. */
    requests: [],
    /** `fail.verify` or `fail.settle` = `{ status?, body }`; a string body is sent as it is, so it may be broken JSON. */
    fail: {},
    delayMs: {},
    /** Refuse a longer `resource.description` (UTF-16 units), as the production facilitator does at 500. */
    maxDescription: Infinity,
    usedNonces: new Set(),
    sent(path) {
      return this.requests.filter((request) => request.path === path);
    },
  };

  const server = createServer(async (req, res) => {
    const chunks = [];
    for await (const chunk of req) chunks.push(chunk);
    const raw = Buffer.concat(chunks);
    const path = req.url.split("?")[0];
    if (path === "/supported") return send(res, 200, SUPPORTED);

    const body = JSON.parse(raw.toString("utf8"));
    facilitator.requests.push({ path, raw, body });
    const step = path.slice(1);
    if (facilitator.delayMs[step]) await new Promise((resolve) => setTimeout(resolve, facilitator.delayMs[step]));
    const failure = facilitator.fail[step];
    if (failure) return send(res, failure.status ?? 200, failure.body);
    if ((body.paymentPayload.resource?.description?.length ?? 0) > facilitator.maxDescription) return send(res, 400, TOO_LONG);
    if (step === "verify") return send(res, 200, await verify(facilitator, body));
    if (step === "settle") return send(res, 200, await settle(facilitator, body));
    send(res, 404, { error: "no such path" });
  });
  await new Promise((resolve) => server.listen(port, "127.0.0.1", resolve));
  facilitator.url = `http://127.0.0.1:${server.address().port}`;
  facilitator.close = () => closeServer(server);
  return facilitator;
}

async function verify(facilitator, { paymentPayload, paymentRequirements }) {
  const { authorization, signature } = paymentPayload.payload;
  const payer = authorization.from;
  const invalid = (invalidReason) => ({ isValid: false, invalidReason, payer });
  const now = BigInt(Math.floor(Date.now() / 1000));

  const signed = await verifyTypedData({
    address: payer,
    domain: {
      name: paymentRequirements.extra.name,
      version: paymentRequirements.extra.version,
      chainId: CHAIN_IDS[paymentRequirements.network],
      verifyingContract: paymentRequirements.asset,
    },
    types: TRANSFER_WITH_AUTHORIZATION,
    primaryType: "TransferWithAuthorization",
    message: authorization,
    signature,
  }).catch(() => false);
  if (!signed) return invalid("invalid_exact_evm_payload_signature");
  if (!isAddressEqual(authorization.to, paymentRequirements.payTo)) return invalid("invalid_exact_evm_payload_recipient_mismatch");
  const price = paymentRequirements.amount ?? paymentRequirements.maxAmountRequired;
  if (BigInt(authorization.value) !== BigInt(price)) return invalid("invalid_exact_evm_payload_authorization_value");
  if (BigInt(authorization.validAfter) > now) return invalid("invalid_exact_evm_payload_authorization_valid_after");
  if (BigInt(authorization.validBefore) <= now) return invalid("invalid_exact_evm_payload_authorization_valid_before");
  if (facilitator.usedNonces.has(authorization.nonce)) return invalid("invalid_exact_evm_nonce_already_used");
  return { isValid: true, payer };
}

async function settle(facilitator, body) {
  const { network } = body.paymentRequirements;
  const { authorization, signature } = body.paymentPayload.payload;
  const verdict = await verify(facilitator, body);
  if (!verdict.isValid) return { success: false, errorReason: verdict.invalidReason, payer: verdict.payer, transaction: "", network };
  facilitator.usedNonces.add(authorization.nonce);
  return { success: true, payer: verdict.payer, transaction: keccak256(signature), network };
}

function send(res, status, body) {
  res.writeHead(status, { "content-type": "application/json" });
  res.end(typeof body === "string" ? body : JSON.stringify(body));
}

export function closeServer(server) {
  return new Promise((resolve) => {
    server.close(resolve);
    server.closeAllConnections();
  });
}

const CHAIN_IDS = { "eip155:84532": 84532, "base-sepolia": 84532 };

const SUPPORTED = {
  kinds: [
    { x402Version: 2, scheme: "exact", network: "eip155:84532" },
    { x402Version: 1, scheme: "exact", network: "base-sepolia" },
  ],
  extensions: [],
  signers: {},
};

const TRANSFER_WITH_AUTHORIZATION = {
  TransferWithAuthorization: [
    { name: "from", type: "address" },
    { name: "to", type: "address" },
    { name: "value", type: "uint256" },
    { name: "validAfter", type: "uint256" },
    { name: "validBefore", type: "uint256" },
    { name: "nonce", type: "bytes32" },
  ],
};

const TOO_LONG = {
  errorType: "invalid_request",
  errorMessage: "'paymentPayload' is invalid: must match one of [x402V2PaymentPayload, x402V1PaymentPayload]. x402V2PaymentPayload: resource.description maximum length is 500",
};
