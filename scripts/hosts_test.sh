#!/bin/bash
# Tests the hosts of the C interface: C++ header, install tree, and merchants in C, Go and nginx that the real @x402/fetch
# client buys from.
#
# Needs gcc, g++, cmake, pkg-config, go, node, nginx, and from Debian libmicrohttpd-dev, libnginx-mod-http-lua and
# nlohmann-json3-dev. FX402_BUILT: a folder with libforge_x402.so and .a (without it: built into target/release).
# Last line: "N passed, N failed".
set -u
cd "$(dirname "$0")/.."

built=${FX402_BUILT:-}
out=$PWD/target/hosts
prefix=$out/prefix
. scripts/steps.sh

if [ -z "$built" ]; then
  step "build the library"
  cargo build --release --quiet --package forge-x402-capi || give_up "the release build"
  built=$PWD/${CARGO_TARGET_DIR:-target}/release
fi
export FX402_BUILT=$built
rm -rf "$out" && mkdir -p "$out/bin"
warnings="-Wall -Wextra -Wpedantic -Werror"

step "install, and programs built against the installed tree only"
holds "install" env PREFIX="$prefix" scripts/install.sh
files=$(cd "$prefix" && find . -type f -o -type l | sort | tr '\n' ' ')
holds "what is installed: $files" test "$files" = "./include/forge_x402.h ./include/forge_x402.hpp ./include/forge_x402_client.hpp ./lib/cmake/forge_x402/forge_x402-config-version.cmake ./lib/cmake/forge_x402/forge_x402-config.cmake ./lib/libforge_x402.a ./lib/libforge_x402.so ./lib/libforge_x402.so.1 ./lib/libforge_x402.so.1.0.0 ./lib/pkgconfig/forge_x402.pc "
holds "the soname is the link programs load" test "$(readelf -dW "$prefix/lib/libforge_x402.so" | sed -n 's/.*SONAME.*\[\(.*\)\]/\1/p')" = libforge_x402.so.1
holds "a relative PREFIX is refused" sh -c '! PREFIX=here scripts/install.sh'
holds "DESTDIR stands in front of every path and in no file" sh -c "DESTDIR=$out/staged PREFIX=/usr scripts/install.sh && ! grep -r staged $out/staged/usr/lib/pkgconfig $out/staged/usr/lib/cmake"
# A copy without the sources: nothing may be found in the checkout.
cp -r examples "$out/" && mkdir -p "$out/bindings" && cp -r bindings/go "$out/bindings/"
export PKG_CONFIG_PATH=$prefix/lib/pkgconfig LD_LIBRARY_PATH=$prefix/lib
flags=$(pkg-config --cflags --libs forge_x402)
cd "$out"
holds "C: the libmicrohttpd merchant" gcc -std=gnu11 $warnings -g examples/c/serve.c examples/c/payment.c $flags $(pkg-config --cflags --libs libmicrohttpd) -lpthread -o bin/serve
holds "C: the same, with the archive inside" gcc -std=gnu11 $warnings examples/c/serve.c examples/c/payment.c -I"$prefix/include" "$prefix/lib/libforge_x402.a" $(pkg-config --static --libs-only-l forge_x402 | sed 's/-lforge_x402//') -lmicrohttpd -lpthread -o bin/serve_static
for standard in 17 20; do
  holds "C++$standard: the example" g++ -std=c++$standard $warnings examples/cpp/main.cpp $flags -o "bin/exchange$standard"
  holds "C++$standard: it runs" sh -c "bin/exchange$standard | grep -q '\"feedback_id\":\"'"
done
holds "CMake: configure" cmake -S examples/cpp -B cmake -DCMAKE_PREFIX_PATH="$prefix" -DCMAKE_CXX_FLAGS="$warnings"
holds "CMake: build" cmake --build cmake
holds "CMake: it runs" sh -c "cmake/exchange | grep -q 'please rate this service'"
holds "CMake: it runs with the archive inside, without the library" sh -c "LD_LIBRARY_PATH= cmake/exchange_static | grep -q 'please rate this service' && ! ldd cmake/exchange_static | grep -q forge"
holds "CMake: a wanted version that is too new is refused" sh -c "sed 's/forge_x402 0.1/forge_x402 99/' -i examples/cpp/CMakeLists.txt && ! cmake -S examples/cpp -B cmake99 -DCMAKE_PREFIX_PATH=$prefix"
mv "$prefix" "$out/moved" && sed 's/forge_x402 99/forge_x402 0.1/' -i examples/cpp/CMakeLists.txt
holds "CMake: the tree may be moved" sh -c "cmake -S examples/cpp -B cmake_moved -DCMAKE_PREFIX_PATH=$out/moved && cmake --build cmake_moved --target exchange"
mv "$out/moved" "$prefix"
holds "Go: the net/http merchant" sh -c "cd examples/nethttp && go build -o ../../bin/nethttp ."
holds "P29 Go: without cgo it builds to a pass-through, and Strict says so" sh -c "cd examples/nethttp && CGO_ENABLED=0 go build -o ../../bin/nethttp_off . && ! ../../bin/nethttp_off 0 x 2> $out/off.log; grep -q CGO_ENABLED=0 $out/off.log"
cd - > /dev/null
holds "C: the servers of the side-by-side bench" gcc -std=gnu11 $warnings benches/side_by_side/c/server.c examples/c/payment.c $flags $(pkg-config --cflags --libs libmicrohttpd) -lpthread -o "$out/bin/side_by_side"

