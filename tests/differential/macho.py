"""Programs for macOS, and object files for all CPUs of Mach-O, built on the spot."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.differential.peers import run, zig
from tests.differential.programs import SOURCES

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

CLANG, DSYMUTIL, LIPO = "clang-19", "dsymutil-22", "llvm-lipo-22"
TARGETS = {"arm64": "aarch64-macos", "x86_64": "x86_64-macos"}


def build(
    architecture: str, source: str, options: Sequence[str], output: Path
) -> list[Path]:
    """Compile and link a program, `twins` in two halves; its object files."""
    language = "c++" if source.endswith(".cc") else "cc"
    options = ("-target", TARGETS[architecture], *options)
    objects = []
    for define in ("-DFIRST", "-DOTHER") if source.startswith("twins") else ("-DALL",):
        path = output.with_name(f"{output.name}{define}.o")
        compiler = (zig(), language, *options, define, "-c")
        run(*compiler, str(SOURCES / source), "-o", str(path))
        objects.append(path)
    linked = [*map(str, objects)]
    if source == "shapes.cc":  # zig would compile the library of C++, in two minutes
        linked.append(str(SOURCES / "cxx_runtime.c"))
    run(zig(), "cc", *options, "-g0", *linked, "-o", str(output))
    return objects


def make_bundle(binary: Path, bundle: Path) -> Path:
    """Collect the debug information of *binary*; the file inside of the *bundle*."""
    run(DSYMUTIL, str(binary), "-o", str(bundle))
    return bundle / "Contents/Resources/DWARF" / binary.name


def compile_object(triple: str, options: Sequence[str], output: Path) -> None:
    """An object file for any CPU of a source that needs no headers."""
    source = SOURCES / "bare.c"
    run(CLANG, "-target", triple, *options, "-c", str(source), "-o", str(output))
