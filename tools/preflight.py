"""Report missing requirements of a build before it fails."""

from __future__ import annotations

import importlib.util
import os
import shlex
import shutil
import sys
import sysconfig
from pathlib import Path

OLDEST = (3, 10)


def missing() -> list[str]:
    """One line for each thing that must be installed first."""
    lines = []
    if sys.version_info < OLDEST:
        found = ".".join(str(part) for part in sys.version_info[:3])
        lines.append(f"Python 3.10 or newer (this is {found}; set PYTHON=...)")
    if importlib.util.find_spec("ensurepip") is None:
        lines.append("Python's venv module with pip (Debian: apt install python3-venv)")
    header = Path(sysconfig.get_path("include")) / "Python.h"
    if not header.exists():
        lines.append(f"Python's headers, {header} (Debian: apt install python3-dev)")
    compiler = shlex.split(os.environ.get("CC", "cc"))[0]
    if shutil.which(compiler) is None:
        lines.append(
            f"a C compiler, {compiler} (Debian: apt install gcc; or set CC=...)"
        )
    return lines


if __name__ == "__main__":
    lacking = missing()
    for line in lacking:
        print(f"missing: {line}", file=sys.stderr)
    sys.exit(1 if lacking else 0)
