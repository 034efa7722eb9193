"""The context of a table: machine, versions, location in the manual."""

from __future__ import annotations

import argparse
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
from benchmarks.figures import figures
from benchmarks.markdown import with_region

if TYPE_CHECKING:
    from collections.abc import Sequence

ROOT = Path(__file__).resolve().parent.parent
DOCUMENT = ROOT / "docs" / "benchmarks.md"
README = ROOT / "README.md"
LLVM_GSYMUTIL = "llvm-gsymutil-22"
_VERSION = re.compile(r"\d+\.\d+")


def argument_parser(documentation: str) -> argparse.ArgumentParser:
    """The arguments of benchmarks that take inputs of the corpus."""
    parser = argparse.ArgumentParser(description=documentation.partition("\n")[0])
    parser.add_argument("corpus", type=Path, help="folder that holds big/")
    parser.add_argument("--input", action="append", help="a name below CORPUS/big")
    parser.add_argument("--write", action="store_true", help="into docs/benchmarks.md")
    return parser


def output_of(*command: str) -> str:
    """What *command*, run in the checkout, prints."""
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    return done.stdout


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
        tables = (":!docs", ":!README.md")
        changed = output_of("git", "diff", "--name-only", "HEAD", "--", ".", *tables)
    except (OSError, subprocess.CalledProcessError):
        return "unknown"
    return f"{name}-dirty" if changed else name


def version_of(program: str) -> str:
    """What a program, or a Python package of that name, says of its version.

    What has a space has its version already.
    """
    if " " in program:
        return program
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
    """Put *text* into a region of docs/benchmarks.md, its figures into README.md."""
    page = with_region(DOCUMENT.read_text(encoding="utf-8"), name, text)
    DOCUMENT.write_text(page, encoding="utf-8")
    readme = with_region(README.read_text(encoding="utf-8"), "figures", figures(page))
    README.write_text(readme, encoding="utf-8")
