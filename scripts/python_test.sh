#!/bin/sh
# Builds the Python package as it ships, installs it and runs its tests; ends with "N passed, N failed".
# Environments live in target/python. Arguments go to pytest. BUILD_ONLY=1: no tests, for others that use target/python/main.
set -eu
cd "$(dirname "$0")/.."
root=$(pwd)
at=$root/target/python
python=${PYTHON:-python3}
export CARGO_BUILD_JOBS=${CARGO_BUILD_JOBS:-2}

# An environment is made anew when its list of packages changes.
environment() {
  list=$root/tests/e2e_python/requirements/$1.txt
  if ! cmp -s "$list" "$at/$1/made-from.txt" 2>/dev/null; then
    echo "== environment $1"
    rm -rf "${at:?}/$1"
    "$python" -m venv "$at/$1"
    "$at/$1/bin/pip" install --quiet --disable-pip-version-check -r "$list"
    cp "$list" "$at/$1/made-from.txt"
  fi
}

mkdir -p "$at"
environment main
environment v1

echo "== build"
rm -rf "$at/wheel"
"$at/main/bin/maturin" build --quiet --release --manifest-path bindings/python/Cargo.toml --out "$at/wheel"
for name in main v1; do
  "$at/$name/bin/pip" install --quiet --disable-pip-version-check --no-deps --force-reinstall "$at"/wheel/*.whl
done

[ -z "${BUILD_ONLY:-}" ] || exit 0

# As somebody with a checkout installs it: maturin comes into a build environment of pip's own, from the folder that is
# filled once, and nothing else is installed with it.
echo "== pip install ./bindings/python"
if ! ls "$at"/build-system/maturin-*.whl >/dev/null 2>&1; then
  "$at/main/bin/pip" download --quiet --disable-pip-version-check --no-deps --dest "$at/build-system" "$(grep ^maturin= tests/e2e_python/requirements/main.txt)"
fi
rm -rf "$at/plain"
"$python" -m venv "$at/plain"
"$at/plain/bin/pip" install --quiet --disable-pip-version-check --no-index --find-links "$at/build-system" ./bindings/python
test "$("$at/plain/bin/pip" list --disable-pip-version-check --format=freeze | grep -cvE '^(pip|setuptools)=')" = 1
"$at/plain/bin/python" -I scripts/wheel_use.py

echo "== lint and types"
"$at/main/bin/ruff" check --config bindings/python/pyproject.toml bindings/python tests/e2e_python examples/fastapi examples/flask benches/side_by_side/python scripts/wheel_use.py
"$at/main/bin/ruff" format --check --config bindings/python/pyproject.toml bindings/python tests/e2e_python examples/fastapi examples/flask benches/side_by_side/python scripts/wheel_use.py
"$at/main/bin/mypy" --strict --cache-dir "$at/mypy" tests/e2e_python/typing_example.py

echo "== tests"
status=0
cd tests/e2e_python
FORGE_X402_V1_PYTHON=$at/v1/bin/python "$at/main/bin/python" -m pytest "$@" || status=$?
exit $status
