"""The binaries of the acceptance run: real ones, our engine, and small programs."""

from __future__ import annotations

import sys
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

import pytest

from benchmarks.report import ROOT
from tests.differential.building import program
from tests.differential.builds import BUILDS
from tests.differential.peers import run, zig

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.differential.programs import Flavour

CORPUS = ("big/vmlinux", "big/libjvm.plain", "big/ceph-osd.plain", "big/libc.plain")
# Our engine, as a shared object.
TRIPLES = (
    *("x86_64-linux-musl", "aarch64-linux-musl", "arm-linux-musleabihf"),
    *("riscv64-linux-musl", "powerpc64-linux-musl", "s390x-linux-musl"),
    "mips-linux-musleabi",
)
PROGRAMS = "programs"


class Binary(NamedTuple):
    """One of them, and the line of the tables that it counts in.

    *make* puts it into a folder, or gives the path of one that is there; None where it
    cannot be built here.
    """

    name: str
    line: str
    make: Callable[[Path], Path | None]


def binaries(corpus: Path) -> list[Binary]:
    """All of them."""
    return [
        *(Binary(name, name, partial(_there, corpus / name)) for name in CORPUS),
        *(
            Binary(f"csrc {triple}", f"csrc {triple}", partial(engine_for, triple))
            for triple in TRIPLES
        ),
        *(
            Binary(each.title, PROGRAMS, partial(program_or_none, each))
            for each in BUILDS
        ),
    ]


def _there(path: Path, _folder: Path) -> Path:
    return path


def engine_for(triple: str, folder: Path) -> Path:
    """Our engine for another processor; one part of it wants integers of 128 bits."""
    csrc, output = ROOT / "csrc", folder / f"libgsym-{triple}.so"
    sources = sorted(str(path) for path in csrc.rglob("*.c") if path.name != "tables.c")
    paths = ("-iquote", str(csrc), f"-I{csrc}/include", f"-ffile-prefix-map={ROOT}=.")
    options = ("-O2", "-g", "-std=c11", "-shared", "-fPIC", "-fno-sanitize=undefined")
    command = (zig() or "zig", "cc", "-target", triple, *options, *paths)
    run(*command, *sources, "-o", str(output))
    return output


def program_or_none(flavour: Flavour, folder: Path) -> Path | None:
    """The program, unless its compiler is missing."""
    try:
        return program(flavour, folder)
    except pytest.skip.Exception as reason:
        print(f"left out: {flavour.title}: {reason}", file=sys.stderr)  # noqa: T201
        return None