step "P29 the loader"
holds "Python loads, uses and closes it; the process goes on" python3 -c "
import ctypes, threading, _ctypes
lib = ctypes.CDLL('$prefix/lib/libforge_x402.so.1')
thread = threading.Thread(target=lambda: lib.fx402_selftest(0, None)); thread.start(); thread.join()
assert lib.fx402_selftest(0, None) == 0
_ctypes.dlclose(lib._handle)"
module=${CARGO_TARGET_DIR:-target}/release/lib_native.so
if [ -f "$module" ]; then
  cp "$module" "$out/_native.abi3.so"
  for order in "lib, native" "native, lib"; do
    holds "two Rust libraries in one process: $order" python3 -c "
import ctypes, importlib.util, _ctypes
def lib():
    opened = ctypes.CDLL('$prefix/lib/libforge_x402.so.1')
    assert opened.fx402_selftest(0, None) == 0
    return opened
def native():
    spec = importlib.util.spec_from_file_location('_native', '$out/_native.abi3.so')
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
both = [make() for make in ($order)]
opened = next(one for one in both if isinstance(one, ctypes.CDLL))
assert opened.fx402_selftest(0, None) == 0
_ctypes.dlclose(opened._handle)
again = lib()
_ctypes.dlclose(again._handle)"
  done
else
  echo "       not run: two Rust libraries in one process (the Python module is not built; scripts/python_test.sh builds it)"
fi

step "C++ conformance"
cases=$(cd tests/conformance && ls ./*.json | sed 's,^\./,,' | grep -vx texts.json)
holds "compile as C++20" g++ -std=c++20 $warnings -O0 bindings/cpp/test/conformance.cpp $flags -o "$out/bin/conformance20"
program "conformance as C++20" "$out/bin/conformance20" tests/conformance $cases
holds "compile as C++17 with sanitizers" g++ -std=c++17 $warnings -O0 -g -fsanitize=address,undefined -fno-sanitize-recover=all bindings/cpp/test/conformance.cpp $flags -o "$out/bin/conformance17"
program "conformance as C++17 with sanitizers" "$out/bin/conformance17" tests/conformance $cases
holds "compile the agent's half as C++20" g++ -std=c++20 $warnings bindings/cpp/test/client.cpp $flags -o "$out/bin/client20"
program "the agent's half as C++20" "$out/bin/client20"
holds "compile the agent's half as C++17 with sanitizers" g++ -std=c++17 $warnings -g -fsanitize=address,undefined -fno-sanitize-recover=all bindings/cpp/test/client.cpp $flags -o "$out/bin/client17"
program "the agent's half as C++17 with sanitizers" "$out/bin/client17"

step "merchants that @x402/fetch buys from"
[ -d tests/e2e/node_modules ] || (cd tests/e2e && npm ci --no-audit --no-fund --ignore-scripts > "$out/npm.log" 2>&1) || give_up "npm ci in tests/e2e"
buy="node tests/hosts/purchase.mjs"
program "C on libmicrohttpd" $buy c "$out/bin/serve" {port} {facilitator} {collector}
program "C, archive inside" $buy c-static "$out/bin/serve_static" {port} {facilitator} {collector}
program "P21 C, three forked workers" $buy c-prefork "$out/bin/serve" {port} {facilitator} {collector} 3 -- prefork
program "Go on net/http" $buy go "$out/bin/nethttp" {port} {facilitatorUrl} {collector}
program "nginx in front of an upstream" $buy nginx tests/hosts/nginx.sh "$prefix/lib/libforge_x402.so.1" {port} {facilitatorUrl} {collector}
if command -v valgrind > /dev/null; then
  program "C under valgrind" $buy c-valgrind valgrind --quiet --error-exitcode=99 --leak-check=full --errors-for-leak-kinds=definite "$out/bin/serve" {port} {facilitator} {collector}
fi

step "done"
finish
