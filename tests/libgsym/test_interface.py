"""What is installed, and what programs that are linked with it rely on."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

import gsym
from tests.conftest import REPOSITORY, find_peer
from tests.libgsym.abi import abi_of
from tests.libgsym.conftest import declarations, words_of

if TYPE_CHECKING:
    from pathlib import Path

    from tests.libgsym.conftest import Installed, Library

pytestmark = [pytest.mark.long, pytest.mark.no_engine]

GOLDEN = REPOSITORY / "tests/golden/libgsym.abi"
MAN_PAGE = REPOSITORY / "libgsym/libgsym.3"


def output_of(*command: str | Path) -> str:
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    return done.stdout


def declared_functions(installed: Installed) -> set[str]:
    text = declarations(installed.prefix / "include")
    return set(re.findall(r"\b(gsym_\w+)\(", text))


def test_interface_is_the_recorded_one(installed: Installed) -> None:
    """After an intended change: docs/libgsym.md has the rules for the soname."""
    found = abi_of(installed.shared)
    assert found == GOLDEN.read_text(encoding="utf-8").splitlines(), (
        "python -m tests.libgsym.abi build/libgsym/lib/libgsym.so.0 "
        f">{GOLDEN.relative_to(REPOSITORY)}"
    )


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("uint32_t line;   /* from 1", "uint64_t line;   /* from 1"),
        ("    const char *filename;\n    uint64_t offset;", "    uint64_t offset;"),
        ("GSYM_WRITE_NO_INDEX = 2", "GSYM_WRITE_NO_INDEX = 8"),
    ],
)
def test_a_change_of_a_layout_is_noticed(old: str, new: str, tmp_path: Path) -> None:
    folder = tmp_path / "checkout"
    for name in ("csrc", "libgsym"):
        shutil.copytree(REPOSITORY / name, folder / name)
    header = folder / "libgsym/include/gsym/libgsym.h"
    text = header.read_text(encoding="utf-8")
    assert text.count(old) == 1
    header.write_text(text.replace(old, new), encoding="utf-8")
    # One source that uses the types is enough.
    source, library = folder / "libgsym/changed.c", tmp_path / "libchanged.so"
    source.write_text(
        "#include <gsym/libgsym.h>\n"
        "const char *gsym_version(void) { static gsym_location l; static int f;\n"
        "    f |= GSYM_WRITE_NO_INDEX; return l.function; }\n"
    )
    includes = [f"-I{folder / part}/include" for part in ("csrc", "libgsym")]
    script = f"-Wl,--version-script={folder / 'libgsym/libgsym.map'}"
    command = [find_peer("gcc"), "-g", "-shared", "-fPIC", *includes, script]
    subprocess.run(words_of(*command, source, "-o", library), check=True)
    recorded = GOLDEN.read_text(encoding="utf-8").splitlines()
    assert not set(abi_of(library)) <= set(recorded)


def test_library_exports_what_the_header_declares_and_no_more(
    installed: Installed,
) -> None:
    nm = find_peer("nm")
    lines = output_of(nm, "-D", "--defined-only", installed.shared).splitlines()
    exported = {line.split()[2].partition("@")[0] for line in lines}
    declared = declared_functions(installed)
    assert "gsym_file_lookup" in declared
    assert exported - {"LIBGSYM_0.1"} == declared


def test_static_library_has_no_other_names(installed: Installed) -> None:
    archive = installed.prefix / "lib/libgsym.a"
    text = output_of(find_peer("nm"), "-g", "--defined-only", archive)
    names = {line.split()[2] for line in text.splitlines() if line.count(" ") == 2}
    assert names == declared_functions(installed)


def test_soname_and_version(installed: Installed, library: Library) -> None:
    text = output_of(find_peer("readelf"), "-dW", installed.shared)
    assert "Library soname: [libgsym.so.0]" in text
    assert set(re.findall(r"Shared library: \[(.+?)\]", text)) == {"libc.so.6"}
    assert library.text(library.lib.gsym_version()) == gsym.__version__
    assert installed.shared.resolve().name == f"libgsym.so.{gsym.__version__}"


@pytest.mark.parametrize(
    ("name", "language", "standard"),
    [
        ("status.h", "c", "c99"),
        ("libgsym.h", "c", "c99"),
        ("libgsym.h", "c++", "c++11"),
        ("libgsym.hpp", "c++", "c++11"),
    ],
)
def test_headers_include_what_they_need(
    installed: Installed, name: str, language: str, standard: str
) -> None:
    compiler = find_peer("g++" if language == "c++" else "gcc")
    strict = ("-Wall", "-Wextra", "-pedantic", "-Werror", "-fsyntax-only")
    command = [compiler, "-x", language, f"-std={standard}", *strict]
    include = f"-I{installed.prefix / 'include'}"
    text = f"#include <gsym/{name}>\n"
    subprocess.run([*command, include, "-"], input=text, text=True, check=True)


def test_installation_can_be_staged(installed: Installed, tmp_path: Path) -> None:
    del installed  # which has been built
    command = words_of("make", "-s", "-C", REPOSITORY, "install", f"DESTDIR={tmp_path}")
    subprocess.run([*command, "PREFIX=/opt/g", "LIBDIR=/opt/g/lib64"], check=True)
    text = (tmp_path / "opt/g/lib64/pkgconfig/libgsym.pc").read_text(encoding="utf-8")
    assert "libdir=/opt/g/lib64\n" in text
    assert str(tmp_path) not in text
    assert (tmp_path / "opt/g/include/gsym/libgsym.hpp").exists()
    assert (tmp_path / "opt/g/share/man/man3/libgsym.3").exists()
    assert (tmp_path / "opt/g/lib64/libgsym.so").resolve().exists()


def test_manual_page_explains_every_function(installed: Installed) -> None:
    text = MAN_PAGE.read_text(encoding="utf-8")
    assert {name for name in declared_functions(installed) if name not in text} == set()
    assert f'"libgsym {gsym.__version__}"' in text


def test_manual_page_is_formatted_without_warnings() -> None:
    command = words_of(find_peer("groff"), "-man", "-Tutf8", "-ww", "-z", MAN_PAGE)
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stderr == ""


def test_config_prints_flags_that_build_a_program(
    installed: Installed, tmp_path: Path
) -> None:
    del installed  # the checkout has the library
    command = [sys.executable, "-m", "gsym.config"]
    flags = output_of(*command, "--cflags", "--libs").split()
    source, path = tmp_path / "version.c", tmp_path / "version"
    source.write_text(
        "#include <gsym/libgsym.h>\n"
        "#include <stdio.h>\n"
        "int main(void) { return puts(gsym_version()) < 0; }\n"
    )
    subprocess.run(words_of(find_peer("gcc"), source, "-o", path, *flags), check=True)
    assert (
        output_of(path) == output_of(*command, "--version") == f"{gsym.__version__}\n"
    )
    include, lib = output_of(*command, "--includedir", "--libdir").split()
    assert [f"-I{include}", f"{lib}/libgsym.a"] == flags[:2]


@pytest.mark.parametrize("words", [[], ["--nope"], ["--cflags", "--nope"]])
def test_config_refuses_other_words(installed: Installed, words: list[str]) -> None:
    del installed
    command = [sys.executable, "-m", "gsym.config", *words]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("usage: python -m gsym.config")
