#!/usr/bin/env bash
# The import of capstone's wheel ends a Python process in which AddressSanitizer runs.
#
# Guess: a library without instrumentation can be loaded in a process that has
#   AddressSanitizer, as all others of the system are.
# Seen: capstone loads its library with RTLD_DEEPBIND where Python has this flag. The
#   sanitizer refuses the flag for any library and exits; no exception is raised, so that
#   `try: import capstone` does not help. Without os.RTLD_DEEPBIND the same import works.
# Versions: PyPI capstone 5.0.9, GCC 12.2.
# Source: seen; the message of the sanitizer names its issue 611.
set -euo pipefail

runtime=$(gcc -print-file-name=libasan.so)
[[ $runtime == /* ]] || { echo "not available: libasan"; exit 77; }
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check capstone==5.0.9 setuptools==80.9.0 2>/dev/null

python() {
  LD_PRELOAD=$runtime ASAN_OPTIONS=detect_leaks=0 "$folder/venv/bin/python" -c "$1" 2>&1 || true
}
seen=$(
  python 'try:
    import capstone
except BaseException:
    pass
print("alive")' | grep -o "alive\|RTLD_DEEPBIND flag" | head -n 1
  python 'import os; del os.RTLD_DEEPBIND; import capstone; print("alive")' | tail -n 1
)
echo "$seen"
[[ $seen == $'RTLD_DEEPBIND flag\nalive' ]]
