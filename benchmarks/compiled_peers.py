"""Peers that are libraries: a program around each, compiled where the library is.

They come with Debian's packages `llvm-22-dev`, `libdw-dev`, `gcc` (libbacktrace) and,
for gimli's addr2line, `cargo` with `librust-addr2line-dev`, `librust-object-dev` and
`librust-memmap2-dev`. One that cannot be built is left out, and the benchmark says so.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.c_programs import compile_program
from benchmarks.report import ROOT, output_of

if TYPE_CHECKING:
    from collections.abc import Iterable

CRATES = Path("/usr/share/cargo/registry")
LLVM_CONFIG = "llvm-config-22"
GIMLI, LIBBACKTRACE, GSYM_READER = "gimli addr2line", "libbacktrace", "GsymReader"
LIBDW = "libdw"
_MANIFEST = """\
[package]
name = "{name}"
version = "0.0.0"
edition = "2021"

{target}
name = "{name}"
path = "{source}"

[dependencies]
addr2line = {{ version = "*", default-features = false, features = ["std-object"] }}
memmap2 = "*"
"""
_CONFIGURATION = f"""\
[source.crates-io]
replace-with = "debian"

[source.debian]
directory = "{CRATES}"
"""


def dwarf_programs(folder: Path) -> dict[str, Path]:
    """Programs that answer as `addr2line -fi`, by library; those that can be built."""
    gimli = _by_cargo(GIMLI, "dwarf_by_gimli", "[[bin]]", folder)
    found = {
        GIMLI: gimli and gimli / "dwarf_by_gimli",
        LIBBACKTRACE: libbacktrace_reader(folder),
    }
    return {name: program for name, program in found.items() if program is not None}


def _by_cargo(peer: str, name: str, target: str, folder: Path) -> Path | None:
    """The folder of what `benchmarks/NAME.rs` becomes."""
    project = folder / f"{name}.project"
    project.mkdir()
    source = ROOT / "benchmarks" / f"{name}.rs"
    manifest = _MANIFEST.format(name=name, target=target, source=source)
    (project / "Cargo.toml").write_text(manifest, encoding="utf-8")
    (project / "config.toml").write_text(_CONFIGURATION, encoding="utf-8")
    words = ("build", "--quiet", "--release", "--offline", "--config", "config.toml")
    built = _built(peer, "cargo", *words, folder=project)
    return project / "target" / "release" if built else None


def libbacktrace_reader(folder: Path) -> Path | None:
    """Another one."""
    try:
        return compile_program(
            "dwarf_by_libbacktrace", folder, "-no-pie", "-lbacktrace"
        )
    except subprocess.CalledProcessError:
        _left_out(LIBBACKTRACE)
        return None


def gsym_reader(folder: Path) -> Path | None:
    """LLVM's GsymReader as a shared library, as are the next two."""
    if shutil.which(LLVM_CONFIG) is None:
        _left_out(GSYM_READER)
        return None
    flags = output_of(LLVM_CONFIG, "--cppflags", "--ldflags", "--libs").split()
    compiler = ("c++", "-std=c++17", "-fno-rtti")
    return _shared(GSYM_READER, "gsym_reader.cc", compiler, flags, folder)


def libdw_reader(folder: Path) -> Path | None:
    """That of elfutils, which reads DWARF."""
    return _shared(LIBDW, "libdw_reader.c", ("cc",), ("-ldw", "-lelf"), folder)


def in_process_libbacktrace(folder: Path) -> Path | None:
    """That of gcc, likewise."""
    source = "libbacktrace_reader.c"
    return _shared(LIBBACKTRACE, source, ("cc",), ("-lbacktrace",), folder)


def in_process_gimli(folder: Path) -> Path | None:
    """That of Rust, likewise."""
    target = '[lib]\ncrate-type = ["cdylib"]'
    built = _by_cargo(GIMLI, "gimli_reader", target, folder)
    return built and built / "libgimli_reader.so"


def _shared(
    peer: str, source: str, compiler: Iterable[str], flags: Iterable[str], folder: Path
) -> Path | None:
    library = (folder / source).with_suffix(".so")
    output = ("-O2", "-shared", "-fPIC", "-o", library, ROOT / "benchmarks" / source)
    return library if _built(peer, *compiler, *output, *flags) else None


def versions() -> list[str]:
    """Those of the libraries that read DWARF."""
    found = [f"{GIMLI} {path.name[10:]}" for path in CRATES.glob("addr2line-[0-9]*")]
    return [
        *found,
        f"{LIBBACKTRACE} of gcc {output_of('gcc', '-dumpfullversion').strip()}",
    ]


def _built(peer: str, *command: str | Path, folder: Path | None = None) -> bool:
    try:
        subprocess.run(command, cwd=folder, check=True)
    except (OSError, subprocess.CalledProcessError):
        _left_out(peer)
        return False
    return True


def _left_out(peer: str) -> None:
    print(f"left out, for it cannot be built here: {peer}", file=sys.stderr)
