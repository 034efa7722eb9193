"""The context of a table: machine, versions, where it is written."""

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
from benchmarks.markdown import region_in, regions_in, with_region

if TYPE_CHECKING:
    from collections.abc import Sequence

ROOT = Path(__file__).resolve().parent.parent
DOCUMENT = ROOT / "benchmarks" / "RESULTS.md"
README = ROOT / "README.md"
LLVM_GSYMUTIL = "llvm-gsymutil-22"
CONTEXT = "context"  # the region that states the commit of all others
CHANGED = "-dirty"
_VERSION = re.compile(r"\d+\.\d+")


def argument_parser(documentation: str) -> argparse.ArgumentParser:
    """The arguments of benchmarks that take inputs of the corpus."""
    parser = argparse.ArgumentParser(description=documentation.partition("\n")[0])
    parser.add_argument("corpus", type=Path, help="folder that holds big/")
    parser.add_argument("--input", action="append", help="a name below CORPUS/big")
    parser.add_argument("--write", action="store_true", help="into RESULTS.md")
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
        tables = (":!docs", ":!README.md", ":!benchmarks/RESULTS.md")
        changed = output_of("git", "diff", "--name-only", "HEAD", "--", ".", *tables)
    except (OSError, subprocess.CalledProcessError):
        return "unknown"
    return f"{name}{CHANGED}" if changed else name


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


def made_by(command: str, peers: Sequence[str] = ()) -> str:
    """The command that makes a table, and the versions of what was measured beside it.

    Args:
        command: Without `--write`.
        peers: Programs and Python packages.
    """
    lines = [f"- command: `{command}`"]
    if peers:
        lines.append(f"- versions: {'; '.join(map(version_of, peers))}")
    return "\n".join(lines)


def context() -> str:
    """When and where figures are taken, and of which commit."""
    cpu = next(
        line.partition(":")[2].strip()
        for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
        if line.startswith("model name")
    )
    today = dt.datetime.now(tz=dt.timezone.utc).date()
    return "\n".join(
        [
            f"- date and commit: {today}, {commit()}",
            f"- machine: {cpu}, {os.cpu_count()} cores, {platform.release()}",
            f"- versions: gsym {gsym.__version__}; Python {platform.python_version()}",
        ]
    )


def begin() -> None:
    """Empty all regions of RESULTS.md and state the context in the first one.

    Raises:
        ValueError: Files of the checkout differ from its commit.
    """
    if commit().endswith(CHANGED):
        raise ValueError("the tables name a commit, and there are changes beside it")
    page = DOCUMENT.read_text(encoding="utf-8")
    for name in regions_in(page):
        page = with_region(page, name, "")
    DOCUMENT.write_text(with_region(page, CONTEXT, context()), encoding="utf-8")


def empty_regions() -> list[str]:
    """The regions of benchmarks/RESULTS.md that nothing was written to."""
    page = DOCUMENT.read_text(encoding="utf-8")
    return [name for name in regions_in(page) if not region_in(page, name)]


def require_commit() -> None:
    """Let no figure stand in RESULTS.md that is of another commit than others.

    Raises:
        ValueError: The page states another commit than the one checked out.
    """
    stated = region_in(DOCUMENT.read_text(encoding="utf-8"), CONTEXT).split()
    if commit() not in stated:
        raise ValueError(
            f"{DOCUMENT.name} has tables of another commit than {commit()}: "
            "`python -m benchmarks CORPUS --write` makes all of them anew"
        )


def write_region(name: str, text: str) -> None:
    """Put *text* into a region of benchmarks/RESULTS.md, its figures into README.md."""
    require_commit()
    page = with_region(DOCUMENT.read_text(encoding="utf-8"), name, text)
    DOCUMENT.write_text(page, encoding="utf-8")
    readme = with_region(README.read_text(encoding="utf-8"), "figures", figures(page))
    README.write_text(readme, encoding="utf-8")
