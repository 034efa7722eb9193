"""The binaries of the acceptance run: real ones, our engine, and small programs."""

from __future__ import annotations

import sys
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

import pytest

import gsym
from benchmarks.corpus import KERNEL, Corpus
from benchmarks.report import ROOT
from tests.conftest import FIXTURES
from tests.differential import layout
from tests.differential.building import program
from tests.differential.builds import BUILDS
from tests.differential.peers import run, zig
from tests.differential.relocatable import place
from tests.differential.targets import TARGETS, Target, executable

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.differential.programs import Flavour

CORPUS = (
    *("vmlinux", "libjvm.plain", "ceph-osd.plain", "libc.plain"),
    "libpython3.11d.so",
)
# Of the files of a package the largest is in CORPUS, or too large; of the others these
# many are taken, or a little more, of all sizes.
PACKAGES = {
    KERNEL: "*.ko",
    "libc6-dbg": "*.debug",
    "libpython3.11-dbg": "*.so*",
    "openjdk-17-dbg": "*.debug",
}
OF_PACKAGE = 40
# Our engine, as a shared object.
TRIPLES = (
    *("x86_64-linux-musl", "aarch64-linux-musl", "arm-linux-musleabihf"),
    *("riscv64-linux-musl", "powerpc64-linux-musl", "s390x-linux-musl"),
    "mips-linux-musleabi",
)
# Fixtures that llvm-symbolizer misreads: it takes function descriptors for functions,
# and of several sections of one name it reads one.
LEFT_OUT = {
    "gsym/shapes-be.o",
    "pyelftools/test/testfiles_for_unittests/gmtime_r.o.elf",
}


class Binary(NamedTuple):
    """One of them, and the line of the tables that it counts in.

    *make* puts it into a folder, or gives the path of one that is there; None where it
    cannot be built here.
    """

    name: str
    line: str
    make: Callable[[Path], Path | None]


def binaries(folder: Path) -> list[Binary]:
    """All of them; what the corpus in *folder* lacks is fetched."""
    corpus = Corpus(folder.resolve())
    corpus.provide(CORPUS)
    return [
        *(
            Binary(f"big/{name}", f"big/{name}", partial(placed, folder / "big" / name))
            for name in CORPUS
        ),
        *(
            Binary(f"{package} {path.name}", package, partial(placed, path))
            for package, pattern in PACKAGES.items()
            for path in _of_all_sizes(corpus.files(package, pattern))
        ),
        *(
            Binary(str(path.relative_to(FIXTURES)), "fixtures", partial(fixture, path))
            for path in _elf_fixtures()
        ),
        *(
            Binary(f"csrc {triple}", f"csrc {triple}", partial(engine_for, triple))
            for triple in TRIPLES
        ),
        *(
            Binary(each.title, "programs", partial(program_or_none, each))
            for each in BUILDS
        ),
        *(
            Binary(f"target {each.title}", "targets", partial(target_or_none, each))
            for each in TARGETS
            if each.container == "elf"
        ),
    ]


def _of_all_sizes(files: list[Path]) -> list[Path]:
    others = files[:-1]
    return others[:: -max(1, len(others) // OF_PACKAGE)]


def _elf_fixtures() -> list[Path]:
    return [
        path
        for path in sorted(FIXTURES.rglob("*"))
        if path.is_file()
        and layout.kind_of(path)
        and str(path.relative_to(FIXTURES)) not in LEFT_OUT
    ]


def placed(path: Path, folder: Path) -> Path:
    """The file, or a copy of a relocatable one that has addresses."""
    kind = layout.kind_of(path)
    return place(path, folder / path.name) if kind and kind.is_relocatable else path


def fixture(path: Path, folder: Path) -> Path | None:
    """The file, unless it has no lines of its own."""
    try:
        report = gsym.convert(path, folder / "tried.gsym")
    except gsym.GsymError:
        return None
    if not report.functions_with_lines or not layout.has_section(path, "debug_info"):
        return None
    return placed(path, folder)


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
    return _unless_skipped(flavour.title, lambda: program(flavour, folder))


def target_or_none(target: Target, folder: Path) -> Path | None:
    """A program for a machine, unless its compiler is missing."""
    return _unless_skipped(target.title, lambda: executable(target, folder).binary)


def _unless_skipped(title: str, make: Callable[[], Path]) -> Path | None:
    try:
        return make()
    except pytest.skip.Exception as reason:
        print(f"left out: {title}: {reason}", file=sys.stderr)  # noqa: T201
        return None
