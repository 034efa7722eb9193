"""Convert and look up with symbolic, as its users do.

python -m benchmarks.symbolic_process convert BINARY CACHE
python -m benchmarks.symbolic_process lookup CACHE LOAD_ADDRESS < ADDRESSES
"""

from __future__ import annotations

import sys

from symbolic.debuginfo import Archive
from symbolic.symcache import SymCache


def main() -> None:
    """Do what the first word says."""
    verb, source, target = sys.argv[1:]
    if verb == "convert":
        (binary,) = Archive.open(source).iter_objects()
        with open(target, "wb") as stream:  # noqa: PTH123 - pathlib takes its time
            binary.make_symcache().dump_into(stream)  # type: ignore[no-untyped-call]
        return
    cache = SymCache.open(source)  # type: ignore[no-untyped-call]
    base = int(target)
    for line in sys.stdin:
        for found in cache.lookup(int(line, 16) - base):
            print(found.symbol, f"{found.full_path}:{found.line}")


if __name__ == "__main__":
    main()
