#!/bin/bash
# Tests the Go binding against the checkout: format, vet, tests plain, with the race detector and with cgo's strict pointer
# checks, the frameworks, a short fuzz run, and the build without cgo.
#
# Needs go and a C compiler. GO_BENCH=1 prints figures too. Last line: "N passed, N failed".
set -u
cd "$(dirname "$0")/.."

. scripts/steps.sh
tags="-tags forge_x402_checkout"
# tests NAME COMMAND...: counts the tests that go test -json reports.
tests() {
  local name=$1 said code good wrong; shift
  said=$("$@" 2>&1); code=$?
  good=$(printf '%s\n' "$said" | grep '"Action":"pass"' | grep -c '"Test":')
  wrong=$(printf '%s\n' "$said" | grep '"Action":"fail"' | grep -c '"Test":')
  [ "$code" -ne 0 ] && [ "$wrong" -eq 0 ] && wrong=1
  [ "$good" -eq 0 ] && [ "$wrong" -eq 0 ] && wrong=1
  passed=$((passed + good)) failed=$((failed + wrong))
  if [ "$wrong" -eq 0 ]; then echo "ok     $name: $good tests"; return; fi
  echo "FAILED $name"
  printf '%s\n' "$said" | grep -v '"Action":"\(run\|pass\|start\|pause\|cont\)"' | sed -n 's/.*"Output":"\(.*\)"}$/\1/p; /^[^{]/p' | head -n 60
}

step "build the library"
cargo build --release --quiet --package forge-x402-capi || give_up "the release build"
ln -sf libforge_x402.so "${CARGO_TARGET_DIR:-target}/release/libforge_x402.so.1"

step "format and vet"
holds "gofmt" sh -c 'test -z "$(gofmt -l bindings/go examples/nethttp benches/side_by_side/go)"'
for module in bindings/go bindings/go/frameworks examples/nethttp benches/side_by_side/go; do
  holds "go vet $module" sh -c "cd $module && go vet $tags ./..."
done
holds "go vet without cgo" sh -c 'cd bindings/go && CGO_ENABLED=0 go vet ./...'
holds "the binding has no dependencies" sh -c '! grep -q require bindings/go/go.mod'

cd bindings/go
step "tests"
tests "plain" go test $tags -count=1 -json .
step "under GODEBUG=cgocheck=1 GOGC=1"
tests "strict pointer checks" env GODEBUG=cgocheck=1 GOGC=1 go test $tags -count=1 -json .
step "with the race detector"
tests "race" go test $tags -race -count=1 -json .
step "frameworks"
tests "chi, gin, echo" sh -c "cd frameworks && go test $tags -count=1 -json ."
step "fuzz"
holds "the glance against the engine, 10 s" go test $tags -run xxx -fuzz FuzzGlance -fuzztime 10s .
step "without cgo"
tests "CGO_ENABLED=0" env CGO_ENABLED=0 go test -count=1 -json .
[ -n "${GO_BENCH:-}" ] && go test $tags -run xxx -bench . -benchtime 1s . | grep Benchmark

step "done"
finish
