#!/bin/bash
# Makes what is shipped, in dist/: a tarball of the C interface, a Python wheel and an npm package, for this machine's architecture.
# Everything is built with cargo-zigbuild against glibc 2.17; each library is checked for that floor, its size, and paths of
# this machine. Each package is then installed where nothing else is, and used.
#
# PARTS="capi node python" (all): what to make. Needs cargo, gcc, python3 and npm; zig, cargo-zigbuild and maturin are installed
# from PyPI into target/tools/dist; where that fails, nothing is made.
# Last line: "N passed, N failed".
set -u
cd "$(dirname "$0")/.."
. scripts/steps.sh

parts=${PARTS:-capi node python}
floor=2.17
largest=2600000
version=$(sed -n 's/^version = "\(.*\)"$/\1/p' Cargo.toml | head -n 1)
target=$(uname -m)-unknown-linux-gnu
tools=$PWD/target/tools/dist
build=$PWD/target/dist
dist=$PWD/dist
cargo_home=${CARGO_HOME:-$HOME/.cargo}

wanted() { case " $parts " in *" $1 "*) ;; *) false ;; esac; }
# zigbuild PACKAGE: into $build/$target/release.
zigbuild() { cargo zigbuild --locked --release --quiet --package "$1" --target "$target.$floor" --target-dir "$build"; }

# check NAME LIBRARY LARGEST: floor, size, needs, paths.
check() {
  local needs size
  needs=$(objdump -T "$2" | grep -oE 'GLIBC_[0-9.]+' | sort -uV | tail -n 1)
  size=$(stat -c %s "$2")
  holds "$1: needs $needs, the floor is GLIBC_$floor" test "$(printf '%s\nGLIBC_%s\n' "$needs" "$floor" | sort -V | tail -n 1)" = "GLIBC_$floor"
  holds "$1: $size bytes, at most $3" test "$size" -le "$3"
  holds "$1: needs nothing beside glibc" test -z "$(readelf -dW "$2" | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p' | grep -vE '^(libc|libm|libpthread|libdl|librt|ld-linux-x86-64|ld-linux-aarch64)\.so\.[0-9]+$')"
  holds "$1: names no folder of this machine" sh -c "! grep -aoE '($cargo_home|$PWD)/[a-zA-Z0-9/._-]*' '$2'"
}

mkdir -p "$dist"
step "tools"
if [ ! -x "$tools/bin/cargo-zigbuild" ]; then
  python3 -m venv "$tools" && "$tools/bin/pip" install --quiet --disable-pip-version-check ziglang==0.17.1 cargo-zigbuild==0.24.1 maturin==1.16.0 ||
    give_up "zig is not to be had from PyPI"
