#!/usr/bin/env bash
# Fuzzes every target for SECONDS (60) each: with libFuzzer and AddressSanitizer where a nightly toolchain is installed,
# else with the bounded mutator of fuzz/src/bin/mutate.rs. Usage: fuzz.sh [SECONDS] [TARGET...]
# Last line: "N passed, N failed". What broke a target stays in fuzz/target/crashes.
set -u
cd "$(dirname "$0")/.."
seconds=${1:-60}
shift $(($# > 0))
targets=${*:-splice challenge receipt body options packed_headers openapi agent_context}
mode=${FUZZ_WITH:-}
seeds=fuzz/target/seeds
passed=0 failed=0
rm -rf "$seeds" && python3 scripts/fuzz_seeds.py "$seeds" || exit 1

if [ -z "$mode" ]; then
  if cargo +nightly --version >/dev/null 2>&1; then mode=libfuzzer; else mode=mutator; fi
fi
if [ "$mode" = libfuzzer ]; then
  host=$(rustc -vV | sed -n 's/^host: //p')
  # The flags of cargo-fuzz, which so need not be installed.
  if ! RUSTFLAGS="-Cpasses=sancov-module -Cllvm-args=-sanitizer-coverage-level=4 -Cllvm-args=-sanitizer-coverage-inline-8bit-counters -Cllvm-args=-sanitizer-coverage-pc-table -Cllvm-args=-sanitizer-coverage-trace-compares --cfg fuzzing -Ccodegen-units=1 -Zsanitizer=address" \
    cargo +nightly build --quiet --release --bins --manifest-path fuzz/Cargo.toml --target "$host" 2>fuzz/target/build.log; then
    echo "libFuzzer could not be built here ($(grep -m 1 -E '^(error|= note)' fuzz/target/build.log)); the mutator runs instead"
    mode=mutator
  fi
fi
if [ "$mode" = libfuzzer ]; then
  programs=fuzz/target/$host/release
  echo "with libFuzzer and AddressSanitizer, $seconds s each"
else
  cargo build --quiet --release --no-default-features --bin mutate --manifest-path fuzz/Cargo.toml || exit 1
  echo "with the bounded mutator (no coverage feedback), $seconds s each"
fi

mkdir -p fuzz/target/crashes
for target in $targets; do
  log=fuzz/target/$target.log
  if [ "$mode" = libfuzzer ]; then
    mkdir -p "fuzz/corpus/$target"
    ASAN_OPTIONS=detect_leaks=0 "$programs/$target" -max_total_time="$seconds" -max_len=70000 -timeout=20 -rss_limit_mb=1024 \
      -dict=fuzz/words.dict -artifact_prefix="fuzz/target/crashes/$target-" -print_final_stats=1 \
      "fuzz/corpus/$target" "$seeds/$target" >"$log" 2>&1
    code=$?
    said="$(sed -n 's/^stat::number_of_executed_units: *//p' "$log") runs, coverage $(grep -oE 'cov: [0-9]+' "$log" | tail -n 1 | cut -c 6-)"
  else
    fuzz/target/release/mutate "$target" "$seeds/$target" "$seconds" >"$log" 2>&1
    code=$?
    said=$(sed -n "s/^$target: //p" "$log")
    [ -f "$seeds/$target.crash" ] && mv "$seeds/$target.crash" "fuzz/target/crashes/$target-mutant"
  fi
  if [ "$code" -eq 0 ]; then
    passed=$((passed + 1))
    printf 'ok     %-15s %s\n' "$target" "$said"
  else
    failed=$((failed + 1))
    printf 'FAILED %-15s ended with %d\n' "$target" "$code"
    grep -vE '^#[0-9]+\s' "$log" | tail -n 40 | sed 's/^/    /'
  fi
done
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
