#!/bin/bash
# Makes what is shipped, in dist/: a tarball of the C interface, a Python wheel and an npm package, for this machine's architecture.
# Everything is built with cargo-zigbuild against glibc 2.17; the symbols of each library are checked for that floor, and its size.
#
# PARTS="capi node python" (all): what to make. Needs cargo, python3 and npm; zig, cargo-zigbuild and maturin are installed
# from PyPI into target/tools/dist; where that fails, nothing is made.
# Last line: "N passed, N failed".
set -u
cd "$(dirname "$0")/.."

parts=${PARTS:-capi node python}
floor=2.17
largest=2600000
version=$(sed -n 's/^version = "\(.*\)"$/\1/p' Cargo.toml | head -n 1)
target=$(uname -m)-unknown-linux-gnu
tools=$PWD/target/tools/dist
build=$PWD/target/dist
dist=$PWD/dist
passed=0 failed=0
started=$(date +%s)

step() { echo "== $* [$(($(date +%s) - started)) s]"; }
holds() {
  local name=$1 said; shift
  if said=$("$@" 2>&1); then passed=$((passed + 1)); echo "ok     $name"; else failed=$((failed + 1)); echo "FAILED $name"; printf '%s\n' "$said" | tail -n 30; return 1; fi
}
wanted() { case " $parts " in *" $1 "*) ;; *) false ;; esac; }
# zigbuild PACKAGE: into $build/$target/release.
zigbuild() { cargo zigbuild --locked --release --quiet --package "$1" --target "$target.$floor" --target-dir "$build"; }
exports() { nm -D --defined-only "$1" | wc -l; }

# check NAME LIBRARY: floor and size.
check() {
  local needs size
  needs=$(objdump -T "$2" | grep -oE 'GLIBC_[0-9.]+' | sort -uV | tail -n 1)
  size=$(stat -c %s "$2")
  holds "$1: needs $needs, the floor is GLIBC_$floor" test "$(printf '%s\nGLIBC_%s\n' "$needs" "$floor" | sort -V | tail -n 1)" = "GLIBC_$floor"
  holds "$1: $size bytes, at most $largest" test "$size" -le "$largest"
  holds "$1: needs nothing beside glibc" test -z "$(readelf -dW "$2" | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p' | grep -vE '^(libc|libm|libpthread|libdl|librt|ld-linux-x86-64|ld-linux-aarch64)\.so\.[0-9]+$')"
}

mkdir -p "$dist"
step "tools"
if [ ! -x "$tools/bin/cargo-zigbuild" ]; then
  python3 -m venv "$tools" && "$tools/bin/pip" install --quiet --disable-pip-version-check ziglang==0.17.1 cargo-zigbuild==0.24.1 "maturin>=1.16,<2" ||
    { echo "FAILED zig is not to be had from PyPI"; echo "0 passed, 1 failed"; exit 1; }
fi
export PATH=$tools/bin:$PATH

if wanted capi; then
  step "C interface"
  if holds "build" zigbuild forge-x402-capi; then
    library=$build/$target/release/libforge_x402.so
    check libforge_x402.so "$library"
    name=forge-x402-$version-$target
    rm -rf "${build:?}/$name" && mkdir -p "$build/$name"
    holds "stage" env FX402_BUILT="$build/$target/release" PREFIX=/usr/local DESTDIR="$build/$name" scripts/install.sh
    cp LICENSE "$build/$name/"
    holds "tarball" tar -C "$build" --owner=0 --group=0 --sort=name -czf "$dist/$name.tar.gz" "$name"
    printf '#include <forge_x402.h>\nint main(void) { return fx402_selftest(0, 0) != FX402_OK; }\n' > "$build/selftest.c"
    rm -rf "$build/unpacked" && mkdir "$build/unpacked" && tar -C "$build/unpacked" -xzf "$dist/$name.tar.gz"
    lib=$build/unpacked/$name/usr/local
    holds "a program against the tarball works" sh -c "gcc '$build/selftest.c' -I'$lib/include' -L'$lib/lib' -Wl,-rpath,'$lib/lib' -lforge_x402 -o '$build/selftest' && '$build/selftest'"
  fi
fi

if wanted node; then
  step "npm package"
  if holds "build" zigbuild forge-x402-node; then
    library=$build/$target/release/libforge_x402_node.so
    check "the Node addon" "$library"
    rm -rf "$build/npm" && cp -r bindings/node "$build/npm" && rm -rf "$build/npm/prebuilt" "$build/npm/node_modules" && mkdir "$build/npm/prebuilt"
    cp "$library" "$build/npm/prebuilt/forge_x402.linux-$(node -p process.arch).node"
    holds "npm pack" sh -c "cd '$build/npm' && npm pack --silent --ignore-scripts --pack-destination '$dist'"
    rm -rf "$build/npm_try" && mkdir "$build/npm_try"
    holds "it is installed and loads" sh -c "cd '$build/npm_try' && npm init -y > /dev/null && npm install --silent --ignore-scripts --offline '$dist/forge-x402-$version.tgz' &&
      node -e \"if (require('forge-x402').createForge({ apiKey: 'k', strict: true }).stats() === null) process.exit(1)\""
  fi
fi

if wanted python; then
  step "wheel"
  rm -rf "$build/wheel"
  if holds "build" maturin build --quiet --release --locked --zig --compatibility "manylinux_${floor/./_}" --target "$target" --manifest-path bindings/python/Cargo.toml --target-dir "$build" --out "$build/wheel"; then
    wheel=$(ls "$build"/wheel/*.whl)
    rm -rf "$build/wheel_files" && mkdir "$build/wheel_files" && python3 -m zipfile -e "$wheel" "$build/wheel_files"
    library=$(find "$build/wheel_files" -name '*.so')
    check "the Python module" "$library"
    holds "it exports one symbol" test "$(exports "$library")" = 1
    python3 -m venv "$build/wheel_try" && holds "it is installed and loads" sh -c "'$build/wheel_try/bin/pip' install --quiet --no-deps --no-index '$wheel' && '$build/wheel_try/bin/python' -c 'import forge_x402'"
    cp "$wheel" "$dist/"
  fi
fi

step "done: $(ls "$dist" | tr '\n' ' ')"
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
