"""Wrong arguments are refused: the message has name, value and what was expected.

Each call of the table takes the value of one parameter, and is right with another one.
"""

from __future__ import annotations

import inspect
import re
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import gsym
from gsym.conditions import Patterns
from gsym.markup import SymbolOptions
from gsym.modules.key import key_of_build_id
from gsym.store.directory import Store
from gsym.store.tree_adding import add_tree
from gsym.symbfile import convert_symbfiles, extract_upload, ready_upload
from gsym.verification.check import compare
from tests.creations import create

if TYPE_CHECKING:
    from collections.abc import Callable

ID = gsym.FileId(bytes(16))
FUNCTION = gsym.FunctionInfo(0x1000, 0x10, "main")
BREAKPAD = b"MODULE Linux x86_64 0 a\nFUNC 1000 10 0 f\n"
KEY = gsym.ModuleKey("a", "0" * 33)

# Each is called with the wrong value; the message names the parameter.
CALLS: dict[str, Callable[[Any], object]] = {
    "keep_functions": lambda value: gsym.convert("app", keep_functions=value),
    "drop_functions": lambda value: gsym.convert("app", drop_functions=value),
    "address_ranges": lambda value: gsym.convert("app", address_ranges=value),
    "debug_file_directories": lambda value: gsym.convert(
        "app", debug_file_directories=value
    ),
    "path_map": lambda value: gsym.convert("app", path_map=value),
    "object_prefix_map": lambda value: gsym.convert("app", object_prefix_map=value),
    "arch": lambda value: gsym.convert_slices("app", arch=value),
    "members": lambda value: gsym.convert_members("app", members=value),
    "inputs": lambda value: gsym.merge_files(value, "out"),
    "inputs of many": lambda value: gsym.convert_many(value, "out"),
    "sources": lambda value: convert_symbfiles(value, "out"),
    "sources of a resolver": lambda value: gsym.Resolver(Store("store"), value),
    "code_ids": lambda value: gsym.add_file("store", "app", code_ids=value),
    "kinds": lambda value: extract_upload("app", ID, "out", kinds=value),
    "paths": lambda value: ready_upload(value, ID, "out"),
    "paths of a tree": lambda value: list(add_tree(Store("store"), value)),
    "path_map of a comparison": lambda value: compare("a", "b", path_map=value),
    "patterns": Patterns,
}

# What is no path, no text, no number; each also with what is not a value at all.
NO_PATHS = (7, b"app", ["app"], object())
NO_TEXTS = (7, b"app", object())
NO_NUMBERS = ("2", 1.5, b"2", [2])
NOTHING = None


def _reader() -> gsym.Reader:
    return gsym.Reader(create([FUNCTION]))


def _symbolize(given: dict[str, Any]) -> object:
    with gsym.Symbolizer("store") as symbolizer:
        return symbolizer.symbolize(**{"key": KEY, "offset": 0, **given})


def _add(given: dict[str, Any]) -> None:
    gsym.Creator().add(FUNCTION._replace(**given))


def _row(row: tuple[Any, Any, Any]) -> None:
    _add({"line_table": (gsym.LineEntry(*row),)})