fi
export PATH=$tools/bin:$PATH
# A panic names its place in a source file: the crate's, not where cargo happened to unpack it.
cargo fetch --quiet --locked
for registry in "$cargo_home"/registry/src/*/; do RUSTFLAGS="${RUSTFLAGS:-} --remap-path-prefix=$registry="; done
export RUSTFLAGS

if wanted capi; then
  step "C interface"
  if holds "build" zigbuild forge-x402-capi; then
    check libforge_x402.so "$build/$target/release/libforge_x402.so" "$largest"
    name=forge-x402-$version-$target
    rm -rf "${build:?}/$name" && mkdir -p "$build/$name"
    holds "stage" env FX402_BUILT="$build/$target/release" PREFIX=/usr/local DESTDIR="$build/$name" scripts/install.sh
    cp LICENSE "$build/$name/"
    holds "tarball" tar -C "$build" --owner=0 --group=0 --sort=name -czf "$dist/$name.tar.gz" "$name"

    try=$build/unpacked
    rm -rf "$try" && mkdir "$try" && tar -C "$try" -xzf "$dist/$name.tar.gz"
    export PKG_CONFIG_PATH=$try/$name/usr/local/lib/pkgconfig
    printf '#include <forge_x402.h>\nint main(void) { return fx402_selftest(0, 0) != FX402_OK; }\n' > "$try/selftest.c"
    archive=$try/$name/usr/local/lib/libforge_x402.a
    holds "a program against the tarball works" sh -c "gcc '$try/selftest.c' \$(pkg-config --define-prefix --cflags --libs forge_x402) -o '$try/shared' &&
      LD_LIBRARY_PATH=${archive%/*} '$try/shared'"
    holds "one with the archive inside works" sh -c "gcc '$try/selftest.c' \$(pkg-config --define-prefix --cflags forge_x402) '$archive' \$(pkg-config --static --libs-only-l forge_x402 | sed s/-lforge_x402//) -o '$try/static' &&
      '$try/static' && ! ldd '$try/static' | grep forge"
    holds "the smallest server builds against it" sh -c "gcc examples/c_min/serve.c \$(pkg-config --define-prefix --cflags --libs forge_x402) -o '$try/serve'"
    unset PKG_CONFIG_PATH
  fi
fi

if wanted node; then
  step "npm package"
  if holds "build" zigbuild forge-x402-node; then
    library=$build/$target/release/libforge_x402_node.so
    check "the Node addon" "$library" "$largest"
    rm -rf "$build/npm" && cp -r bindings/node "$build/npm" && rm -rf "$build/npm/prebuilt" "$build/npm/node_modules" && mkdir "$build/npm/prebuilt"
    cp "$library" "$build/npm/prebuilt/forge_x402.linux-$(node -p process.arch).node"
    holds "npm pack" sh -c "cd '$build/npm' && npm pack --silent --ignore-scripts --pack-destination '$dist'"
    rm -rf "$build/npm_try" && mkdir "$build/npm_try"
    cat > "$build/npm_try/use.mjs" <<'JS'
import { createServer } from "node:http";
import { createForge } from "forge-x402";
const forge = createForge({ apiKey: "ffk_test_0123456789abcdef", publicUrl: "https://api.example.com", strict: true });
const server = createServer(forge.listener((req, res) => res.end("the merchant's")));
await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
const at = `http://127.0.0.1:${server.address().port}`;
const form = await (await fetch(`${at}/feedback`)).json();
const own = await (await fetch(at)).text();
server.close();
server.closeAllConnections();
process.exitCode = form.protocol === "forge-feedback/0" && own === "the merchant's" ? 0 : 1;
JS
    holds "it is installed from nothing else" sh -c "cd '$build/npm_try' && npm init -y > /dev/null && npm install --silent --ignore-scripts --offline '$dist/forge-x402-$version.tgz' && test \"\$(ls node_modules)\" = forge-x402"
    holds "a server with it answers the form" sh -c "cd '$build/npm_try' && node use.mjs"
  fi
fi

if wanted python; then
  step "wheel"
  rm -rf "$build/wheel"
  if holds "build" maturin build --quiet --release --locked --zig --compatibility "manylinux_${floor/./_}" --target "$target" --manifest-path bindings/python/Cargo.toml --target-dir "$build" --out "$build/wheel"; then
    wheel=$(ls "$build"/wheel/*.whl)
    rm -rf "$build/wheel_files" && mkdir "$build/wheel_files" && python3 -m zipfile -e "$wheel" "$build/wheel_files"
    library=$(find "$build/wheel_files" -name '*.so')
    check "the Python module" "$library" "$largest"
    holds "it exports one symbol" test "$(nm -D --defined-only "$library" | wc -l)" = 1
    rm -rf "$build/wheel_try" && python3 -m venv "$build/wheel_try"
    holds "it is installed from nothing else" "$build/wheel_try/bin/pip" install --quiet --disable-pip-version-check --no-index "$wheel"
    holds "an application with it answers the form" "$build/wheel_try/bin/python" scripts/wheel_use.py
    cp "$wheel" "$dist/"
  fi
fi

step "done: $(ls "$dist" | tr '\n' ' ')"
finish
