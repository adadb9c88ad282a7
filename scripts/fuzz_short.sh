#!/bin/sh
# The short form of the fuzzers for the gate: 10 s a target.
exec "$(dirname "$0")/fuzz.sh" 10
