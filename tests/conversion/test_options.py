"""The options of a conversion: one declaration, and what is derived from it."""

from __future__ import annotations

import inspect
import re
from typing import TYPE_CHECKING, Any

import pytest

import gsym
from gsym.cli.grammar import Command
from gsym.cli.main import find_command
from gsym.cli.options import convert_keywords, convert_options
from gsym.conversion.options import DECLARED, ConvertOptions, engine_flags, read_options
from gsym.engine.native import lib
from tests.creations import create
from tests.inputs.pdb_examples import PDBS

if TYPE_CHECKING:
    from pathlib import Path

# The keywords of `gsym.convert` that are no options: files, and a callback.
OTHERS = {"input", "output", "name", "progress"}
# Options without a spelling on a command line: a check of ours, and a drop-in's.
OF_THE_API = {"full_walk", "image_code", "symbol_table", "symbol_stubs"}


def test_the_signature_of_convert_is_that_of_the_declarations() -> None:
    parameters = inspect.signature(gsym.convert).parameters
    signature = {
        name: each.default for name, each in parameters.items() if name not in OTHERS
    }
    assert signature == ConvertOptions()._asdict()
    assert list(signature) == list(DECLARED)


def test_every_option_is_explained_where_convert_is() -> None:
    text = inspect.getdoc(gsym.convert) or ""
    explained = set(re.findall(r"^    (\w+): ", text, re.MULTILINE))
    assert explained >= set(DECLARED)


def test_every_option_is_one_of_the_verb_or_of_the_api_alone() -> None:
    spelled = {option.name for option in find_command("convert").options}
    missing = {name for name, each in DECLARED.items() if each.option not in spelled}
    assert missing == OF_THE_API


def test_every_flag_of_the_engine_belongs_to_an_option() -> None:
    names = {name for name in dir(lib) if name.startswith("GSYM_CONVERT_")}
    assert {each.engine for each in DECLARED.values() if each.engine} == names
    chosen = ConvertOptions(call_sites=True, full_walk=True)
    flags = lib.GSYM_CONVERT_CALL_SITES | lib.GSYM_CONVERT_FULL_WALK
    assert engine_flags(chosen, lib) == flags


def test_a_command_line_gives_only_the_keywords_that_it_names() -> None:
    names = tuple(name for name in DECLARED if name not in OF_THE_API)
    command = Command("tool", (convert_options(*names),))
    assert convert_keywords(command.parse([]), *names) == {}
    line = "-j 2 --output-version 2 --segment-size 1KiB --uuid 0a0b --path-map a=b"
    line += " --address-range 1-0x10 --keep-functions ^f --dwp . --debuginfod"
    assert convert_keywords(command.parse(line.split()), *names) == {
        "threads": 2,
        "output_version": 2,
        "segment_size": 1024,
        "uuid": b"\x0a\x0b",
        "path_map": [("a", "b")],
        "address_ranges": [(1, 16)],
        "keep_functions": ["^f"],
        "dwp": ".",
        "debuginfod": True,
    }


@pytest.mark.parametrize(
    ("name", "value", "error"),
    [
        ("threads", 0, "threads: expected at least 1, not 0"),
        ("segment_size", 0, "segment_size: expected 1 to 0xf+, not 0"),
        ("byteorder", "middle", "byteorder: expected little or big, not 'middle'"),
        ("pclntab", "maybe", "pclntab: expected auto or only or never, not"),
    ],
)
def test_a_value_out_of_range_is_refused(name: str, value: object, error: str) -> None:
    with pytest.raises(ValueError, match=error):
        read_options({**ConvertOptions()._asdict(), name: value})


BREAKPAD = b"MODULE Linux x86_64 0 a\nFUNC 1000 10 0 f\n"
INPUTS = {
    "breakpad": BREAKPAD,
    "gsym": create([gsym.FunctionInfo(0x1000, 0x10, "f")]),
    "pdb": PDBS["functions"].to_bytes(),
}


@pytest.mark.parametrize(
    ("kind", "options", "reason"),
    [
        ("breakpad", {"data_symbols": True}, "it has no symbols of variables"),
        ("breakpad", {"no_symbols": True}, "it has no symbol table to leave out"),
        ("breakpad", {"pclntab": "only"}, "it has no pclntab, its binary has"),
        ("breakpad", {"member": "a.o"}, "not an archive: it has no members"),
        ("gsym", {"data_symbols": True}, "it has no symbols of variables"),
        ("gsym", {"arch": "x86_64"}, "a GSYM file does not contain its architecture"),
        ("pdb", {"arch": "arm64"}, "is for x86_64, not for arm64"),
    ],
)
def test_an_option_that_an_input_cannot_satisfy_is_refused(
    tmp_path: Path, kind: str, options: dict[str, Any], reason: str
) -> None:
    path, output = tmp_path / "input", tmp_path / "output"
    path.write_bytes(INPUTS[kind])
    with pytest.raises(gsym.GsymError, match=f"{path}: {reason}"):
        gsym.convert(path, output, **options)
    assert not output.exists()


def test_segments_have_no_variables(tmp_path: Path) -> None:
    path = tmp_path / "a.sym"
    path.write_bytes(BREAKPAD)
    with pytest.raises(ValueError, match="data_symbols: segments cannot have them"):
        gsym.convert(path, tmp_path / "o", data_symbols=True, segment_size=1 << 20)
