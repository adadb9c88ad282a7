// Finds forge-x402's Node binding: the one of this repository, or the installed package named by FORGE_X402_PACKAGE (a folder).
//
// Without a binding the tests that need it fail. E2E_WITHOUT_FORGE=1 skips them instead, so that the behaviour of the
// payment packages alone can be looked at on a machine without Rust.

import { createRequire } from "node:module";
import { fileURLToPath } from "node:url";
import { join } from "node:path";

export const bindingFolder = process.env.FORGE_X402_PACKAGE ?? fileURLToPath(new URL("../../../bindings/node/", import.meta.url));

export const withoutForge = process.env.E2E_WITHOUT_FORGE === "1";

export function loadForge() {
  // Resolved by its own name, as a program that has installed it does.
  return createRequire(join(bindingFolder, "package.json"))("forge-x402");
}

export const API_KEY = "ffk_test_not_a_real_key_0123456789";
export const PUBLIC_URL = "https://api.example.com";
