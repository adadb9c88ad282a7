#!/bin/bash
# Tests the C interface: builds the release library once and runs everything in capi/tests against it.
#
# Needs gcc, g++, valgrind, binutils, pkg-config and libjansson-dev. FX402_TARGET_DIR: where cargo builds (target).
# Last line: "N passed, N failed".
set -u
cd "$(dirname "$0")/.."

target=${FX402_TARGET_DIR:-${CARGO_TARGET_DIR:-target}}
mkdir -p "$target/capi"
target=$(cd "$target" && pwd)
out=$target/capi
lib=$out/lib
panic_lib=$out/panic_lib
version=$(sed -n 's/^version = "\(.*\)"$/\1/p' Cargo.toml | head -n 1)
. scripts/steps.sh

step "build the library that ships, and one whose functions can be made to panic"
cargo build --release --quiet --package forge-x402-capi --target-dir "$target" || give_up "the release build"
CARGO_PROFILE_DEV_DEBUG=0 cargo rustc --package forge-x402-capi --features panic_points --target-dir "$target/panic" \
  -- --print native-static-libs 2> "$out/panic_build.log" || { tail -n 40 "$out/panic_build.log"; give_up "the build with panic points"; }
rm -rf "$lib" "$panic_lib" && mkdir -p "$lib" "$panic_lib" "$out/bin"
cp "$target/release/libforge_x402.so" "$lib/libforge_x402.so.1" && cp "$target/release/libforge_x402.a" "$lib/"
cp "$target/panic/debug/libforge_x402.so" "$panic_lib/libforge_x402.so.1"
ln -s libforge_x402.so.1 "$lib/libforge_x402.so" && ln -s libforge_x402.so.1 "$panic_lib/libforge_x402.so"
shared=$lib/libforge_x402.so.1
native_static_libs=$(sed -n 's/^note: native-static-libs: //p' "$out/panic_build.log" | tail -n 1)

warnings="-Wall -Wextra -Wpedantic -Werror"
common="$warnings -g -O1 -Iinclude -DCARGO_VERSION=\"$version\""
link="-L$lib -Wl,-rpath,$lib -lforge_x402 -lpthread -ldl"
compiler() { case $1 in c++*) echo "g++ -x c++ -std=$1" ;; *) echo "gcc -std=$1" ;; esac; }
standards="c99 c11 c17 c++11 c++20"

step "header, layout, symbols"
for standard in $standards; do
  printf '#include "forge_x402.h"\n#include "forge_x402.h"\nextern fx402_stats unused;\n' > "$out/twice.c"
  holds "header alone and twice as $standard, without padding" \
    $(compiler $standard) $warnings -Wpadded -Iinclude -fsyntax-only "$out/twice.c"
done
gcc -std=c99 $warnings -Iinclude capi/tests/layout.c -o "$out/bin/layout"
"$out/bin/layout" > "$out/layout.txt"
holds "sizes and offsets are those of capi/abi/layout.txt" diff -u capi/abi/layout.txt "$out/layout.txt"
nm -D --defined-only "$shared" | awk '{print $3}' | sort > "$out/exported.txt"
sort capi/abi/symbols.txt > "$out/expected.txt"
holds "exports are those of capi/abi/symbols.txt" diff -u "$out/expected.txt" "$out/exported.txt"
sed 's,//.*,,; /^#/d; /^\/\*[^*]*\*\/$/d; /^\/\*/,/\*\//d' include/forge_x402.h | grep -oE '\bfx402_[a-z_0-9]+\(' | tr -d '(' > "$out/declared.txt"
holds "symbols.txt has the header's order" diff -u <(grep -xFf capi/abi/symbols.txt "$out/declared.txt") capi/abi/symbols.txt
echo "       declared for later: $(grep -vxFf capi/abi/symbols.txt "$out/declared.txt" | tr '\n' ' ')"

