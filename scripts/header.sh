#!/bin/sh
# Makes include/forge_x402.h from capi/src/abi/*.rs and capi/header.in with a pinned cbindgen.
# scripts/header.sh           write it
# scripts/header.sh --check   fail, and show the difference, if the committed one is not what comes out
set -eu
cd "$(dirname "$0")/.."

version=0.29.4
tools=${CARGO_TARGET_DIR:-target}/tools
cbindgen=$tools/bin/cbindgen
if [ "$("$cbindgen" --version 2>/dev/null)" != "cbindgen $version" ]; then
  echo "header: installing cbindgen $version" >&2
  cargo install cbindgen --version "$version" --locked --quiet --root "$tools" --target-dir "$tools/build"
fi

made=$tools/forge_x402.h
package_version=$(sed -n 's/^version = "\(.*\)"$/\1/p' Cargo.toml | head -n 1)
while IFS= read -r line; do
  case $line in
    @*.rs@)
      file=${line#@}
      "$cbindgen" --quiet --config capi/cbindgen.toml "capi/src/abi/${file%@}"
      echo
      ;;
    *) printf '%s\n' "$line" | sed "s/@VERSION@/$package_version/" ;;
  esac
done < capi/header.in | cat -s > "$made"

if [ "${1:-}" = --check ]; then
  diff -u include/forge_x402.h "$made" || { echo "header: include/forge_x402.h has drifted; run scripts/header.sh" >&2; exit 1; }
  echo "header: up to date"
else
  mkdir -p include && cp "$made" include/forge_x402.h && echo "header: wrote include/forge_x402.h"
fi
