"""WebAssembly modules: names, DWARF, debug files, and offsets that engines print."""

from __future__ import annotations

import re
import shutil
import subprocess
from typing import TYPE_CHECKING

import pytest

import gsym
from gsym.containers.object_file import ObjectFile
from tests.conversions import convert_bytes, describe, settle
from tests.inputs.dies import Die, Ref
from tests.inputs.dwarf import Dwarf
from tests.inputs.dwarf_constants import At, Tag
from tests.inputs.encoding import uleb
from tests.inputs.line_program import LineProgram, sequence
from tests.inputs.program import function, inlined, unit
from tests.inputs.wasm import (
    FUNCTION,
    GLOBAL,
    MEMORY,
    TABLE,
    TAG,
    Wasm,
    custom,
    name,
    section,
)

if TYPE_CHECKING:
    from pathlib import Path

# Of the two functions; before the first one are their number and its size.
SIZES = (0x10, 0x16)
NAMES_IN_WORDS = "2-12 first\n13-29 second\n"


def dwarf() -> dict[str, bytes]:
    lines = LineProgram(
        [*sequence((0x2, 10), (0x8, 30), end=0x12), *sequence((0x13, 20), end=0x29)]
    )
    main = unit(
        Die(Tag.subprogram, {At.name: "g"}, label="g"),
        function("f", 0x2, 0x12, inlined(Ref("g"), (0x8, 0x10), call=(1, 11))),
        function("dropped", 0, 0x10),
        lines=lines,
        version=4,
    )
    return Dwarf([main], address_size=4).sections()


def words(folder: Path, wasm: Wasm) -> str:
    return describe(convert_bytes(folder, wasm.to_bytes()).functions)


@pytest.mark.parametrize(
    "imports", [(), (FUNCTION,), (TABLE, MEMORY, FUNCTION, GLOBAL, TAG, FUNCTION)]
)
def test_names_count_the_imported_functions(
    imports: tuple[int, ...], tmp_path: Path
) -> None:
    first = imports.count(FUNCTION)
    names = {0: "imported"} if first else {}
    names |= {first: "first", first + 1: "second", first + 2: "none"}
    assert words(tmp_path, Wasm(SIZES, imports, names)) == NAMES_IN_WORDS


def test_exports_name_functions_without_a_name(tmp_path: Path) -> None:
    exports = {"first": 0, "other": 0, "second": 1}
    assert words(tmp_path, Wasm(SIZES, exports=exports)) == NAMES_IN_WORDS
    named = Wasm(SIZES, names={1: "second"}, exports={"first": 0, "exported": 1})
    assert words(tmp_path, named) == NAMES_IN_WORDS


def test_dwarf_counts_from_the_code_section(tmp_path: Path) -> None:
    module = Wasm(SIZES, names={1: "second"}, custom=dwarf())
    report, functions = convert_bytes(tmp_path, module.to_bytes())
    assert describe(functions) == (
        "2-12 f\n"
        "  2 /src/a.c:10\n"
        "  8 /src/a.c:30\n"
        "  inlined g 8-10 from /src/a.c:11\n"
        "13-29 second\n"
        "  13 /src/a.c:20\n"
    )
    assert report.architecture == "wasm32"


@pytest.mark.parametrize("url", ["debug.wasm", "https://example.org/x/debug.wasm?v=1"])
def test_the_debug_file_is_beside_the_module(url: str, tmp_path: Path) -> None:
    debug = Wasm(SIZES, custom=dwarf())
    (tmp_path / "debug.wasm").write_bytes(debug.to_bytes())
    path = tmp_path / "app.wasm"
    link = {"external_debug_info": name(url)}
    path.write_bytes(Wasm(SIZES, (FUNCTION,), custom=link).to_bytes())
    report = gsym.convert(str(path), str(tmp_path / "app.gsym"))
    assert report.companions == (str(tmp_path / "debug.wasm"),)
    assert report.functions_with_lines == 1


def test_lookups_see_a_debug_file_that_appears_and_changes(tmp_path: Path) -> None:
    debug, path = tmp_path / "debug.wasm", tmp_path / "app.wasm"
    link = {"external_debug_info": name("debug.wasm")}
    path.write_bytes(Wasm(SIZES, names={0: "first"}, custom=link).to_bytes())

    def lines() -> bool:
        with gsym.open(str(path)) as reader:
            return any(function.line_table for function in reader)

    assert not lines()
    debug.write_bytes(Wasm(SIZES, custom=dwarf()).to_bytes())
    assert lines()
    debug.write_bytes(Wasm(SIZES).to_bytes())
    assert not lines()


def test_a_debug_file_of_another_build_is_refused(tmp_path: Path) -> None:
    def of(build: bytes, **sections: bytes) -> bytes:
        ids = {"build_id": uleb(len(build)) + build}
        return Wasm(SIZES, names={0: "first"}, custom=ids | sections).to_bytes()

    (tmp_path / "debug.wasm").write_bytes(of(b"2" * 16, **dwarf()))
    path = tmp_path / "app.wasm"
    path.write_bytes(of(b"1" * 16, external_debug_info=name("debug.wasm")))
    report = gsym.convert(str(path), str(tmp_path / "app.gsym"))
    assert report.build_id == b"1" * 16
    assert report.companions == ()
    assert "debug.wasm" in report.notes[0]


