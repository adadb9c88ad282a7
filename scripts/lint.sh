#!/usr/bin/env bash
# House rules that a machine can check: formatting, lints, header drift, features of serde_json, files of no reason.
set -eu
cd "$(dirname "$0")/.."
RUFF=$(sed -n 's/^required-version = "==\(.*\)"$/\1/p' ruff.toml)
cargo fmt --all --check
cargo clippy --locked --all-targets --quiet -- -D warnings
cargo clippy --locked --quiet -p forge-x402-node -p forge-x402-python -- -D warnings
# collector/ is a workspace of its own because of these two: they change what the engine does with hostile keys.
if cargo tree --locked -e features -p forge-x402 -i serde_json | grep -E 'raw_value|arbitrary_precision'; then
  echo "the engine's serde_json must have neither raw_value nor arbitrary_precision"
  exit 1
fi
# A #[no_mangle] in the engine would be exported from every Python and Node module.
if grep -rnE 'no_mangle|extern "C" fn' src; then
  echo "the engine has no extern \"C\" functions"
  exit 1
fi
scripts/header.sh --check
python3 scripts/docs_check.py
ruff=target/tools/ruff/bin/ruff
if [ ! -x "$ruff" ]; then
  python3 -m venv target/tools/ruff
  target/tools/ruff/bin/pip install --quiet --disable-pip-version-check "ruff==$RUFF"
fi
"$ruff" check --quiet --no-cache .
echo "lint: ok"