# Function and parameter -> a call with the value of the parameter, wrong values.
TABLE: dict[str, tuple[Callable[[Any], object], tuple[Any, ...]]] = {
    "open path": (gsym.open, (*NO_PATHS, NOTHING)),
    "open uuid": (lambda value: gsym.open("a.gsym", value), (7, "xyz", 1.5)),
    "open index_limit": (
        lambda value: gsym.open("a.gsym", index_limit=value),
        (*NO_NUMBERS, -1),
    ),
    "lookup path": (lambda value: gsym.lookup(value, 1), (*NO_PATHS, NOTHING)),
    "lookup address": (
        lambda value: gsym.lookup("a.gsym", value),
        (*NO_NUMBERS, NOTHING),
    ),
    "lookup uuid": (lambda value: gsym.lookup("a.gsym", 1, value), (7, "xyz")),
    "Reader data": (gsym.Reader, ("a.gsym", Path("a.gsym"), 7, NOTHING)),
    "Reader uuid": (lambda value: gsym.Reader(create([FUNCTION]), uuid=value), (7,)),
    "Reader.lookup address": (
        lambda value: _reader().lookup(value),
        (*NO_NUMBERS, NOTHING),
    ),
    "Reader.lookup_many addresses": (
        lambda value: _reader().lookup_many(value),
        (7, "main", NOTHING),
    ),
    "Reader.lookup_many addresses[1]": (
        lambda value: _reader().lookup_many([1, value]),
        NO_NUMBERS,
    ),
    "Reader.lookup_many threads": (
        lambda value: _reader().lookup_many([1], threads=value),
        (*NO_NUMBERS, NOTHING, 0, -1),
    ),
    "Reader.find name": (lambda value: _reader().find(value), (*NO_TEXTS, NOTHING)),
    "Reader.function_at address": (
        lambda value: _reader().function_at(value),
        (*NO_NUMBERS, NOTHING),
    ),
    "convert input": (gsym.convert, (7, ["app"], NOTHING)),
    "convert output": (lambda value: gsym.convert("app", value), NO_PATHS),
    "convert name": (
        lambda value: gsym.convert(BREAKPAD, "out", name=value),
        NO_PATHS,
    ),
    "convert_many output_dir": (
        lambda value: gsym.convert_many(["app"], value),
        (*NO_PATHS, NOTHING),
    ),
    "convert_many threads": (
        lambda value: gsym.convert_many(["app"], "out", threads=value),
        (*NO_NUMBERS, 0),
    ),
    "merge_files output": (
        lambda value: gsym.merge_files(["a.gsym"], value),
        (*NO_PATHS, NOTHING),
    ),
    "merge_files output_version": (
        lambda value: gsym.merge_files(["a.gsym"], "b", output_version=value),
        (3, "x"),
    ),
    "merge_files byteorder": (
        lambda value: gsym.merge_files(["a.gsym"], "b", byteorder=value),
        ("middle", 7),
    ),
    "merge_files segment_size": (
        lambda value: gsym.merge_files(["a.gsym"], "b", segment_size=value),
        (*NO_NUMBERS, 0),
    ),
    "identify path": (gsym.identify, (*NO_PATHS, NOTHING)),
    "identify uuid": (lambda value: gsym.identify("app", uuid=value), (7, "xyz")),
    "embed gsym_path": (lambda value: gsym.embed(value, "app"), (*NO_PATHS, NOTHING)),
    "embed binary": (lambda value: gsym.embed("a.gsym", value), (*NO_PATHS, NOTHING)),
    "embed output": (lambda value: gsym.embed("a.gsym", "app", value), NO_PATHS),
    "extract binary": (gsym.extract, (*NO_PATHS, NOTHING)),
    "extract output": (lambda value: gsym.extract("app", value), NO_PATHS),
    "export_breakpad source": (
        lambda value: gsym.export_breakpad(value, "out"),
        (*NO_PATHS, NOTHING),
    ),
    "export_breakpad output": (
        lambda value: gsym.export_breakpad("a.gsym", value),
        (*NO_PATHS, NOTHING),
    ),
    "export_breakpad identity": (
        lambda value: gsym.export_breakpad("a.gsym", "out", identity=value),
        ("app", 7),
    ),
    "demangle name": (gsym.demangle, (*NO_TEXTS, NOTHING)),
    "key_of_build_id build_id": (gsym.key_of_build_id, ("a65a", 7, NOTHING)),
    "key_of_debug_id debug_file": (
        lambda value: gsym.key_of_debug_id(value, "0" * 33),
        NO_TEXTS,
    ),
    "key_of_debug_id debug_id": (
        lambda value: gsym.key_of_debug_id("app", value),
        NO_TEXTS,
    ),
    "FileId value": (gsym.FileId, ("a" * 32, 7, NOTHING)),
    "symbolicate report": (gsym.symbolicate, (7, ["a"], NOTHING)),
    "symbolicate source": (
        lambda value: gsym.symbolicate("", source=value),
        (7, b"app", [7], [b"app"], "no-such-folder"),
    ),
    "symbolicate maps": (
        lambda value: gsym.symbolicate("", maps=value),
        (7, b"maps", "maps.txt", "no mapping", Path("app")),
    ),
    "symbolicate load_addresses": (
        lambda value: gsym.symbolicate("", load_addresses=value),
        (7, "app", [("app", 1)], {7: 1}),
    ),
    "symbolicate load_addresses['app']": (
        lambda value: gsym.symbolicate("", load_addresses={"app": value}),
        (*NO_NUMBERS, -1),
    ),
    "symbolicate module": (lambda value: gsym.symbolicate("", module=value), NO_PATHS),
    "symbolicate context": (
        lambda value: gsym.symbolicate("", context=value),
        (*NO_NUMBERS, NOTHING),
    ),
    "symbolicate path_map": (
        lambda value: gsym.symbolicate("", path_map=value),
        (7, "ab", [7], {"a": 7}),
    ),
    "symbolicate store": (lambda value: gsym.symbolicate("", store=value), NO_PATHS),
    "Process pid": (gsym.Process, (*NO_NUMBERS, NOTHING, 0, -1)),
    "Process source": (lambda value: gsym.Process(1, source=value), (7, b"app")),
    "Process store": (lambda value: gsym.Process(1, store=value), NO_PATHS),
    "Kernel base": (lambda value: gsym.Kernel(base=value), (*NO_NUMBERS, -1)),
    "Kernel root": (lambda value: gsym.Kernel(root=value), (*NO_PATHS, NOTHING)),
    "Kernel source": (lambda value: gsym.Kernel(source=value), (7, b"app")),
    "Store path": (gsym.Store, (*NO_PATHS, NOTHING)),
    "BucketStore url": (gsym.BucketStore, (*NO_TEXTS, NOTHING)),
    "add_file store": (lambda value: gsym.add_file(value, "app"), (*NO_PATHS, NOTHING)),
    "add_file path": (lambda value: gsym.add_file("store", value), NO_PATHS),
    "add_file key": (lambda value: gsym.add_file("store", "app", key=value), ("a", 7)),
    "add_file identity": (
        lambda value: gsym.add_file("store", "app", identity=value),
        ("a", 7),
    ),
    "open_source text": (gsym.open_source, (*NO_PATHS, NOTHING)),
    "Resolver store": (gsym.Resolver, (*NO_PATHS, NOTHING)),
    "Symbolizer source": (gsym.Symbolizer, (*NO_PATHS, NOTHING)),
    "Symbolizer.symbolize key": (
        lambda value: _symbolize({"key": value}),
        ("a", 7, NOTHING),
    ),
    "Symbolizer.symbolize offset": (
        lambda value: _symbolize({"offset": value}),
        NO_NUMBERS,
    ),
    "Symbolizer.symbolize va": (
        lambda value: _symbolize({"offset": None, "va": value}),
        NO_NUMBERS,
    ),
    "MarkupFilter symbolizer": (gsym.MarkupFilter, (*NO_PATHS, NOTHING)),
    "MarkupFilter style": (
        lambda value: gsym.MarkupFilter("store", style=value),
        ("gnu",),
    ),
    "SymbolicationClient server": (gsym.SymbolicationClient, (*NO_TEXTS, NOTHING)),
    "SymbolicationClient settings": (
        lambda value: gsym.SymbolicationClient("http://localhost", value),
        (7, "a"),
    ),
    "AsyncSymbolicationClient server": (
        gsym.AsyncSymbolicationClient,
        (*NO_TEXTS, NOTHING),
    ),
    "AsyncSymbolicationClient settings": (
        lambda value: gsym.AsyncSymbolicationClient("http://localhost", value),
        (7, "a"),
    ),
    "RemoteSymbolizer client": (gsym.RemoteSymbolizer, ("http://a", 7, NOTHING)),
    "ReportModules source": (gsym.ReportModules, (7, b"app", [7])),
    "LogStacks open_modules": (
        lambda value: gsym.LogStacks(value, SymbolOptions()),
        ("app", 7, NOTHING),
    ),
    "SymbfileClient url": (gsym.SymbfileClient, (*NO_TEXTS, NOTHING)),
    "Tracer path": (gsym.Tracer, (*NO_PATHS, NOTHING)),
    "Tracer name": (lambda value: gsym.Tracer("out.fxt", name=value), NO_TEXTS),
    "convert_symbfiles output": (
        lambda value: convert_symbfiles(["a.gsym"], value),
        (*NO_PATHS, NOTHING),
    ),
    "Creator version": (gsym.Creator, (*NO_NUMBERS, NOTHING, 0, 3)),
    "Creator byteorder": (lambda value: gsym.Creator(1, value), ("middle", 7)),
    "Creator base_address": (
        lambda value: gsym.Creator(base_address=value),
        (*NO_NUMBERS, -1, 1 << 64),
    ),
    "Creator uuid": (lambda value: gsym.Creator(uuid=value), (7, "xyz", NOTHING)),
    "Creator.add info": (gsym.Creator().add, ("main", 7, NOTHING, (1, 2, "f"))),
    "Creator.add info.start": (
        lambda value: _add({"start": value}),
        (*NO_NUMBERS, NOTHING, -1, 1 << 64),
    ),
    "Creator.add info.size": (lambda value: _add({"size": value}), (*NO_NUMBERS, -1)),
    "Creator.add info.name": (
        lambda value: _add({"name": value}),
        (*NO_TEXTS, NOTHING, ""),
    ),
    "Creator.add info.merged[0].name": (
        lambda value: _add({"merged": (FUNCTION._replace(name=value),)}),
        ("",),
    ),
    "Creator.add info.line_table": (
        lambda value: _add({"line_table": value}),
        (7, "a"),
    ),
    "Creator.add info.line_table[0]": (
        lambda value: _add({"line_table": [value]}),
        (7,),
    ),
    "Creator.add info.line_table[0].address": (
        lambda value: _row((value, "a.c", 1)),
        (*NO_NUMBERS, NOTHING, -1),
    ),
    "Creator.add info.line_table[0].path": (
        lambda value: _row((0x1000, value, 1)),
        (7, b"a.c", NOTHING),
    ),
    "Creator.add info.line_table[0].line": (
        lambda value: _row((0x1000, "a.c", value)),
        (*NO_NUMBERS, NOTHING, -1, 1 << 32),
    ),
    "Creator.add info.extra[28673]": (
        lambda value: _add({"extra": {0x7001: value}}),
        ("a", 7, NOTHING),
    ),
    "Creator.add_reader reader": (gsym.Creator().add_reader, ("a.gsym", 7, NOTHING)),
    "Creator.save path": (gsym.Creator().save, (*NO_PATHS, NOTHING)),
}
# The other keywords of a conversion, which one table declares.
CONVERSIONS: dict[str, tuple[Any, ...]] = {
    **dict.fromkeys(("threads", "segment_size"), (*NO_NUMBERS, 0, -1)),
    **dict.fromkeys(("output_version",), (0, 3, "x", 1.5)),
    **dict.fromkeys(("byteorder", "pclntab"), ("middle", 7)),
    **dict.fromkeys(("arch", "member"), NO_TEXTS),
    **dict.fromkeys(("call_sites_yaml", "dwp", "symbol_table"), NO_PATHS),
    **dict.fromkeys(("symbol_stubs",), NO_PATHS),
    **dict.fromkeys(("uuid",), (7, "xyz")),
    **dict.fromkeys(("debuginfod", "index", "force", "verbose"), ("no", "", [])),
    **dict.fromkeys(("keep_functions", "drop_functions"), ([7], ["("])),
    **dict.fromkeys(("address_ranges",), ([7], [(1,)], [("a", "b")])),
    **dict.fromkeys(("symbol_servers",), ("http://a", [7])),
    **dict.fromkeys(("path_map",), ([7], [("a",)], ["ab"], {"a": 7})),
}


