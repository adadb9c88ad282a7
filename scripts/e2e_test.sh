#!/usr/bin/env bash
# The real x402 packages against the real binding: Express 4 and 5, v1 and v2, proxies and other clients.
# FX402_E2E_STEP: bytes between two base sizes of the proxy sweep (700 in the gate).
set -eu
cd "$(dirname "$0")/../tests/e2e"
[ -e ../../bindings/node/prebuilt ] || (cd ../../bindings/node && node build.mjs)
npm ci --silent --no-audit --no-fund
npm test --silent
(cd v1 && npm ci --silent --no-audit --no-fund && npm test --silent)
npm run --silent test:peers