@pytest.mark.parametrize(
    ("head", "reason"),
    [
        (b"\0asm\x0d\0\1\0", "WebAssembly component: take its core modules out"),
        (b"\0asm\2\0\0\0", "version 2 of WebAssembly"),
    ],
)
def test_other_versions_are_refused(head: bytes, reason: str) -> None:
    with pytest.raises(gsym.UnsupportedError, match=reason):
        ObjectFile(memoryview(head), "app.wasm")


STACK = """\
RuntimeError: unreachable
    at app.wasm.f (wasm://wasm/app.wasm-0133c842:wasm-function[0]:{inner:#x})
    at https://example.org/app.wasm:wasm-function[1]:{outer:#x}
  error while executing at wasm backtrace:
           0:   {inner:#x} - app.wasm!f
"""


def test_stacks_have_offsets_in_the_file(tmp_path: Path) -> None:
    module = Wasm(SIZES, names={1: "second"}, custom=dwarf())
    (tmp_path / "app.wasm").write_bytes(module.to_bytes())
    at = module.code_offset
    report = gsym.symbolicate(
        STACK.format(inner=at + 0x9, outer=at + 0x14),
        source=str(tmp_path),
        store=str(tmp_path / "store"),
    )
    shown = [
        [(call.name, call.line) for call in each.calls] for each in report.frames()
    ]
    inner = [("g", 30), ("f", 11)]
    assert shown == [inner, [("second", 20)], inner]
    assert "    at app.wasm.f (g + 1 at" in str(report)


@pytest.mark.skipif(shutil.which("node") is None, reason="node is not installed")
@pytest.mark.parametrize("body", ["00 00 0b", "01 01 7f 00 0b"])
def test_node_prints_such_a_stack(body: str, tmp_path: Path) -> None:
    code = bytes.fromhex(body)
    size = bytes([len(code)])
    content = (
        b"\0asm\1\0\0\0\1\4\1\x60\0\0\3\2\1\0\7\5\1\1f\0\0"
        + bytes([10, len(code) + 2, 1])
        + size
        + code
    )
    (tmp_path / "app.wasm").write_bytes(content)
    script = (
        "const m = new WebAssembly.Module(require('fs').readFileSync('app.wasm'));"
        "try { new WebAssembly.Instance(m).exports.f() }"
        "catch (e) { console.log(e.stack) }"
    )
    ran = subprocess.run(
        ["node", "-e", script], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    found_offset = re.search(r"wasm-function\[0\]:0x([0-9a-f]+)", ran.stdout)
    assert found_offset is not None
    offset = int(found_offset[1], 16)
    assert content[offset] == 0  # unreachable
    with gsym.open(str(tmp_path / "app.wasm")) as reader:
        found = reader.lookup(offset - content.index(size + code) + 1)
    assert found is not None
    assert found.function.name == "f"


@pytest.mark.skipif(shutil.which("node") is None, reason="node is not installed")
def test_a_stack_of_node_has_lines(tmp_path: Path) -> None:
    code = bytes.fromhex("01 01 7f 01 00 0b")  # a local; nop, unreachable, end
    start, end = 2, 2 + len(code)  # behind the number of functions and the size
    lines = LineProgram([*sequence((start, 10), (start + 4, 12), end=end)])
    main = unit(
        Die(Tag.subprogram, {At.name: "g"}, label="g"),
        function("f", start, end, inlined(Ref("g"), (start + 4, end), call=(1, 11))),
        lines=lines,
        version=4,
    )
    names = section(0, name("app.wasm")) + section(1, b"\1\0" + name("f"))
    debug = Dwarf([main], address_size=4).sections()
    content = (
        b"\0asm\1\0\0\0\1\4\1\x60\0\0\3\2\1\0\7\5\1\1f\0\0"
        + section(10, b"\1" + bytes([len(code)]) + code)
        + custom("name", names)
        + b"".join(custom(title, each) for title, each in debug.items())
    )
    (tmp_path / "app.wasm").write_bytes(content)
    script = (
        "const m = new WebAssembly.Module(require('fs').readFileSync('app.wasm'));"
        "try { new WebAssembly.Instance(m).exports.f() }"
        "catch (e) { console.log(e.stack) }"
    )
    ran = subprocess.run(
        ["node", "-e", script], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    report = gsym.symbolicate(
        ran.stdout, source=str(tmp_path), store=str(tmp_path / "store")
    )
    (frame,) = report.frames()
    assert [(call.name, call.line) for call in frame.calls] == [("g", 12), ("f", 11)]


@pytest.mark.hostile
def test_each_changed_byte_ends_in_an_answer(tmp_path: Path) -> None:
    content = Wasm(
        SIZES,
        (TABLE, FUNCTION),
        {1: "first"},
        {"second": 2},
        {".debug_line": b"\0" * 8},
    ).to_bytes()
    for at in range(4, len(content)):
        settle(tmp_path, content[:at])
        for value in (0, 1, 0x80, 0xFF):
            changed = bytearray(content)
            changed[at] = value
            settle(tmp_path, bytes(changed))
