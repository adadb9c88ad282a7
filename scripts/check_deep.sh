#!/usr/bin/env bash
# What takes longer than the gate allows: prints the figures of every step and one line ok, FAILED or skipped; ends by
# itself with "N passed, N failed". Arguments: names of steps; none = all. A skipped step says why and counts for nothing.
# OUTAGE_SECONDS (1800): freezes and kills of the backend. FUZZ_SECONDS (300): for each fuzz target.
set -u
cd "$(dirname "$0")/.."
mkdir -p reports
passed=0 failed=0
only=" $* "
host=$(rustc -vV | sed -n 's/^host: //p')

# step NAME FIGURES COMMAND...: FIGURES is the pattern of the lines worth showing.
step() {
  local name=$1 figures=$2 log=reports/deep-$1.log began code; shift 2
  if [ "$only" != "  " ] && [[ $only != *" $name "* ]]; then return; fi
  began=$(date +%s)
  "$@" >"$log" 2>&1 </dev/null
  code=$?
  grep -E "$figures" "$log" | sed 's/^/    /'
  if grep -q '^skipped: ' "$log"; then
    echo "$name: skipped: $(sed -n 's/^skipped: //p' "$log" | tail -n 1)"
  elif [ "$code" -eq 0 ]; then
    passed=$((passed + 1))
    echo "$name: ok, $(($(date +%s) - began)) s"
  else
    failed=$((failed + 1))
    echo "$name: FAILED with $code after $(($(date +%s) - began)) s, whole output in $log"
    tail -n 40 "$log" | sed 's/^/    /'
  fi
}

skip() { echo "skipped: $*"; }
has_rust_src() { [ -d "$(rustc +nightly --print sysroot 2>/dev/null)/lib/rustlib/src/rust/library" ]; }

telemetry() { scripts/telemetry-deep "${OUTAGE_SECONDS:-1800}"; }

# Undefined behaviour of the unsafe parts: the vector loops, the per-process state, spans and packed lines of the C interface.
miri() {
  cargo +nightly miri --version >/dev/null 2>&1 || { skip "the nightly toolchain has no miri (rustup component add --toolchain nightly miri rust-src)"; return; }
  has_rust_src || { skip "miri needs rust-src (rustup component add --toolchain nightly rust-src)"; return; }
  MIRIFLAGS=-Zmiri-disable-isolation cargo +nightly miri test --lib -- json::runs json::skip::tests::levels sys::fork &&
    MIRIFLAGS=-Zmiri-disable-isolation cargo +nightly miri test --manifest-path fuzz/Cargo.toml --no-default-features --test packed
}

# Data races of queue and worker. The standard library must be built with the sanitizer too, else its locks are unknown to it.
threads() {
  has_rust_src || { skip "ThreadSanitizer needs the source of the standard library (rustup component add --toolchain nightly rust-src)"; return; }
  RUSTFLAGS=-Zsanitizer=thread cargo +nightly test -Zbuild-std --target "$host" --lib -- backend:: sys:: replay:: bounded::
}

# AddressSanitizer over the engine's own tests: invalid reads of the vector loops and of whatever else is unsafe.
addresses() {
  cargo +nightly --version >/dev/null 2>&1 || { skip "AddressSanitizer for Rust needs a nightly toolchain"; return; }
  RUSTFLAGS=-Zsanitizer=address ASAN_OPTIONS=detect_leaks=0 cargo +nightly test --target "$host" --target-dir target/asan --lib
}

# Uninitialised and invalid memory, seen by a second tool that needs no nightly.
memory() {
  command -v valgrind >/dev/null || { skip "valgrind is not installed"; return; }
  local program
  program=$(cargo test -p forge-x402 --lib --no-run --message-format=json 2>/dev/null |
    python3 -c 'import json,sys; print([m["executable"] for m in map(json.loads, sys.stdin) if m.get("executable")][-1])') || return
  valgrind --quiet --error-exitcode=99 "$program" --test-threads=1 \
    json::runs json::skip::tests::levels json::skip::tests::brackets sys::random::tests::every sys::random::tests::bytes sys::fork
}

fuzz() { scripts/fuzz.sh "${FUZZ_SECONDS:-300}"; }

collector() {
  [ -x scripts/collector_deep.sh ] || { skip "there is no scripts/collector_deep.sh"; return; }
  scripts/collector_deep.sh
}

# The rating routes asked by schemathesis, with twenty times the requests of the gate.
routes() { SCHEMATHESIS_EXAMPLES=500 scripts/python_test.sh test_schemathesis.py; }

# What a C server pays, in instructions, which are the same on every run.
c_server() {
  command -v valgrind >/dev/null || { skip "valgrind is not installed"; return; }
  benches/side_by_side/c/run.sh --instructions
}

speed() { benches/report 3; }

step telemetry '[0-9].*(ms|MB|ns|µs|events|children|per cent|sent|dropped)|^test result' telemetry
step miri '^test result' miri
step threads '^test result' threads
step addresses '^test result' addresses
step memory '^test result|ERROR SUMMARY' memory
step fuzz '^(ok|FAILED|with) ' fuzz
step collector '.' collector
step routes '^[0-9]+ passed' routes
step c_server '^ |^(free|402|paid)' c_server
step speed '.' speed
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
