#!/usr/bin/env bash
# Everything quick about the collector: its tests on SQLite and on a PostgreSQL started here (with and without TLS), a short
# load, a few kills, the published Python SDK as a peer, schemathesis, and the dashboard in a real Chromium. Ends with
# "N passed, N failed". Screenshots go to $SCREENSHOTS if that is set.
set -euo pipefail
. "$(dirname "$0")/collector_lib.sh"

passed=0
failed=0
# Adds up the "N passed" and "N failed" of a log; a run that says neither counts as one failure.
tally() { # log what
  local p f
  p=$({ grep -oE '[0-9]+ passed' "$1" || true; } | awk '{n += $1} END {print n + 0}')
  f=$({ grep -oE '[0-9]+ failed' "$1" || true; } | awk '{n += $1} END {print n + 0}')
  if [ "$p" = 0 ] && [ "$f" = 0 ]; then f=1; fi
  passed=$((passed + p))
  failed=$((failed + f))
  echo "== $2: $p passed, $f failed"
  if [ "$f" != 0 ]; then cat "$1"; fi
}
# One check by its exit code.
try() { # what command...
  local what=$1
  shift
  if "$@" >"$work/try.log" 2>&1; then echo "1 passed" >"$work/one.log"; else cp "$work/try.log" "$work/one.log"; echo "1 failed" >>"$work/one.log"; fi
  tally "$work/one.log" "$what"
}

need_command chromium chromium
need_command node nodejs
need_command npm npm
start_postgres
cd "$root/collector"
export CARGO_BUILD_JOBS=${CARGO_BUILD_JOBS:-2}

if cargo build --locked --bins --example load 2>"$work/build.log" && cargo test --locked --no-fail-fast >"$work/cargo.log" 2>&1; then :; else
  cat "$work/build.log" >>"$work/cargo.log"
fi
tally "$work/cargo.log" "cargo test"
collector=$root/collector/target/debug/forge-collector
try "format" cargo fmt --check

short_load() { # what database
  local key
  key=$("$collector" --database "$2" project add load 2>/dev/null)
  start_collector "$2" --rate-limit 100000
  try "$1" "$root/collector/target/debug/examples/load" --address "$address" --key "$key" --events 10000
  cat "$work/try.log"
  kill "$pid"
}
short_load "a short load into SQLite (debug build)" "$work/load.db"
psql -q -d "$FORGE_TEST_POSTGRES/postgres" -c 'CREATE DATABASE load'
short_load "a short load into PostgreSQL (debug build)" "$FORGE_TEST_POSTGRES/load"

# A certificate that is its own authority, as docs/collector.md says to make one.
self_signed() (
  # Written into the files there are, which belong to the server.
  cd "$work/tls" &&
    openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj "/CN=localhost" -keyout self.key -out self.pem \
      -addext basicConstraints=critical,CA:FALSE -addext subjectAltName=DNS:localhost &&
    cat self.key >server.key && cat self.pem >server.pem && kill -HUP "$postgres_pid" && sleep 1 &&
    "$collector" --database "${FORGE_TEST_POSTGRES/127.0.0.1/localhost}/load?sslmode=verify-full&sslrootcert=$work/tls/self.pem" doctor |
    tee doctor.log && grep "certificate and name are checked" doctor.log
)
try "PostgreSQL with a self-signed certificate" self_signed

python3 -m venv "$work/venv"
"$work/venv/bin/pip" -q install --disable-pip-version-check --pre forgeintel-sdk
install_schemathesis

key=$("$collector" --database "$work/peer.db" project add demo --public-origin https://api.example.com 2>/dev/null)
start_collector "$work/peer.db" --rate-limit 100000
"$work/venv/bin/python" tests/peers/forgeintel_peer.py "$address" "$key" "$collector" "$work/peer.db" >"$work/peer.log" 2>&1 || true
tail -1 "$work/peer.log" >"$work/peer-last.log"
if grep -q ' 0 failed' "$work/peer-last.log"; then tally "$work/peer-last.log" "forgeintel-sdk as a peer"; else tally "$work/peer.log" "forgeintel-sdk as a peer"; fi
try "schemathesis" run_schemathesis 240 40
kill "$pid"

(cd tests/browser && npm ci --no-audit --no-fund --silent)
key=$("$collector" --database "$work/browser.db" project add demo 2>/dev/null)
start_collector "$work/browser.db"
mkdir -p "${SCREENSHOTS:=$work/screenshots}"
(cd tests/browser && CHROMIUM=$(command -v chromium) timeout 240 node dashboard.mjs "$address" "$key" "$SCREENSHOTS") >"$work/browser.log" 2>&1 || true
tail -1 "$work/browser.log" >"$work/browser-last.log"
if grep -q ' 0 failed' "$work/browser-last.log"; then tally "$work/browser-last.log" "dashboard in Chromium"; else tally "$work/browser.log" "dashboard in Chromium"; fi

if grep -qE 'panicked|level=ERROR| ERROR ' "$work/collector.log"; then
  grep -E 'panicked| ERROR ' "$work/collector.log" | head
  failed=$((failed + 1))
fi
echo "$passed passed, $failed failed"
[ "$failed" = 0 ]
