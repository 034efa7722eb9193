#!/bin/sh
# Fuzz the engine: tools/fuzz.sh all|NAME [SECONDS [SEED_FILE...]]; NAME is image, bulk, convert,
# breakpad, pdb, fxt, text or symbfile.
#
# Builds the engine and tools/fuzz_NAME.c with clang's libFuzzer under the address and
# undefined-behaviour sanitizers, makes small seeds (tools/fuzz_seeds.py), gives each of them
# to its target once for each allocation, which fails (tools/exhaust.c), or with less than 60
# SECONDS for every fourth one, and runs all targets at the same time, for SECONDS (60 by
# default). Fails if one does not compile, or finds an error; then the end of its log is
# printed. The log, the growing corpus and the findings (crash-*, timeout-*, oom-*) are kept in
# build/fuzz/NAME; replay a finding with build/fuzz/NAME/fuzz FILE.
#
# More seeds should be small as well: GSYM files for image, bulk and text, programs built with
# -g -O2 -nostdlib -static -Wl,-N for convert, .sym files for breakpad, traces for fxt.
# CLANG and PYTHON name the programs to use, CFLAGS adds options for the compiler.
set -eu
cd "$(dirname "$0")/.."
names=${1:?all or NAME}
seconds=${2:-60}
step=1
[ "$seconds" -ge 60 ] || step=4
shift; [ $# -eq 0 ] || shift
[ "$names" != all ] || names="image bulk convert breakpad pdb fxt text symbfile"
export CLANG="${CLANG:-clang-19}"
export FLAGS="-std=c11 -g -O1 -iquote csrc -Icsrc/include -fno-sanitize-recover=all ${CFLAGS-}"

# Compile the engine once for all targets, on all cores.
mkdir -p build/fuzz/engine
ls csrc/*/*.c | xargs -P "$(getconf _NPROCESSORS_ONLN)" -n 8 sh -c '
    for source in "$@"; do
        $CLANG $FLAGS -fsanitize=fuzzer-no-link,address,undefined -c "$source" \
            -o "build/fuzz/engine/$(echo "$source" | tr / _).o" || exit 255
    done' compile

fuzz() {
    folder=build/fuzz/$1
    "${PYTHON:-.venv/bin/python}" -m tools.fuzz_seeds "$1" "$folder/corpus"
    shift
    for seed in "$@"; do
        cp "$seed" "$folder/corpus/seed-$(basename "$seed")"
    done
    objects=$(ls csrc/*/*.c | tr / _ | sed 's|.*|build/fuzz/engine/&.o|')
    $CLANG $FLAGS -fsanitize=fuzzer,address,undefined "tools/fuzz_$(basename "$folder").c" \
        $objects -o "$folder/fuzz"
    $CLANG $FLAGS -fsanitize=address,undefined tools/exhaust.c \
        -Dmalloc=__real_malloc -Dcalloc=__real_calloc -Drealloc=__real_realloc \
        "tools/fuzz_$(basename "$folder").c" $objects -o "$folder/exhaust" \
        -Wl,--wrap=malloc,--wrap=calloc,--wrap=realloc
    "$folder/exhaust" "$step" "$folder"/corpus/seed-*
    "$folder/fuzz" -max_total_time="$seconds" -timeout=20 -rss_limit_mb=2048 \
        -max_len=65536 -artifact_prefix="$folder/" -print_final_stats=1 "$folder/corpus"
}

processes=
for name in $names; do
    mkdir -p "build/fuzz/$name"
    fuzz "$name" "$@" >"build/fuzz/$name/log" 2>&1 &
    processes="$processes $!:$name"
done
status=0
for process in $processes; do
    wait "${process%:*}" || { tail -n 60 "build/fuzz/${process#*:}/log"; status=1; }
done
exit $status
