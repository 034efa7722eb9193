"""A file of another build is not taken for a module of a report, or said to be unsure.

Of reports in text and JSON; those of memory are in `tests/memory`.
"""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path

import pytest

import gsym
from gsym.api.extensions import open_binaries
from gsym.cli.main import main
from gsym.cli.program import EXIT_INCOMPLETE
from gsym.memory.stack_parts import (
    module_of_build_id,
    module_of_debug_id,
    module_of_ids,
    module_of_uuid,
)
from gsym.modules.file_match import match_file
from gsym.modules.key import ModuleKey
from gsym.modules.places import Folder
from gsym.modules.symbolizer import Symbolizer
from tests.conftest import find_peer
from tests.inputs.elf import Elf, code_section
from tests.inputs.macho import Macho, Symbol, code, fat

BY_NAME = "found by its name alone"


def gsym_file(uuid: bytes) -> bytes:
    """The function `f` at 0x10."""
    with gsym.Creator(uuid=uuid) as creator:
        creator.add(gsym.FunctionInfo(0x10, 0x10, "f"))
        return creator.to_bytes()


X86_64, ARM64 = (0x01000007, 3), (0x0100000C, 0)
UUIDS = bytes(range(16)), bytes(range(16, 32))


@pytest.fixture(autouse=True)
def own_folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GSYM_STORE", str(tmp_path / "no-store"))
    monkeypatch.setenv("GSYM_CACHE_DIR", str(tmp_path / "cache"))


def library(compiler: str, path: Path, function: str, *flags: str) -> int:
    """Compile a library of one function; its address."""
    path.parent.mkdir(parents=True, exist_ok=True)
    source = path.with_suffix(".c")
    source.write_text(f"int {function}(int x) {{ return x; }}\n")
    options = ["-g", "-shared", "-fPIC", *flags]
    subprocess.run([compiler, *options, "-o", path, source], check=True)
    with gsym.open(path) as reader:
        return reader.find(function)[0].start


def sanitizer(path: str | Path, address: int, build_id: str) -> str:
    place = f"({path}+{address:#x}) (BuildId: {build_id})"
    return f"    #0 {address:#x}  {place}\n"


def answers(report: gsym.Report) -> list[tuple[list[str], str]]:
    """The functions of each module that is used, and why it is unsure."""
    return [
        (
            [
                call.name
                for frame in report.frames()
                if frame.module == number
                for call in frame.calls
            ],
            module.unsure,
        )
        for number, module in enumerate(report.modules)
        if module.state != "unused"
    ]


@pytest.mark.parametrize("place", ["folder", "path"])
@pytest.mark.parametrize(
    ("asked", "unsure"),
    [
        ("ab" * 32, ""),
        ("ab" * 20, "only 20 of 32 bytes of its build id are known"),
        ("ab" * 19, None),
        ("ab" * 31 + "aa", None),
    ],
)
def test_a_build_id_may_be_cut_at_twenty_bytes(
    asked: str, unsure: str | None, place: str, compiler: str, tmp_path: Path
) -> None:
    path = tmp_path / "build/a.so"
    at = library(compiler, path, "f", "-Wl,--build-id=0x" + "ab" * 32)
    text = sanitizer(path if place == "path" else "/nowhere/a.so", at, asked)
    report = gsym.symbolicate(text, source=path.parent if place == "folder" else ())
    if unsure is None:
        assert answers(report) == [([], "")]
        assert f"its build id is {'ab' * 32}, not {asked}" in report.modules[0].reason
    else:
        assert answers(report) == [(["f"], unsure)]


