#!/usr/bin/env bash
# The gate. Runs every step, shows one line a step, adds up what the runners counted, ends with "N passed, N failed".
# Arguments: names of steps; none = all. The whole output of a step is in reports/<step>.log.
set -u
cd "$(dirname "$0")/.."
mkdir -p reports
started=$(date +%s)
passed=0 failed=0
only=" $* "

# step NAME COMMAND...: counts the tests its runners report; a command without a count is one test.
step() {
  local name=$1 log=reports/$1.log code counts ok bad
  shift
  if [ "$only" != "  " ] && [[ $only != *" $name "* ]]; then return; fi
  printf '%-14s ' "$name"
  local began; began=$(date +%s)
  timeout -k 20 1200 "$@" >"$log" 2>&1 </dev/null
  code=$?
  counts=$(scripts/count_tests "$log")
  ok=${counts% *} bad=${counts#* }
  if [ "$code" -ne 0 ] && [ "$bad" -eq 0 ]; then bad=1; fi
  if [ "$code" -eq 0 ] && [ "$ok" -eq 0 ] && [ "$bad" -eq 0 ]; then ok=1; fi
  passed=$((passed + ok)) failed=$((failed + bad))
  if [ "$bad" -eq 0 ]; then
    printf 'ok      %5d passed  %4d s\n' "$ok" $(($(date +%s) - began))
  else
    printf 'FAILED  %5d passed, %d failed  %4d s  %s\n' "$ok" "$bad" $(($(date +%s) - began)) "$log"
    tail -n 60 "$log" | sed 's/^/    /'
  fi
}

scripts/need cargo node npm python3 go gcc g++ cmake || exit 1
step lint scripts/lint.sh
step licences scripts/licences.sh
step engine cargo test --locked --quiet --no-fail-fast -p forge-x402
step oracle python3 scripts/conformance_expect.py --check
step capi scripts/capi_test.sh
step node scripts/node_test.sh
step e2e scripts/e2e_test.sh
step openapi scripts/openapi_validate.sh
step demo env ONCE=1 scripts/demo.sh
for optional in python_test go_test hosts_test collector_test peers_test fuzz_short; do
  if [ -x "scripts/$optional.sh" ]; then step "${optional%_test}" "scripts/$optional.sh"; fi
done

echo "took $(($(date +%s) - started)) s"
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
