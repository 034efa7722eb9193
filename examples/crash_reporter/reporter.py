"""Run a program; if it crashes, write the report with functions and lines.

    python reporter.py [--source PLACE]... [--reports FOLDER] -- PROGRAM [ARGUMENT]...

PLACE is a folder with debug files or GSYM files, or the URL of a symbol server. The
program has to print a stack when it dies, as those with a sanitizer, Go, Rust and
`python -X faulthandler` do. Of each fault one report is kept: crashes of the same code
have the same key, also in the next build, and the file is named by a hash of it. The
exit status is that of the program, as a shell gives it.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import subprocess
import sys
from pathlib import Path

import gsym


def run_reported(
    command: list[str], source: list[str]
) -> tuple[int, gsym.Report | None]:
    """The exit status of a program, and the report of its crash."""
    done = subprocess.run(command, stderr=subprocess.PIPE, text=True, check=False)
    report = gsym.symbolicate(done.stderr, source=source)
    return done.returncode, report if report.threads else None


def keep(report: gsym.Report, folder: Path) -> Path:
    """Write the report beside others; count how often its fault was seen."""
    folder.mkdir(parents=True, exist_ok=True)
    key = report.key()
    path = folder / f"{hashlib.sha256(key.encode()).hexdigest()[:16]}.json"
    seen = json.loads(path.read_text())["seen"] if path.exists() else 0
    kept = {"key": key, "seen": seen + 1, "report": report.to_dict()}
    path.write_text(json.dumps(kept, indent=1))
    return path


def main() -> int:
    """Run and report."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--source", action="append", default=[])
    parser.add_argument("--reports", type=Path, default=Path("reports"))
    parser.add_argument("command", nargs="+", help="after --")
    arguments = parser.parse_args()
    status, report = run_reported(arguments.command, arguments.source)
    if report is not None:
        print(report, file=sys.stderr)
        print(f"kept as {keep(report, arguments.reports)}", file=sys.stderr)
    elif status < 0:
        print(f"died by signal {-status}, without a stack", file=sys.stderr)
    return 128 - status if status < 0 else status


if __name__ == "__main__":
    sys.exit(main())
