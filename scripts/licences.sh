#!/usr/bin/env bash
# Permissive licences only: every Rust package that any part of this repository builds, by its own metadata.
# The rules are those of deny.toml, which cargo-deny reads where it is installed. Prints the licences and their counts.
set -eu
cd "$(dirname "$0")/.."
for manifest in Cargo.toml fuzz/Cargo.toml collector/Cargo.toml; do
  [ -f "$manifest" ] || continue
  cargo metadata --format-version 1 --all-features --manifest-path "$manifest" | python3 scripts/licences.py "$manifest"
done
