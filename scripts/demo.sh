#!/usr/bin/env bash
# Builds what the demo needs, then runs it. ONCE=1: ends by itself.
set -eu
cd "$(dirname "$0")/.."
scripts/need cargo node npm
say() { printf '%s\n' "$*" >&2; }
say "building the library (a few minutes the first time)"
(cd bindings/node && node build.mjs) >&2
say "building the collector"
(cd collector && cargo build --locked) >&2
say "fetching the x402 packages"
(cd tests/e2e && npm ci --silent --no-audit --no-fund) >&2
(cd examples/express && npm ci --silent --no-audit --no-fund) >&2
exec node examples/express/demo.mjs