def _convert_with(name: str) -> Callable[[Any], object]:
    return lambda value: gsym.convert("app", **{name: value})


TABLE |= {
    f"convert {name}": (_convert_with(name), tuple(values))
    for name, values in CONVERSIONS.items()
}


@pytest.fixture(autouse=True)
def app(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("app").write_bytes(BREAKPAD)
    Path("a.gsym").write_bytes(create([FUNCTION]))


@pytest.mark.parametrize("call", TABLE)
def test_a_message_has_name_value_and_what_was_expected(call: str) -> None:
    function, values = TABLE[call]
    name = call.split(" ", 1)[1]
    for value in values:
        with pytest.raises((TypeError, ValueError)) as refused:
            function(value)
        text = str(refused.value)
        items = value if isinstance(value, (list, dict)) else ()
        known = {str(value), repr(value), *map(repr, items)}
        assert name.partition("[")[0].partition(".")[0] in text, text
        assert any(each[:70] in text for each in known), f"{text} of {value!r}"
        assert re.search("expected|sources are|not a debug id", text), text


def test_the_table_has_all_public_functions() -> None:
    """Records and errors are made as they are; what has a table is called with it."""
    told = {call.split()[0].partition(".")[0] for call in (*TABLE,)}
    told |= {"convert_slices", "convert_members"}  # arguments of `convert`
    made = set()
    for name in gsym.__all__:
        value = getattr(gsym, name)
        if isinstance(value, type) and issubclass(value, (tuple, Exception)):
            made.add(name)
        with suppress(TypeError, ValueError):
            if not inspect.signature(value).parameters:
                made.add(name)
    assert {*gsym.__all__} - told - made == {"Frames"}, "made by readers alone"


def test_a_single_value_is_no_sequence() -> None:
    for parameter, call in CALLS.items():
        name = parameter.partition(" ")[0]
        reason = f"^{name}: expected a sequence of .*, not"
        for value in ("main", b"main", 7):
            with pytest.raises(TypeError, match=reason):
                call(value)


@pytest.mark.parametrize("parameter", ["path_map", "object_prefix_map"])
def test_a_single_pair_is_refused(parameter: str) -> None:
    for pair in (("/a", "/b"), ("ab", "cd")):
        with pytest.raises(TypeError, match=f"{parameter}: .* pairs of strings"):
            CALLS[parameter](pair)


def test_an_inlined_call_has_a_range() -> None:
    root = gsym.InlineInfo("main", "", 0, (gsym.Range(0x1000, 0x1010),))
    call = gsym.InlineInfo("square", "a.c", 1, ())
    with pytest.raises(ValueError, match="an inlined call has no range"):
        _add({"inline": root._replace(children=(call,))})


def test_a_build_id_is_bytes() -> None:
    with pytest.raises(TypeError, match="build_id: expected bytes, not 'a65a'"):
        key_of_build_id("a65a")  # type: ignore[arg-type]