def test_the_last_bit_of_a_build_id_counts_in_every_form(
    compiler: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """llvm-bolt changes it, beyond the bytes that a debug id holds."""
    before, after = "ab" * 19 + "aa", "ab" * 19 + "ab"
    path = tmp_path / "a.so"
    at = library(compiler, path, "f", f"-Wl,--build-id=0x{before}")
    forms = {
        "sanitizer": "    #0 {at:#x}  (/x/a.so+{at:#x}) (BuildId: {id})\n",
        "systemd": "Module a.so with build-id {id}\nStack trace of thread 1:\n"
        "#0  0x00007f0000000000 n/a (a.so + {at:#x})\n",
        "markup": "{{{{{{module:0:a.so:elf:{id}}}}}}}\n"
        "{{{{{{mmap:0x0:0x10000:load:0:rx:0x0}}}}}}\n{{{{{{bt:0:{at:#x}:pc}}}}}}\n",
    }
    for form, text in forms.items():
        for build_id, is_found in (before, True), (after, False):
            log = text.format(at=at, id=build_id)
            found = answers(gsym.symbolicate(log, source=tmp_path))
            assert found == [(["f"] * is_found, "")], form
            (tmp_path / "log.txt").write_text(log)
            main(["filter", "--gsym-dir", str(tmp_path), str(tmp_path / "log.txt")])
            printed = capfd.readouterr()
            assert (str(path.with_suffix(".c")) in printed.out) is is_found, form
            assert ("1 unresolved" in printed.err) is not is_found, form


@pytest.mark.parametrize("is_strict", [False, True])
def test_a_module_found_by_name_is_said_and_is_not_strict(
    compiler: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    *,
    is_strict: bool,
) -> None:
    path = tmp_path / "a.so"
    at = library(compiler, path, "f", "-Wl,--build-id=0xabcdef01")
    (tmp_path / "log.txt").write_text(f"{path}(+{at + 1:#x}) [0x55d1c0ffe000]\n")
    command = ["symbolicate", *["--strict"] * is_strict, str(tmp_path / "log.txt")]
    assert main(command) == (EXIT_INCOMPLETE if is_strict else 0)
    printed = capsys.readouterr()
    assert printed.out.startswith("f + 1 at ")
    assert printed.err == (
        f"gsym symbolicate: warning: a.so: {BY_NAME}: it may be another build\n"
    )
    main([*command, "--json"])
    assert json.loads(capsys.readouterr().out)["modules"][0]["unsure"] == BY_NAME
    (tmp_path / "log.txt").write_text(sanitizer(path, at, "abcdef01"))
    assert main(command) == 0
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize(
    ("wanted", "refusal"),
    [
        (ModuleKey(debug_id="OWN", code_id="abcdef02"), "its build id is abcdef01"),
        (ModuleKey(debug_id="1" * 32 + "0", code_id="abcdef01"), ""),
        (ModuleKey(go_id="a/b", code_id="abcdef01"), ""),
    ],
)
def test_all_ids_must_fit(
    wanted: ModuleKey, refusal: str, compiler: str, tmp_path: Path
) -> None:
    path = tmp_path / "a.so"
    library(compiler, path, "f", "-Wl,--build-id=0xabcdef01")
    own = gsym.identify(path).debug_id
    wanted = wanted._replace(debug_id=wanted.debug_id.replace("OWN", own))
    assert match_file(str(path), wanted).refusal.startswith(refusal)
    assert bool(match_file(str(path), wanted).refusal) is bool(refusal)


def universal(path: Path) -> None:
    """A fat file with a function in each slice."""
    slices = []
    for cpu, uuid, name in (X86_64, UUIDS[0], "old"), (ARM64, UUIDS[1], "new"):
        symbols = (Symbol(f"_{name}", 0x1000, 1),)
        binary = Macho([code()], symbols, uuid=uuid, cpu=cpu)
        slices.append((cpu, binary.to_bytes()))
    path.write_bytes(fat(*slices))


@pytest.mark.parametrize("place", ["beside", "path", "folder"])
def test_the_uuid_of_a_report_chooses_the_slice(place: str, tmp_path: Path) -> None:
    folder = tmp_path / "files"
    folder.mkdir()
    universal(folder / "app")
    path = folder / "app" if place == "path" else "app"
    crash = (folder if place == "beside" else tmp_path) / "a.crash"
    for uuid, name in zip(UUIDS, ("old", "new"), strict=True):
        crash.write_text(
            "Thread 0 Crashed:\n0   app  0x0000000104001004 0x104000000 + 4100\n\n"
            "Binary Images:\n"
            f"0x104000000 - 0x104003fff +app (0) <{uuid.hex()}> {path}\n"
        )
        source = folder if place == "folder" else ()
        report = gsym.symbolicate(Path(crash), source=source)
        assert answers(report) == [([name], "")], report.modules[0].attempts


def test_the_ids_of_a_library_of_firefox_choose_the_slice(tmp_path: Path) -> None:
    universal(tmp_path / "app")
    module = module_of_ids(str(tmp_path / "app"), "app", f"{UUIDS[1].hex()}0", "")
    match = match_file(module.path, module.key)
    assert (match.refusal, match.unsure, match.architecture) == ("", "", "arm64")


def test_the_binary_tells_where_its_first_section_is(tmp_path: Path) -> None:
    compiler, path = find_peer("x86_64-w64-mingw32-gcc"), tmp_path / "a.exe"
    source = tmp_path / "a.c"
    source.write_text(
        "int leaf(void) { return 1; }\nint root(void) { return leaf(); }\n"
    )
    options = ["-g", "-nostdlib", "-e", "root", "-o", str(path)]
    subprocess.run([compiler, *options, str(source)], check=True)
    with gsym.open(path) as reader:
        places = [reader.find(each)[0].start + 4 for each in ("leaf", "root")]
        text = reader.header.base_address + 0x1000
    lines = [f"{each:016X}  0001:{each - text:08X} C:\\b c\\a.exe\n" for each in places]
    report = gsym.symbolicate("".join(lines), source=tmp_path)
    assert [each.calls[0].name for each in report.frames()] == ["leaf", "root"]


def test_stackwalk_uses_the_debug_id_and_the_code_id(tmp_path: Path) -> None:
    compiler = find_peer("x86_64-w64-mingw32-gcc")
    paths = {}
    for name in "alpha", "bravo":
        source = tmp_path / "a.c"
        source.write_text(f"__declspec(dllexport) int {name}(void) {{ return 1; }}\n")
        path = paths[name] = tmp_path / name / "a.dll"
        path.parent.mkdir()
        options = ["-g", "-shared", "-nostdlib", "-e", "0", "-o", str(path)]
        subprocess.run([compiler, *options, str(source)], check=True)
        data = bytearray(path.read_bytes())
        stamp = data.index(b"PE\0\0") + 8
        data[stamp : stamp + 4] = name[:4].encode()
        path.write_bytes(data)
    code_ids = {name: gsym.identify(path).code_id for name, path in paths.items()}
    for name, path in paths.items():
        with gsym.open(path) as reader:
            offset = reader.find(name)[0].start - reader.header.base_address
        module = {"filename": "a.dll", "debug_file": "", "debug_id": "0" * 33}
        module["code_id"] = code_ids[name]
        frame = {"module": "a.dll", "module_offset": hex(offset)}
        document = {"modules": [module], "threads": [{"frames": [frame]}]}
        for source, expected in ((path.parent, [name]), (tmp_path, [name])):
            report = gsym.symbolicate(json.dumps(document), source=source)
            assert answers(report) == [(expected, "")]
        other = paths["bravo" if name == "alpha" else "alpha"].parent
        report = gsym.symbolicate(json.dumps(document), source=other)
        assert answers(report) == [([], "")]
        assert f", not {code_ids[name].lower()}" in report.modules[0].reason


@pytest.mark.parametrize("zeros", ["0" * 32, "0" * 33, "0" * 40, ""])
def test_an_id_of_zeros_is_none(zeros: str, tmp_path: Path) -> None:
    modules = (
        module_of_build_id("/opt/app", zeros),
        module_of_uuid("/opt/app", zeros),
        module_of_debug_id("app", zeros),
        module_of_ids("/opt/app", "app", zeros, zeros),
        module_of_ids("/opt/app", "app", "", f"{'0' * 8}2000"),
    )
    for module in modules:
        assert not module.has_id
        assert not module.problem
    path = tmp_path / "app.gsym"
    path.write_bytes(gsym_file(bytes(20)))
    match = match_file(str(path), ModuleKey(code_id="0" * 40))
    assert (match.refusal, match.unsure) == ("", BY_NAME)


def test_an_id_of_zeros_in_a_report_finds_a_module_by_name_alone(
    compiler: str, tmp_path: Path
) -> None:
    zeros = "0" * 40
    other, path = tmp_path / "b/other.so", tmp_path / "b/a.so"
    library(compiler, other, "wrong", f"-Wl,--build-id=0x{zeros}")
    at = library(compiler, path, "f", "-Wl,--build-id=0x2222222222")
    text = sanitizer("/nowhere/a.so", at, zeros)
    assert answers(gsym.symbolicate(text, source=path.parent)) == [(["f"], BY_NAME)]


def test_lldb_prints_build_ids_of_any_size(compiler: str, tmp_path: Path) -> None:
    path = tmp_path / "a.so"
    at = library(compiler, path, "f", "-Wl,--build-id=0x" + "AB" * 20)
    for last, functions in ("AB", ["f"]), ("AA", []):
        digits = "AB" * 19 + last
        text = (
            f"[  0] {digits[:8]}-{digits[8:]} 0x0000000000400000 {path}\n"
            f"  * frame #0: {0x400000 + at:#018x} a.so`f\n"
        )
        assert answers(gsym.symbolicate(text)) == [(functions, "")]


def test_binaries_are_those_of_the_module(compiler: str, tmp_path: Path) -> None:
    """For code that a server disassembles."""
    right, wrong = tmp_path / "right/a.so", tmp_path / "wrong/a.so"
    library(compiler, right, "f", "-Wl,--build-id=0x" + "ab" * 20)
    library(compiler, wrong, "f", "-Wl,--build-id=0x" + "ab" * 19 + "aa")
    debug_id = gsym.identify(right).debug_id
    assert gsym.identify(wrong).debug_id == debug_id
    key = ModuleKey("a.so", debug_id, code_id="AB" * 20)
    folders = [Folder(str(wrong.parent)), Folder(str(right.parent))]
    empty = Symbolizer(tmp_path / "store")
    found = open_binaries(key, None, empty, folders)
    assert [each.path for each in found] == [str(right)]
    (tmp_path / "zeros").mkdir()
    shutil.copy(wrong, tmp_path / "zeros/b.so")
    no_id = ModuleKey("b.so", "0" * 33)
    zeros_folder = Folder(str(tmp_path / "zeros"))
    assert list(open_binaries(no_id, None, empty, [zeros_folder])) == []


def test_a_gsym_file_of_another_build_is_refused_by_its_name(tmp_path: Path) -> None:
    (tmp_path / "a.so.gsym").write_bytes(gsym_file(b"\xab" * 20))
    for last, functions in ("ab", ["f"]), ("aa", []):
        text = sanitizer("/nowhere/a.so", 0x14, "ab" * 19 + last)
        report = gsym.symbolicate(text, source=tmp_path)
        assert answers(report) == [(functions, "")]


def test_a_binary_without_an_id_is_not_one_with_an_id(tmp_path: Path) -> None:
    (tmp_path / "a.so").write_bytes(Elf([code_section(0x1000, 0x10)]).to_bytes())
    match = match_file(str(tmp_path / "a.so"), ModuleKey(code_id="abcdef01"))
    assert match.refusal
    match = match_file(str(tmp_path / "a.so"), ModuleKey())
    assert (match.refusal, match.unsure) == ("", BY_NAME)
