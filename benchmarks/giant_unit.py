"""A library whose code is in one unit of DWARF, linked from several real sources.

    python -m benchmarks.giant_unit DIR [--package NAME]...

Makes DIR/big/giant.so: CPython, PostgreSQL, SQLite and zstd from Debian's source
packages, which apt-get fetches (its sources need `deb-src`), compiled with -flto and
linked in one partition. Other benchmarks take it by `--input giant.so`. The link takes
seven minutes of a processor and 4 GB of memory.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from itertools import chain
from pathlib import Path
from typing import NamedTuple

NAME = "giant.so"
FLAGS = ("-g", "-O2", "-flto", "-fPIC", "-fno-semantic-interposition", "-w")
# Each package has a main, and some have the same helpers.
LINK = ("-shared", "-flto-partition=one", "-Wl,--allow-multiple-definition")
FETCH = ("apt-get", "source", "-qq", "-o", "APT::Sandbox::User=root")


class Package(NamedTuple):
    """A source package.

    Attributes:
        patterns: The C files.
        options: How they are compiled, besides FLAGS.
        before: What makes the headers that they include.
    """

    patterns: tuple[str, ...]
    options: tuple[str, ...] = ()
    before: tuple[str, ...] = ()


_CONFIGURE = "./configure -q"
PACKAGES = {
    "sqlite3": Package(
        ("sqlite3.c",),
        ("-DSQLITE_ENABLE_FTS5", "-DSQLITE_ENABLE_RTREE", "-DSQLITE_ENABLE_SESSION"),
        (_CONFIGURE, "make -s sqlite3.c"),
    ),
    "libzstd": Package(
        ("lib/*/*.c", "programs/*.c"),
        ("-Ilib", "-Ilib/common", "-DZSTD_LEGACY_SUPPORT=1", "-DZSTD_DISABLE_ASM=1"),
    ),
    "python3.11": Package(
        ("Objects/**/*.c", "Python/*.c", "Parser/*.c", "Modules/**/*.c"),
        (
            *("-I.", "-IInclude", "-IInclude/internal", "-IModules/_decimal/libmpdec"),
            *("-IModules/expat", "-DPy_BUILD_CORE", "-DCONFIG_64", "-DASM"),
            *('-DPLATLIBDIR="lib"', '-DPREFIX="/"', '-DEXEC_PREFIX="/"'),
            *('-DVERSION="3"', '-DVPATH=""', '-DABIFLAGS=""', '-DPLATFORM="linux"'),
        ),
        (f"{_CONFIGURE} --without-ensurepip",),
    ),
    "postgresql-15": Package(
        ("src/backend/**/*.c", "src/common/*.c", "src/port/*.c"),
        ("-Isrc/include", "-Isrc/backend", "-D_GNU_SOURCE", "-fwrapv"),
        (
            f"{_CONFIGURE} --without-readline --without-zlib --without-icu",
            "make -s -C src/backend submake-generated-headers",
        ),
    ),
}


def source_of(name: str, folder: Path) -> Path:
    """The unpacked and configured source of a package."""
    root = folder / name
    if not (root / ".ready").exists():
        shutil.rmtree(root, ignore_errors=True)
        root.mkdir(parents=True)
        subprocess.run([*FETCH, name], cwd=root, check=True)
        source = next(each for each in root.iterdir() if each.is_dir())
        for command in PACKAGES[name].before:
            subprocess.run(command.split(), cwd=source, check=True)
        (root / ".ready").touch()
    return next(each for each in root.iterdir() if each.is_dir())


def compile_all(name: str, folder: Path) -> list[Path]:
    """The objects of a package, without files that are for other systems."""
    source, package = source_of(name, folder), PACKAGES[name]
    every = sorted({*chain.from_iterable(map(source.glob, package.patterns))})

    def compile_one(path: Path) -> Path | None:
        within = path.relative_to(source)
        output = folder / f"{name}-{str(within).replace('/', '-')}.o"
        if not output.exists():
            words = (*FLAGS, *package.options, f"-I{within.parent}", "-c", str(within))
            command = ["gcc", *words, "-o", str(output)]
            subprocess.run(command, cwd=source, stderr=subprocess.DEVNULL, check=False)
        return output if output.exists() else None

    with ThreadPoolExecutor(os.cpu_count()) as pool:
        objects = [each for each in pool.map(compile_one, every) if each is not None]
    print(f"{name}: {len(objects)} of {len(every)} files", file=sys.stderr)
    return objects


def main() -> None:
    """Make the library, unless it is there."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("corpus", type=Path, help="folder that gets big/")
    parser.add_argument("--package", action="append", choices=PACKAGES)
    arguments = parser.parse_args()
    output = arguments.corpus.resolve() / "big" / NAME
    if output.exists():
        return
    folder = arguments.corpus.resolve() / "sources"
    objects = [
        str(path)
        for name in arguments.package or PACKAGES
        for path in compile_all(name, folder)
    ]
    part = output.with_name(f".{NAME}.part")
    output.parent.mkdir(exist_ok=True)
    subprocess.run(["gcc", *FLAGS, *LINK, "-o", str(part), *objects], check=True)
    part.rename(output)


if __name__ == "__main__":
    main()
