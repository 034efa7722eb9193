#!/bin/sh
# Fuzz the engine: tools/fuzz.sh image|convert|breakpad|fxt [SECONDS [SEED_FILE...]]
#
# Builds tools/fuzz_NAME.c and the engine with clang's libFuzzer under the address and
# undefined-behaviour sanitizers, and runs it. The growing corpus and what it finds
# (crash-*, timeout-*, oom-*) stay below build/fuzz/NAME; replay a finding with
# build/fuzz/NAME/fuzz FILE. Seeds should be small: GSYM files, for convert programs built
# with -g -O2 -nostdlib -static -Wl,-N and those of tools/fuzz_seeds.py, for breakpad .sym
# files, for fxt traces. CFLAGS adds options for the compiler.
set -eu
cd "$(dirname "$0")/.."
name=${1:?image, convert, breakpad or fxt}
seconds=${2:-60}
shift; [ $# -eq 0 ] || shift
folder=build/fuzz/$name
mkdir -p "$folder/corpus"
for seed in "$@"; do
    cp "$seed" "$folder/corpus/seed-$(basename "$seed")"
done
"${CLANG:-clang-19}" -std=c11 -g -O1 -Icsrc -fno-sanitize-recover=all \
    -fsanitize=fuzzer,address,undefined ${CFLAGS-} "tools/fuzz_$name.c" csrc/*.c -o "$folder/fuzz"
exec "$folder/fuzz" -max_total_time="$seconds" -timeout=10 -rss_limit_mb=2048 \
    -max_len=65536 -artifact_prefix="$folder/" -print_final_stats=1 "$folder/corpus"
