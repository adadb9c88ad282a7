#!/usr/bin/env bash
# Format and lints of the collector.
set -euo pipefail
cd "$(dirname "$0")/../collector"
cargo fmt --check
cargo clippy --all-targets --locked -- -D warnings
