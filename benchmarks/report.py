"""What a table needs round it: the machine, the versions, its place in the docs."""

from __future__ import annotations

import datetime as dt
import hashlib
import os
import platform
import re
import subprocess
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TYPE_CHECKING

import gsym

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

ROOT = Path(__file__).resolve().parent.parent
DOCUMENT = ROOT / "docs" / "benchmarks.md"
LLVM_GSYMUTIL = "llvm-gsymutil-22"
_VERSION = re.compile(r"\d+\.\d+")


def output_of(*command: str) -> str:
    """What *command*, run in the checkout, prints."""
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    return done.stdout


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A Markdown table; the first column is text, the others are figures."""
    lines = [head, ["---", *["--:"] * (len(head) - 1)], *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def digest(path: Path) -> str:
    """The first 16 hexadecimal digits of the file's SHA-256."""
    state = hashlib.sha256()
    with path.open("rb") as stream:
        while block := stream.read(1 << 20):
            state.update(block)
    return state.hexdigest()[:16]


def commit() -> str:
    """The commit checked out, marked where tracked files but the tables differ."""
    try:
        name = output_of("git", "describe", "--always", "--abbrev=10").strip()
        changed = output_of("git", "diff", "--name-only", "HEAD", "--", ".", ":!docs")
    except (OSError, subprocess.CalledProcessError):
        return "unknown"
    return f"{name}-dirty" if changed else name


def version_of(program: str) -> str:
    """What a program, or a Python package of that name, says of its version."""
    try:
        return f"{program} {version(program)}"
    except PackageNotFoundError:
        lines = output_of(program, "--version").splitlines()
    line = next(line.strip() for line in lines if _VERSION.search(line))
    name = program.rpartition("-")[0] if line.startswith("Debian") else ""
    return f"{name} {line}".strip()


def environment(command: str, peers: Sequence[str] = (LLVM_GSYMUTIL,)) -> str:
    """When, where and with which versions the figures were taken.

    Args:
        command: That takes them again.
        peers: Programs and Python packages that were measured, too.
    """
    ours = [f"gsym {gsym.__version__}", f"Python {platform.python_version()}"]
    versions = "; ".join([*ours, *map(version_of, peers)])
    cpu = next(
        line.partition(":")[2].strip()
        for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
        if line.startswith("model name")
    )
    today = dt.datetime.now(tz=dt.timezone.utc).date()
    return "\n".join(
        [
            f"- command: `{command}`",
            f"- date and commit: {today}, {commit()}",
            f"- machine: {cpu}, {os.cpu_count()} cores, {platform.release()}",
            f"- versions: {versions}",
        ]
    )


def write_region(name: str, text: str) -> None:
    """Put *text* between the two markers of *name* in docs/benchmarks.md."""
    begin, end = f"<!-- {name}: begin -->", f"<!-- {name}: end -->"
    before, after = "# Benchmarks\n\n", "\n"
    if DOCUMENT.exists():
        whole = DOCUMENT.read_text(encoding="utf-8")
        before, found, rest = whole.partition(begin)
        after = rest.partition(end)[2] if found else "\n"
        before = before if found else before.rstrip("\n") + "\n\n"
    document = f"{before}{begin}\n{text}\n{end}{after}"
    DOCUMENT.write_text(document, encoding="utf-8")
