"""libgsym, built and installed as its users have it."""

from __future__ import annotations

import os
import subprocess
from fcntl import LOCK_EX, flock
from typing import TYPE_CHECKING, Any, NamedTuple

import cffi
import pytest

from tests.conftest import REPOSITORY, find_peer

if TYPE_CHECKING:
    from pathlib import Path

    import gsym

EXAMPLES = REPOSITORY / "examples/libgsym"
BUILD = REPOSITORY / "build/libgsym"


def words_of(*words: object) -> list[str]:
    """A command, paths and all."""
    return [str(word) for word in words]


def expected_frames(reader: gsym.Reader, address: int) -> str:
    """What the examples print of *address*."""
    found = reader.lookup(address)
    lines = [f"{address:#x}"]
    for frame in found.frames if found else ():
        place = f" {frame.path}:{frame.line}" if frame.filename else ""
        call = " (inlined)" if frame.inlined else ""
        lines.append(f"  {frame.name}+{frame.offset:#x}{place}{call}")
    return "\n".join(lines if found else [*lines, "  ??"]) + "\n"


class Installed(NamedTuple):
    """What `make install` has made; *environment* is for programs that use it."""

    prefix: Path
    environment: dict[str, str]

    @property
    def shared(self) -> Path:
        return self.prefix / "lib/libgsym.so.0"

    def flags(self) -> list[str]:
        """What a compiler needs, by pkg-config."""
        command = [find_peer("pkg-config"), "--cflags", "--libs", "libgsym"]
        done = subprocess.run(
            command, env=self.environment, check=True, capture_output=True, text=True
        )
        return done.stdout.split()


def make(build: Path, *words: object) -> None:
    """Build the library in a folder that tests which run side by side share."""
    build.mkdir(parents=True, exist_ok=True)
    with (build / "lock").open("w") as lock:
        flock(lock, LOCK_EX)
        command = words_of("make", "-s", "-j2", "-C", REPOSITORY / "libgsym", *words)
        subprocess.run([*command, f"BUILD={build}"], check=True)


@pytest.fixture(scope="session")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Installed:
    for tool in ("make", "gcc", "objcopy"):
        find_peer(tool)
    prefix = tmp_path_factory.mktemp("installed")
    make(BUILD, "install", f"PREFIX={prefix}", "CFLAGS=-O0 -g")  # in less time
    environment = {
        **os.environ,
        "PKG_CONFIG_PATH": str(prefix / "lib/pkgconfig"),
        "LD_LIBRARY_PATH": str(prefix / "lib"),
    }
    return Installed(prefix, environment)


class Library(NamedTuple):
    """The shared library, called from Python by the declarations of its header."""

    ffi: Any  # a cffi.FFI
    lib: Any

    def error(self) -> Any:  # noqa: ANN401 - a cffi object
        return self.ffi.new("gsym_error *")

    def text(self, string: Any) -> str:  # noqa: ANN401
        text: bytes = self.ffi.string(string)
        return text.decode()


@pytest.fixture(scope="session")
def library(installed: Installed) -> Library:
    ffi = cffi.FFI()
    ffi.cdef(declarations(installed.prefix / "include"))
    return Library(ffi, ffi.dlopen(str(installed.shared)))


def declarations(include: Path) -> str:
    """What libgsym.h declares itself, without the headers of the system."""
    # For a compiler without attributes.
    command = words_of(
        "gcc", "-E", "-U__GNUC__", f"-I{include}", include / "gsym/libgsym.h"
    )
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    lines, is_ours = [], False
    for line in done.stdout.splitlines():
        if line.startswith("#"):
            is_ours = "/gsym/" in line
        elif is_ours:
            lines.append(line)
    return "\n".join(lines)


@pytest.fixture(scope="session")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A program with an inlined call."""
    folder = tmp_path_factory.mktemp("program")
    source = folder / "shapes.c"
    source.write_text(
        "static inline __attribute__((always_inline)) int area(int a, int b) {\n"
        "    if (a > b) __builtin_trap();\n"
        "    return a * b;\n"
        "}\n"
        "__attribute__((noinline)) int measure(int a) {\n"
        "    return area(a, 3) + 1;\n"
        "}\n"
        "int main(int count, char **words) {\n"
        "    (void)words;\n"
        "    return measure(count);\n"
        "}\n"
    )
    path = folder / "shapes"
    command = words_of(find_peer("gcc"), "-g", "-O1", "-o", path, source)
    subprocess.run(command, check=True)
    return path
