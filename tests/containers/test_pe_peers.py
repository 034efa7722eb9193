"""PE files of real compilers against llvm-symbolizer, nm and a linker."""

from __future__ import annotations

import subprocess
from typing import TYPE_CHECKING

import pytest

import gsym
from tests.conftest import find_peer
from tests.differential.answers import ask, relative_functions
from tests.differential.peers import run
from tests.differential.programs import SOURCES

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.slow

SOURCE = SOURCES / "sections.c"
MAIN = "int third(int); int main(int count) { return third(count); }"
# Compiler's triple, what lld calls the image, and how to compile.
TARGETS = [
    ("x86_64", "i386pep", "-gdwarf-5 -O1 -ffunction-sections"),
    ("i686", "i386pe", "-gdwarf-4 -O1"),
    ("aarch64", "arm64pe", "-gdwarf-4 -O1"),
    ("armv7", "thumb2pe", "-gdwarf-5 -O1 -ffunction-sections"),
]


def build(compiler: str, output: Path, *options: str) -> Path:
    """Compile SOURCE; skips the test where the compiler cannot."""
    command = [compiler, *options, str(SOURCE), "-o", str(output)]
    done = subprocess.run(command, capture_output=True, check=False)
    if done.returncode:
        pytest.skip(f"not built here: {done.stderr.decode()[:200]}")
    return output


@pytest.mark.usefixtures("llvm_symbolizer")
@pytest.mark.parametrize(
    ("target", "options"),
    [
        ("x86_64", "-gdwarf-5 -O2"),
        ("i686", "-gdwarf-4 -O0"),
        ("x86_64", "-g -O1 -shared"),
        ("i686", "-g -O2 -ffunction-sections"),
    ],
)
def test_programs_of_mingw_answer_as_llvm_symbolizer_says(
    target: str, options: str, tmp_path: Path
) -> None:
    main = tmp_path / "main.c"
    main.write_text(MAIN)
    compiler = find_peer(f"{target}-w64-mingw32-gcc")
    binary = build(compiler, tmp_path / "a.exe", *options.split(), str(main))
    answers = ask(binary, tmp_path)
    assert answers.different == []
    assert answers.with_lines > 100


@pytest.mark.parametrize("target", ["x86_64", "i686"])
def test_every_function_that_nm_names_is_found(target: str, tmp_path: Path) -> None:
    main = tmp_path / "main.c"
    main.write_text(MAIN)
    compiler = find_peer(f"{target}-w64-mingw32-gcc")
    binary = build(compiler, tmp_path / "a.exe", "-g", "-s", str(main))
    assert gsym_error(binary) == "no functions to encode"
    binary = build(compiler, tmp_path / "a.exe", str(main))
    gsym.convert(str(binary), str(tmp_path / "a.gsym"))
    named = [line.split() for line in run("nm", str(binary)).splitlines()]
    prefix = "_" if target == "i686" else ""
    functions = {
        (int(address, 16), name.removeprefix(prefix))
        for address, kind, name in (fields for fields in named if len(fields) == 3)
        if kind in "Tt" and not name.startswith(".")
    }
    with gsym.open(str(tmp_path / "a.gsym")) as reader:
        ours = list(reader.functions())
    assert len(functions) > 50
    assert {address for address, _ in functions} <= {each.start for each in ours}
    # The runtime of MinGW has debug information, with names of its own.
    bare = {(each.start, each.name) for each in ours if each.line_table is None}
    assert len(bare) > 30
    assert bare <= functions


def gsym_error(binary: Path) -> str:
    with pytest.raises(gsym.GsymError) as caught:
        gsym.convert(str(binary))
    return caught.value.reason.partition(";")[0]


def test_objects_of_arm64ec_have_the_functions_of_those_of_arm64(
    clang: str, tmp_path: Path
) -> None:
    found = {}
    for target in ("aarch64", "arm64ec"):
        flags = [f"--target={target}-windows-msvc", "-ffreestanding", "-gdwarf-4"]
        binary = build(clang, tmp_path / "a.o", *flags, "-O1", "-c")
        gsym.convert(str(binary), str(tmp_path / "a.gsym"))
        with gsym.open(str(tmp_path / "a.gsym")) as reader:
            found[target] = {f.name for f in reader.functions() if f.line_table}
    assert found["arm64ec"] == found["aarch64"]
    assert len(found["arm64ec"]) > 2


