#!/usr/bin/env bash
# Permissive licences only: every Rust package that any part of this repository builds, by its own metadata.
# The rules are those of deny.toml, which cargo-deny reads where it is installed. Prints the licences and their counts.
set -euo pipefail
cd "$(dirname "$0")/.."
host=$(rustc -vV | sed -n 's/^host: //p')
for manifest in Cargo.toml fuzz/Cargo.toml collector/Cargo.toml; do
  [ -f "$manifest" ] || continue
  only=()
  # The collector is a program, not a library for every platform: what it has elsewhere is not fetched for this.
  if [ "$manifest" = collector/Cargo.toml ]; then only=(--filter-platform "$host"); fi
  cargo metadata --format-version 1 --locked --all-features --manifest-path "$manifest" ${only[@]+"${only[@]}"} | python3 scripts/licences.py "$manifest"
done
