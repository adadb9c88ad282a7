#!/bin/sh
# Builds the servers of this folder against the release library of the checkout and measures them; arguments go to measure.py.
# Needs gcc, libmicrohttpd-dev, python3 and wrk.
set -eu
cd "$(dirname "$0")/../../.."
cargo build --release --quiet --package forge-x402-capi
out=${CARGO_TARGET_DIR:-target}/side_by_side_c
mkdir -p "$out"
ln -sf "$(realpath "${CARGO_TARGET_DIR:-target}")/release/libforge_x402.so" "$out/libforge_x402.so.1"
gcc -std=gnu11 -O2 -Wall -Wextra -Werror -Iinclude benches/side_by_side/c/server.c examples/c/payment.c \
  "$out/libforge_x402.so.1" -Wl,-rpath,"$(realpath "$out")" -lmicrohttpd -lpthread -o "$out/server"
exec python3 benches/side_by_side/measure.py "$out/server" "$@"
