#!/bin/sh
# Builds the servers of this folder against the release library of the checkout and measures them; arguments go to measure.py.
# Needs go, gcc, python3 and wrk.
set -eu
cd "$(dirname "$0")/../../.."
cargo build --release --quiet --package forge-x402-capi
out=$(realpath "${CARGO_TARGET_DIR:-target}")
ln -sf libforge_x402.so "$out/release/libforge_x402.so.1"
mkdir -p "$out/side_by_side_go"
(cd benches/side_by_side/go && go build -tags forge_x402_checkout -o "$out/side_by_side_go/server" .)
exec python3 benches/side_by_side/measure.py "$out/side_by_side_go/server" --same "$@"
