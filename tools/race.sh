#!/bin/sh
# Use libgsym from many threads under ThreadSanitizer: tools/race.sh BINARY...
#
# Fails if one converts or answers what another disturbs (tools/race.c). CLANG names the
# compiler; the library is kept in build/race.
set -eu
: "${1:?BINARY...}"
cd "$(dirname "$0")/.."
cc=${CLANG:-clang-19}
flags="-O1 -g -fsanitize=thread"
mkdir -p build/race
make -s -j "$(getconf _NPROCESSORS_ONLN)" -C libgsym BUILD=../build/race CC="$cc" \
    CFLAGS="$flags" LDFLAGS=-Wl,-z,undefs # the executable brings the runtime
# shellcheck disable=SC2086 # words
$cc -std=c11 $flags -Ibuild/race/include tools/race.c -o build/race/race \
    build/race/lib/libgsym.a -pthread -ldl
for binary in "$@"; do
    TSAN_OPTIONS=halt_on_error=1 build/race/race "$binary" build/race/output.gsym
done
