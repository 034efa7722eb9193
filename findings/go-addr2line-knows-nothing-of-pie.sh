#!/usr/bin/env bash
# `go tool addr2line` finds no function in a Go program that may be loaded anywhere.
#
# Guess: what `go tool nm` lists, `go tool addr2line` of the same Go answers, however the
#   program was linked: it has DWARF, a symbol table and Go's own table of lines.
# Seen: of a program built with -buildmode=pie, the default for Android, an address of
#   `go tool nm` gives `?` and `?:0`, with status 0. GNU addr2line answers from the DWARF. Go's
#   tool reads the section .gopclntab alone, and Go's own linker calls it
#   .data.rel.ro.gopclntab in such programs; renamed, it is read.
# Versions: Go 1.19.8 (Debian 12, golang-1.19), binutils 2.40, on x86-64.
# Source: seen; cmd/internal/objfile/elf.go asks for the one name.
set -euo pipefail

for tool in go addr2line objcopy; do
  command -v "$tool" >/dev/null || { echo "not available: $tool"; exit 77; }
done
folder=$(mktemp -d)
trap 'chmod -R u+w "$folder"; rm -rf "$folder"' EXIT
cd "$folder"
export GOCACHE=$folder/cache GOPATH=$folder/path GO111MODULE=off GOFLAGS= CGO_ENABLED=0

printf 'package main\n\nfunc main() {\n\tprintln("here")\n}\n' > main.go
for mode in exe pie; do
  go build -buildmode=$mode -o $mode main.go 2>/dev/null \
    || { echo "not available: a Go for $mode"; exit 77; }
done
objcopy --rename-section .data.rel.ro.gopclntab=.gopclntab pie renamed
for mode in exe pie renamed; do
  address=$(go tool nm $mode | awk '$3 == "main.main" { print $1 }')
  echo "$mode, Go: $(echo "0x$address" | go tool addr2line $mode | xargs -n1 basename | xargs)"
  echo "$mode, GNU: $(addr2line -fse $mode "0x$address" | xargs)"
done | tee seen.txt
diff - seen.txt <<'EXPECTED'
exe, Go: main.main main.go:3
exe, GNU: main.main main.go:3
pie, Go: ? ?:0
pie, GNU: main.main main.go:3
renamed, Go: main.main main.go:3
renamed, GNU: main.main main.go:3
EXPECTED
