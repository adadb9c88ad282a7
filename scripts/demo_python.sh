#!/bin/sh
# The demo with FastAPI: builds the package, makes an environment in target/python, runs examples/fastapi/demo.py.
set -eu
cd "$(dirname "$0")/.."
at=$(pwd)/target/python
if [ ! -x "$at/demo/bin/uvicorn" ]; then
  "${PYTHON:-python3}" -m venv "$at/demo"
  "$at/demo/bin/pip" install --quiet --disable-pip-version-check maturin==1.16.0 requests==2.34.2 -r examples/fastapi/requirements.txt
fi
"$at/demo/bin/maturin" build --quiet --release --manifest-path bindings/python/Cargo.toml --out "$at/demo/wheel"
"$at/demo/bin/pip" install --quiet --disable-pip-version-check --no-deps --force-reinstall "$at"/demo/wheel/*.whl
exec "$at/demo/bin/python" examples/fastapi/demo.py