@pytest.mark.usefixtures("llvm_symbolizer")
@pytest.mark.parametrize(("target", "emulation", "options"), TARGETS)
def test_objects_say_of_functions_what_the_linked_image_says(
    target: str, emulation: str, options: str, clang: str, tmp_path: Path
) -> None:
    flags = [f"--target={target}-windows-gnu", "-ffreestanding", *options.split()]
    binary = build(clang, tmp_path / "a.o", *flags, "-c")
    linked = tmp_path / "a.exe"
    linker = find_peer("ld.lld-19", "ld.lld")
    command = [linker, "-m", emulation, "-e", "start", str(binary), "-o", str(linked)]
    done = subprocess.run(command, capture_output=True, check=False)
    if done.returncode:
        pytest.skip(f"not linked here: {done.stderr.decode()[:200]}")
    answers = ask(linked, tmp_path)
    assert answers.different == []
    assert answers.with_lines > 100
    assert relative_functions(binary) == relative_functions(linked)


@pytest.mark.parametrize(
    ("target", "options"),
    [("x86_64", "-g -Wa,-mbig-obj"), ("i686", "-gdwarf-4 -O2")],
)
def test_objects_of_mingw_say_what_the_linked_image_says(
    target: str, options: str, tmp_path: Path
) -> None:
    compiler = find_peer(f"{target}-w64-mingw32-gcc")
    binary = build(compiler, tmp_path / "a.o", *options.split(), "-c")
    linked = build(compiler, tmp_path / "a.dll", *options.split(), "-shared")
    ours = relative_functions(binary)
    theirs = relative_functions(linked)
    assert set(ours) == {"first", "second", "third", "start", "hidden"} & set(theirs)
    for name, what in ours.items():
        assert theirs[name] == what


# ---- real files --------------------------------------------------------------------


@pytest.mark.usefixtures("llvm_symbolizer")
def test_a_real_program_answers_as_llvm_symbolizer_says(
    fixtures: Path, tmp_path: Path
) -> None:
    source = fixtures / "symbolic" / "windows" / "hello-dwarf.exe"
    answers = ask(source, tmp_path)
    # What has no DIE, as hand-written code, has no line in a GSYM file.
    assert [each for each in answers.different if "cygwin.S" not in each] == []
    assert answers.with_lines > 1000


@pytest.mark.parametrize("target", ["x86_64", "i686"])
@pytest.mark.parametrize("debug_base", ["0x140000000", "0x10000000"])
def test_a_debug_file_of_mingw_says_what_the_whole_program_says(
    target: str, debug_base: str, tmp_path: Path
) -> None:
    """Also if the program was linked, or rebased, for another address."""
    base = "0x10000000" if target == "i686" else "0x140000000"
    if target == "i686":
        debug_base = debug_base.replace("0x140000000", "0x30000000")
    tool = f"{target}-w64-mingw32-"
    compiler, copy = find_peer(f"{tool}gcc"), find_peer(f"{tool}objcopy")
    flags = ["-g", "-O1", "-shared", "-Wl,--image-base"]
    whole = build(compiler, tmp_path / "a.dll", *flags, f"-Wl,{base}")
    source = build(compiler, tmp_path / "b.dll", *flags, f"-Wl,{debug_base}")
    run(copy, "--only-keep-debug", str(source), str(tmp_path / "a.debug"))
    stripped = tmp_path / "s.dll"
    link = f"--add-gnu-debuglink={tmp_path}/a.debug"
    run(copy, "--strip-all", link, str(whole), str(stripped))
    gsym.convert(str(whole), str(tmp_path / "whole"))
    report = gsym.convert(str(stripped), str(tmp_path / "stripped"))
    assert report.companions == (f"{tmp_path}/a.debug",)
    with gsym.open(tmp_path / "whole") as one, gsym.open(tmp_path / "stripped") as two:
        assert list(two.functions()) == list(one.functions())
        assert len(list(one.functions())) > 50
