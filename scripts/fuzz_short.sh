#!/bin/sh
# The short form of the fuzzers for the gate: 10 s a target, with the mutator, which needs no nightly toolchain and builds
# in a fraction of the time. make fuzz takes libFuzzer.
FUZZ_WITH=${FUZZ_WITH:-mutator} exec "$(dirname "$0")/fuzz.sh" 10
