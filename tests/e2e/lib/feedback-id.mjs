// Checks a feedback id with nothing but node:crypto, independently of the library that minted it.
// Layout: 4 bytes issue time (unix seconds, big endian), 6 random bytes, 6 bytes of HMAC-SHA256 over those ten.

import { createHmac, timingSafeEqual } from "node:crypto";

export function verifyFeedbackId(id, apiKey, nowMs = Date.now()) {
  if (!/^[A-Za-z0-9_-]{22}$/.test(id)) return "malformed";
  const bytes = Buffer.from(id, "base64url");
  if (bytes.length !== 16 || bytes.toString("base64url") !== id) return "malformed";
  // The key is the base64url text of the derived key, not its decoded bytes.
  const key = createHmac("sha256", apiKey).update("forge-feedback-id/v1").digest("base64url");
  const mac = createHmac("sha256", key).update(bytes.subarray(0, 10)).digest().subarray(0, 6);
  if (!timingSafeEqual(mac, bytes.subarray(10))) return "bad_signature";
  const issuedMs = bytes.readUInt32BE(0) * 1000;
  if (issuedMs > nowMs + 300_000 || issuedMs < nowMs - 86_400_000) return "expired";
  return "valid";
}
