#!/usr/bin/env bash
# Our engine in Node, Python, Go and C, each in a real server that reports to a really started collector: what the collector
# exports and sums up afterwards is what happened. Builds what is not built yet; after the steps of the bindings that is nothing.
# Needs pkg-config and libmicrohttpd-dev. Last line: "N passed, N failed".
set -euo pipefail
. "$(dirname "$0")/collector_lib.sh"
cd "$root"
export CARGO_BUILD_JOBS=${CARGO_BUILD_JOBS:-2}
target=$(mkdir -p "${CARGO_TARGET_DIR:-target}/peers" && cd "${CARGO_TARGET_DIR:-target}" && pwd)

echo "== build"
pkg-config --exists libmicrohttpd || { echo "libmicrohttpd-dev is missing; scripts/setup.sh installs it" >&2; exit 1; }
(cd collector && cargo build --locked --quiet --bins)
cargo build --release --quiet --locked --package forge-x402-capi
ln -sf libforge_x402.so "$target/release/libforge_x402.so.1"
(cd bindings/node && node build.mjs)
BUILD_ONLY=1 scripts/python_test.sh
for folder in tests/e2e examples/express; do
  if [ ! -d "$folder/node_modules" ]; then (cd "$folder" && npm ci --silent --no-audit --no-fund); fi
done
# shellcheck disable=SC2046
gcc -std=gnu11 -Wall -Wextra -Werror examples/c/serve.c examples/c/payment.c -Iinclude -L"$target/release" -Wl,-rpath,"$target/release" -lforge_x402 \
  $(pkg-config --cflags --libs libmicrohttpd) -lpthread -o "$target/peers/c"
(cd examples/nethttp && go build -tags forge_x402_checkout -o "$target/peers/go" .)

echo "== trade"
collector=$root/collector/target/debug/forge-collector
"$collector" --database "$work/peers.db" project add first >/dev/null 2>&1
start_collector "$work/peers.db"
timeout 400 node collector/tests/peers/bindings.mjs "$collector" "$work/peers.db" "$address" "$target/python/main/bin/python" "$target/peers/go" "$target/peers/c"
