"""Fields of public records, JSON and columns have the words of the manual (Words)."""

from __future__ import annotations

import importlib
import json
import re
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import gsym
from gsym.arrow.answers import FRAME_FIELDS
from gsym.reading.frames import FrameRow
from tests.project.test_public import PUBLIC, ROOT

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = pytest.mark.no_engine

# Words that mean a path, a name or an address; others of these are of a format.
WORDS = {
    *("path", "call_path", "directory", "filename", "input", "output"),
    *("name", "demangled", "function"),
    *("address", "start", "end", "offset"),
}
NEAR = re.compile(
    r"(^|_)(path|file|filename|dir|directory|func|function|symbol|name|mangled"
    r"|demangled|linkage|addr|address|va|pc|start|begin|end)$"
)
# Words of formats, and of what is no path, name or address of code.
OF_RECORDS = {
    "gsym.Frames": {"function_index"},
    "gsym.Header": {"base_address"},
    "gsym.ModuleKey": {"debug_file", "code_file"},
    "gsym.ReportFrame": {"symbol"},
    "gsym.StackFrame": {"file"},
    "gsym.fxt.Mmap": {"start_address"},
    "gsym.profiles.Frame": {"system_name"},
    "gsym.profiles.Mapping": {"link_start"},
    "gsym.profiles.Thread": {"process_name", "thread_name"},
    "gsym.symbfile.Range": {"elf_va", "func", "file", "call_file"},
    "gsym.symbfile.ReturnPad": {"elf_va"},
    "gsym.symbfile.ReturnPadEntry": {"func", "file"},
}
OF_COMMANDS = {
    "filter": {"file", "linked_address"},
    "stats": {"size_and_name"},
    "symbfile": {"elf_va", "func", "file", "call_file", "end_address", "first_address"},
    "symbolicate": {"file"},
    "trace": {"duration_begin", "duration_end"},
}
FOREIGN = re.compile(r"gsym trace convert .*--to (firefox|speedscope|chrome)")


def records() -> Iterator[tuple[str, tuple[str, ...]]]:
    """The public records and their fields."""
    for module, names in {"gsym": gsym.__all__, **PUBLIC}.items():
        for name in names:
            fields = getattr(
                getattr(importlib.import_module(module), name), "_fields", ()
            )
            if fields:
                yield f"{module}.{name}", fields


def strange(words: set[str], known: set[str]) -> set[str]:
    """The words that mean what the table has other words for."""
    return {each for each in words if NEAR.search(each)} - WORDS - known


@pytest.mark.parametrize(("record", "fields"), [*records()])
def test_fields_of_records_have_the_words(record: str, fields: tuple[str, ...]) -> None:
    assert not strange({*fields}, OF_RECORDS.get(record, set()))


@pytest.mark.parametrize("record", OF_RECORDS)
def test_exceptions_are_fields(record: str) -> None:
    module, _, name = record.rpartition(".")
    kind = getattr(importlib.import_module(module), name)
    assert OF_RECORDS[record] <= {*dir(kind)}


def test_columns_have_the_words() -> None:
    rows = {*FrameRow._fields}
    assert not strange(rows | {*FRAME_FIELDS}, set())
    assert {*FRAME_FIELDS} < rows, "Arrow batches and columns of a reader agree"


def keys(value: object) -> Iterator[str]:
    """All keys in a value of JSON."""
    if isinstance(value, dict):
        yield from value
        value = list(value.values())
    for each in value if isinstance(value, list) else ():
        yield from keys(each)


def objects() -> dict[str, set[str]]:
    """The keys of JSON in the transcripts, by verb."""
    found: dict[str, set[str]] = {}
    for path in sorted(Path(ROOT, "tests/golden/transcripts").glob("*.txt")):
        for entry in path.read_text(errors="surrogateescape").split("\n$ "):
            command, _, output = entry.partition("\n")
            verb = re.match(r"\W*gsym (\w+)", command)
            if verb is None or FOREIGN.search(command):
                continue
            for line in output.splitlines():
                with suppress(ValueError):  # of another format
                    value = json.loads(line)
                    found.setdefault(verb[1], set()).update(keys(value))
    return found


OBJECTS = objects()


def test_the_transcripts_have_json() -> None:
    assert {"dump", "find", "lookup", *OF_COMMANDS} <= OBJECTS.keys()
    assert [verb for verb in OF_COMMANDS if OF_COMMANDS[verb] - OBJECTS[verb]] == []


@pytest.mark.parametrize("verb", OBJECTS)
def test_json_has_the_words(verb: str) -> None:
    assert not strange(OBJECTS[verb], OF_COMMANDS.get(verb, set()))


def test_json_has_both_names_of_a_function_always() -> None:
    entry = gsym.FunctionInfo(0x1000, 16, "main", (gsym.LineEntry(0x1000, "a.c", 3),))
    with gsym.Creator() as creator:
        creator.add(entry)
        data = creator.to_bytes()
    with gsym.Reader(data) as reader:
        found = reader.lookup(0x1000)
    assert found is not None
    made = found.to_dict()
    for each in (made["function"], *made["frames"]):
        assert each["name"] == each["demangled"] == "main"
