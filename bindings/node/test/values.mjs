// Values of the conformance files into bytes; see tests/conformance/README.md. An unknown form or key is an error.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";

export const folder = new URL("../../../tests/conformance/", import.meta.url);
export const read = (name) => JSON.parse(readFileSync(new URL(name, folder)));
const texts = read("texts.json");

/** The bytes of a value; `ids` holds what `{{own_id}}` and `{{id}}` stand for. */
export function bytesOf(value, ids = {}) {
  if (typeof value === "string") return Buffer.from(withIds(value, ids));
  if (Array.isArray(value)) return Buffer.concat(value.map((part) => bytesOf(part, ids)));
  const [form] = Object.keys(value);
  switch (form) {
    case "repeat":
      onlyKeys(value, ["repeat"]);
      return Buffer.concat(Array(value.repeat[1]).fill(bytesOf(value.repeat[0], ids)));
    case "base64_of":
      onlyKeys(value, ["base64_of"]);
      return Buffer.from(bytesOf(value.base64_of, ids).toString("base64"));
    case "hex":
      onlyKeys(value, ["hex"]);
      return Buffer.from(value.hex, "hex");
    default: {
      onlyKeys(value, ["text", "rate"]);
      const text = texts[value.text];
      assert.ok(text !== undefined, `no text ${value.text}`);
      if (value.rate === undefined) return bytesOf(text, ids);
      return Buffer.from(bytesOf(text, ids).toString("latin1").replaceAll("{{rate}}", value.rate), "latin1");
    }
  }
}

export function onlyKeys(object, known) {
  for (const key of Object.keys(object)) assert.ok(known.includes(key), `unknown key ${key}`);
}

function withIds(text, ids) {
  return text.replace(/\{\{(own_id|id)\}\}/g, (_, name) => {
    assert.ok(ids[name], `{{${name}}} stands for nothing here`);
    return ids[name];
  });
}
