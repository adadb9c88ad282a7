// The base64 JSON of x402 headers as text, so that tests compare bytes and not what a parser made of them.

export function decodeText(value) {
  return Buffer.from(value, "base64").toString("utf8");
}

export function decodeJson(value) {
  return JSON.parse(decodeText(value));
}

export function encodeJson(value) {
  return Buffer.from(JSON.stringify(value), "utf8").toString("base64");
}

/** True for one line of padded base64 in the standard alphabet, the only spelling every x402 client accepts. */
export function isStandardBase64(value) {
  return /^[A-Za-z0-9+/]+={0,2}$/.test(value) && value.length % 4 === 0;
}
