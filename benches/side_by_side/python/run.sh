#!/bin/sh
# Builds the package in release, makes an environment with the peers of the bench, runs it. Arguments go to run.py.
set -eu
cd "$(dirname "$0")/../../.."
at=$(pwd)/target/python
if [ ! -x "$at/bench/bin/uvicorn" ]; then
  "${PYTHON:-python3}" -m venv "$at/bench"
fi
"$at/bench/bin/pip" install --quiet --disable-pip-version-check -r benches/side_by_side/python/requirements.txt
rm -rf "$at/wheel"
"$at/bench/bin/maturin" build --quiet --release --manifest-path bindings/python/Cargo.toml --out "$at/wheel"
"$at/bench/bin/pip" install --quiet --disable-pip-version-check --no-deps --force-reinstall "$at"/wheel/*.whl
exec "$at/bench/bin/python" benches/side_by_side/python/run.py "$@"