step "the artifact"
dynamic=$(readelf -dW "$shared")
has() { printf '%s\n' "$dynamic" | grep -qE "$1"; }
has_not() { ! has "$1"; }
needed=$(printf '%s\n' "$dynamic" | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p' | sort | tr '\n' ' ')
size=$(stat -c %s "$shared")
floor=$(objdump -T "$shared" | grep -oE 'GLIBC_[0-9.]+' | sort -uV | tail -n 1)
holds "soname libforge_x402.so.1" has 'SONAME.*\[libforge_x402\.so\.1\]'
holds "stays mapped: NODELETE" has 'FLAGS_1.*NODELETE'
holds "no RPATH, no RUNPATH" has_not 'RPATH|RUNPATH'
holds "no TEXTREL" has_not 'TEXTREL'
holds "no static thread-local storage" has_not 'STATIC_TLS'
holds "needs only what every glibc system has: $needed" \
  test -z "$(printf '%s\n' $needed | grep -vxE 'libc\.so\.6|libgcc_s\.so\.1|ld-linux-x86-64\.so\.2|ld-linux-aarch64\.so\.1|libm\.so\.6|libpthread\.so\.0|libdl\.so\.2')"
holds "registers nothing for exit or fork" \
  test -z "$(nm -D --undefined-only "$shared" | awk '{print $NF}' | grep -E '^(atexit|on_exit|pthread_atfork|__register_atfork|signal|sigaction)(@|$)' | grep -v '^sigaction')"
holds "at most 2.6 MB: $size bytes" test "$size" -le 2600000
echo "       glibc floor of this build: $floor"

step "programs as C99, C11, C17, C++11, C++20"
for standard in $standards; do
  for test in rules cases client packed old_client worker; do
    binary=$out/bin/$test.$standard
    holds "compile $test as $standard" $(compiler $standard) $common "capi/tests/$test.c" -o "$binary" $link
    program "$test as $standard" "$binary"
  done
  holds "compile the example as $standard" $(compiler $standard) $warnings -Wno-missing-field-initializers -g -Iinclude examples/c_min/serve.c -o "$out/bin/serve.$standard" $link
done

step "panics, unloading, sockets, conformance"
holds "compile panic_points" gcc -std=c99 $common capi/tests/panic_points.c -o "$out/bin/panic_points" -L"$panic_lib" -Wl,-rpath,"$panic_lib" -lforge_x402
program "panic_points" "$out/bin/panic_points"
holds "compile unload" gcc -std=c99 $common capi/tests/unload.c -o "$out/bin/unload" -ldl -lpthread
program "unload" "$out/bin/unload" "$shared"
holds "compile keep_alive" gcc -std=c99 $common capi/tests/keep_alive.c -o "$out/bin/keep_alive" $link
program "keep_alive with the example server" "$out/bin/keep_alive" "$out/bin/serve.c99"
holds "compile conformance" gcc -std=c99 $common capi/tests/conformance.c -o "$out/bin/conformance" $link -ljansson
cases=$(cd tests/conformance && ls ./*.json | sed 's,^\./,,' | grep -vx texts.json)
program "conformance" "$out/bin/conformance" tests/conformance $cases

step "static library and pkg-config"
holds "native-static-libs are known: $native_static_libs" test -n "$native_static_libs"
holds "link rules with the archive" gcc -std=c99 $common capi/tests/rules.c -o "$out/bin/rules.static" "$lib/libforge_x402.a" $native_static_libs
program "rules, linked statically" "$out/bin/rules.static"
sed "s,@PREFIX@,$out,; s,@LIBDIR@,$lib,; s,@INCLUDEDIR@,$PWD/include,; s,@VERSION@,$version,; s,@NATIVE_STATIC_LIBS@,$native_static_libs," \
  capi/forge_x402.pc.in > "$out/forge_x402.pc"
export PKG_CONFIG_PATH=$out
holds "pkg-config knows the version" test "$(pkg-config --modversion forge_x402)" = "$version"
holds "compile the example with pkg-config" gcc examples/c_min/serve.c $(pkg-config --cflags --libs forge_x402) -o "$out/bin/serve.pc"

step "under AddressSanitizer and UndefinedBehaviorSanitizer"
export CHECK_WATCHED_BY=ASan
sanitize="-fsanitize=address,undefined -fno-sanitize-recover=all"
for test in rules cases client packed old_client worker conformance; do
  extra=; arguments=
  [ $test = conformance ] && extra=-ljansson && arguments="tests/conformance $cases"
  holds "compile $test with sanitizers" gcc -std=c99 $common $sanitize "capi/tests/$test.c" -o "$out/bin/$test.asan" $link $extra
  program "$test with sanitizers" "$out/bin/$test.asan" $arguments
done

step "under valgrind"
export CHECK_WATCHED_BY=valgrind
for test in rules cases client packed old_client worker; do
  program "$test under valgrind" valgrind --quiet --error-exitcode=99 --leak-check=full --errors-for-leak-kinds=definite "$out/bin/$test.c99"
done
unset CHECK_WATCHED_BY

step "figures (nothing depends on them)"
gcc -std=c99 $warnings -O2 -Iinclude capi/tests/bench_ordinary.c -o "$out/bin/bench_ordinary" $link && "$out/bin/bench_ordinary"

step "done"
finish
