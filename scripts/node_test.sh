#!/usr/bin/env bash
# Builds the Node addon and runs its own tests.
set -eu
cd "$(dirname "$0")/../bindings/node"
node build.mjs
if ls test/*.test.mjs >/dev/null 2>&1; then npm test --silent; fi
