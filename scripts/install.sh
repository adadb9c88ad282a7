#!/bin/bash
# Installs the C and C++ interface: shared library with its soname links, archive, headers, pkg-config file, CMake package.
#
#   PREFIX=/usr/local scripts/install.sh
#
# Reads: PREFIX (/usr/local), LIBDIR (PREFIX/lib), INCLUDEDIR (PREFIX/include), DESTDIR (put in front of every path, for
# packagers), FX402_BUILT (a folder with libforge_x402.so and .a; without it they are built into target/release).
# Touches nothing outside these folders and does not run ldconfig.
set -eu
cd "$(dirname "$0")/.."

prefix=${PREFIX:-/usr/local}
libdir=${LIBDIR:-$prefix/lib}
includedir=${INCLUDEDIR:-$prefix/include}
destdir=${DESTDIR:-}
case $prefix in /*) ;; *) echo "PREFIX must be an absolute path, not $prefix" >&2; exit 2 ;; esac

built=${FX402_BUILT:-}
if [ -z "$built" ]; then
  cargo build --release --package forge-x402-capi
  built=${CARGO_TARGET_DIR:-target}/release
fi
for file in libforge_x402.so libforge_x402.a; do
  [ -f "$built/$file" ] || { echo "$built/$file is missing" >&2; exit 1; }
done

version=$(sed -n 's/^version = "\(.*\)"$/\1/p' Cargo.toml | head -n 1)
major=$(sed -n 's/^#define FX402_ABI_MAJOR \([0-9]*\).*/\1/p' include/forge_x402.h)
minor=$(sed -n 's/^#define FX402_ABI_MINOR \([0-9]*\).*/\1/p' include/forge_x402.h)
# What the archive needs beside itself, as rustc prints it for native-static-libs.
native_static_libs=${NATIVE_STATIC_LIBS:--lgcc_s -lutil -lrt -lpthread -lm -ldl -lc}

filled() {
  sed "s,@PREFIX@,$prefix,; s,@LIBDIR@,$libdir,; s,@INCLUDEDIR@,$includedir,; s,@VERSION@,$version,; s,@MAJOR@,$major,
    s,@NATIVE_STATIC_LIBS@,$native_static_libs," "$1"
}
# Below the prefix the folders are named by it, so that pkg-config --define-prefix finds them wherever a tree was moved to.
filled_pc() { libdir=${libdir/#$prefix\//\$\{prefix\}/} includedir=${includedir/#$prefix\//\$\{prefix\}/} filled capi/forge_x402.pc.in; }
lib=$destdir$libdir include=$destdir$includedir
real=libforge_x402.so.$major.$minor.0

install -d "$lib/pkgconfig" "$lib/cmake/forge_x402" "$include"
install -m 755 "$built/libforge_x402.so" "$lib/$real"
ln -sf "$real" "$lib/libforge_x402.so.$major"
ln -sf "libforge_x402.so.$major" "$lib/libforge_x402.so"
install -m 644 "$built/libforge_x402.a" "$lib/"
install -m 644 include/forge_x402.h bindings/cpp/include/forge_x402.hpp bindings/cpp/include/forge_x402_client.hpp "$include/"
filled_pc > "$lib/pkgconfig/forge_x402.pc"
for name in forge_x402-config forge_x402-config-version; do
  filled "bindings/cpp/cmake/$name.cmake.in" > "$lib/cmake/forge_x402/$name.cmake"
done
echo "installed forge_x402 $version (ABI $major.$minor) under $destdir$prefix"
