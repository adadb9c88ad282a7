#!/usr/bin/env bash
# The long checks and the figures of docs/collector.md: release build; load into SQLite and PostgreSQL, kill -9 twenty times,
# two collectors with duplicated batches, schemathesis, memory over five million events. Every part ends by itself: about
# a quarter of an hour on two quiet cores, each at the latest after its time limit.
# EVENTS (500000), MEMORY_EVENTS (5000000), KILLS (20), DUPLICATED_BATCHES (500), EXAMPLES (300) make it shorter or longer.
set -euo pipefail
. "$(dirname "$0")/collector_lib.sh"

load_average() { echo "load average $(cut -d' ' -f1-2 /proc/loadavg) on $(nproc) cores"; }

start_postgres
cd "$root/collector"
export CARGO_BUILD_JOBS=${CARGO_BUILD_JOBS:-2}
cargo build --locked --release --bins --example load
collector=$root/collector/target/release/forge-collector
load=$root/collector/target/release/examples/load

figure() { # what database [load options...]
  local what=$1 database=$2 key
  shift 2
  key=$("$collector" --database "$database" project add load 2>/dev/null)
  RUST_LOG=warn start_collector "$database" --rate-limit 100000
  echo "== $what ($(load_average) before)"
  timeout 900 "$load" --address "$address" --key "$key" --pid "$pid" "$@"
  echo "$(load_average) after"
  kill "$pid"
  wait "$pid" || true
}

if [ "${FIGURES:-yes}" = yes ]; then
  for round in 1 2 3; do
    figure "SQLite, round $round" "$work/sqlite-$round.db" --events "${EVENTS:-500000}"
    rm -f "$work/sqlite-$round.db"*
    psql -q -d "$FORGE_TEST_POSTGRES/postgres" -c "CREATE DATABASE load$round"
    figure "PostgreSQL, round $round" "$FORGE_TEST_POSTGRES/load$round" --events "${EVENTS:-500000}"
    psql -q -d "$FORGE_TEST_POSTGRES/postgres" -c "DROP DATABASE load$round"
  done
  figure "SQLite, ids without order" "$work/random.db" --events "${EVENTS:-500000}" --random-ids
  rm -f "$work/random.db"*
fi

echo "== format and lints"
"$root/scripts/collector_check.sh"
echo "== kill -9, ${KILLS:=20} times each"
KILLS=$KILLS timeout 1800 cargo test --locked --test kill -- --nocapture --test-threads 1
echo "== two collectors on one PostgreSQL"
DUPLICATED_BATCHES=${DUPLICATED_BATCHES:-500} timeout 900 cargo test --locked --test sharing two_collectors -- --nocapture

echo "== schemathesis on PostgreSQL, ${EXAMPLES:=300} examples an operation"
install_schemathesis
psql -q -d "$FORGE_TEST_POSTGRES/postgres" -c "CREATE DATABASE contract"
key=$("$collector" --database "$FORGE_TEST_POSTGRES/contract" project add contract 2>/dev/null)
RUST_LOG=warn start_collector "$FORGE_TEST_POSTGRES/contract" --rate-limit 100000
run_schemathesis 1200 "$EXAMPLES" >"$work/schemathesis.log" 2>&1 || { tail -n 60 "$work/schemathesis.log"; exit 1; }
grep -E 'generated|passed|No issues' "$work/schemathesis.log" | tail -n 3
kill "$pid"
wait "$pid" || true

key=$("$collector" --database "$work/memory.db" project add load 2>/dev/null)
RUST_LOG=warn start_collector "$work/memory.db" --rate-limit 100000
echo "== memory over ${MEMORY_EVENTS:=5000000} events into SQLite ($(load_average) before)"
timeout 3600 "$load" --address "$address" --key "$key" --events "$MEMORY_EVENTS" --pid "$pid" --memory
echo "$(load_average) after"
ls -l "$work/memory.db" | awk '{printf "file: %.0f MiB\n", $5 / 1048576}'
start=$(date +%s%N)
curl -sf -m 60 -o /dev/null "http://$address/summary" -H "Authorization: Bearer $key"
echo "summary at this size: $((($(date +%s%N) - start) / 1000000)) ms"
kill "$pid"
wait "$pid" || true

if grep -qE 'panicked| ERROR ' "$work/collector.log"; then
  grep -E 'panicked| ERROR ' "$work/collector.log" | head
  exit 1
fi
