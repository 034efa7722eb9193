"""Readers: opening, closing, the columns, names, and what threads may do."""

from __future__ import annotations

import contextlib
import os
import pickle
import subprocess
import sys
import threading
import time
from array import array
from functools import partial
from typing import TYPE_CHECKING

import pytest

import gsym
from gsym.engine import mapped_image
from tests import oracle
from tests.creations import create
from tests.handmade import FUNCTIONS, START, UUID, file_bytes, file_of

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "a.gsym"
    path.write_bytes(file_bytes())
    return path


# ---- open -----------------------------------------------------------------------


@pytest.mark.parametrize("version", [1, 2])
def test_a_reader_has_the_fields_of_the_header(version: int) -> None:
    data = file_bytes(version=version)
    reader = gsym.Reader(data)
    assert reader.uuid == reader.header.uuid == UUID
    assert len(reader) == reader.header.num_addresses == len(FUNCTIONS)
    assert reader.size == len(data)
    header = reader.header
    assert (header.version, header.byteorder) == (version, "little")
    assert (header.base_address, header.addr_off_size) == (START, 1)
    assert header.num_files == 3  # entry 0 is no file
    table = data[header.strtab_offset :][: header.strtab_size]
    assert table.startswith(b"\0main\0")


def test_a_path_may_be_a_str_or_a_path(path: Path) -> None:
    for name in (path, str(path)):
        with gsym.open(name) as reader:
            assert reader.lookup(START) is not None
            assert reader.path == str(path)


@pytest.mark.parametrize(
    ("data", "kind", "reason"),
    [
        (b"", gsym.FormatError, "the file is empty"),
        (b"MYSG", gsym.FormatError, "data too small to be a GSYM file"),
        (b"\x7fELF" + bytes(60), gsym.FormatError, "invalid ELF class 0"),
        (b"MYSG\3\0" + bytes(60), gsym.UnsupportedError, "unsupported GSYM version 3"),
    ],
)
def test_other_files_are_refused_by_name(
    tmp_path: Path, data: bytes, kind: type[gsym.GsymError], reason: str
) -> None:
    path = tmp_path / "other"
    path.write_bytes(data)
    with pytest.raises(kind) as problem:
        gsym.open(path)
    assert problem.value.reason == reason
    assert problem.value.path == str(path)
    assert str(problem.value).startswith(f"{path}: offset 0x")


def test_a_missing_file_is_an_os_error(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        gsym.open(tmp_path / "missing")


def test_a_folder_may_be_a_bundle(tmp_path: Path) -> None:
    with pytest.raises(gsym.FormatError, match="a folder, and no dSYM bundle"):
        gsym.open(tmp_path)


def test_a_pipe_is_read(path: Path) -> None:
    outlet, inlet = os.pipe()
    os.write(inlet, path.read_bytes())
    os.close(inlet)
    with gsym.open(f"/proc/self/fd/{outlet}") as reader:
        os.close(outlet)
        assert list(reader.functions()) == list(FUNCTIONS)


@pytest.mark.parametrize("wait", [0, 0.05], ids=["at once", "in two parts"])
def test_a_pipe_of_no_known_kind_is_not_read_to_its_end(wait: float) -> None:
    outlet, inlet = os.pipe()
    written = 0

    def write() -> None:
        nonlocal written
        os.write(inlet, b"never")
        time.sleep(wait)
        with contextlib.suppress(BrokenPipeError):
            while written < 64 << 20:
                written += os.write(inlet, bytes(1 << 16))
        os.close(inlet)

    writer = threading.Thread(target=write)
    writer.start()
    with pytest.raises(gsym.FormatError) as problem:
        gsym.open(f"/proc/self/fd/{outlet}")
    os.close(outlet)
    writer.join()
    assert problem.value.offset == 0
    assert written < 1 << 20


def test_a_file_of_another_binary_is_refused(path: Path) -> None:
    gsym.open(path, uuid=UUID).close()
    with pytest.raises(gsym.UuidMismatchError, match="000102") as problem:
        gsym.open(path, uuid=b"\xab" * 20)
    assert problem.value.path == str(path)
    assert "abab" in problem.value.reason


def test_bytes_of_any_kind_can_be_read() -> None:
    data = file_bytes()
    for form in (data, bytearray(data), memoryview(data), array("B", data)):
        assert list(gsym.Reader(form).functions()) == list(FUNCTIONS)


def test_a_version_1_file_without_functions_has_no_answers() -> None:
    reader = gsym.Reader(oracle.encode_file(file_of()))
    assert len(reader) == 0
    assert reader.lookup(START) is None
    assert reader.find("main") == ()
    assert list(reader.functions()) == []


# ---- close ------------------------------------------------------------------------

USES: dict[str, Callable[[gsym.Reader], object]] = {
    "lookup": lambda reader: reader.lookup(START),
    "lookup_many": lambda reader: reader.lookup_many([START]),
    "find": lambda reader: reader.find("main"),
    "function": lambda reader: reader.function(0),
    "function_at": lambda reader: reader.function_at(START),
    "functions": lambda reader: reader.functions(),
    "size": lambda reader: reader.size,
    "with": lambda reader: reader.__enter__(),
}


@pytest.mark.parametrize("use", USES)
def test_use_after_close_is_refused(path: Path, use: str) -> None:
    reader = gsym.open(path)
    USES[use](reader)
    reader.close()
    reader.close()
    with pytest.raises(gsym.ClosedError, match="the reader is closed") as problem:
        USES[use](reader)
    assert problem.value.path == str(path)
    with pytest.raises(ValueError, match="closed"):  # as files have it
        USES[use](reader)


def test_with_closes_also_after_an_error(path: Path) -> None:
    reader = gsym.open(path)
    with pytest.raises(KeyError), reader:
        raise KeyError
    with pytest.raises(gsym.ClosedError):
        reader.lookup(START)


def test_the_header_stays_readable_after_close(path: Path) -> None:
    reader = gsym.open(path)
    assert repr(reader) == f"<gsym.Reader of {path}: 3 functions>"
    reader.close()
    assert (reader.uuid, len(reader)) == (UUID, 3)
    assert repr(reader) == f"<gsym.Reader of {path}: closed>"


def test_an_iterator_of_functions_ends_with_its_reader(path: Path) -> None:
    reader = gsym.open(path)
    functions = reader.functions()
    assert next(functions) == FUNCTIONS[0]
    reader.close()
    with pytest.raises(gsym.ClosedError):
        next(functions)


def test_columns_outlive_their_reader(path: Path) -> None:
    with gsym.open(path) as reader:
        frames = reader.lookup_many([START, START + 8])
    lines = frames.line
    assert frames.names == ["main", "one", "main"]
    del frames, reader
    assert lines.tolist() == [5, 30, 7]


def test_a_file_may_be_replaced_by_rename_under_a_reader(path: Path) -> None:
    other = path.with_suffix(".new")
    other.write_bytes(file_bytes([gsym.FunctionInfo(START, 16, "other")]))
    with gsym.open(path) as before:
        other.rename(path)
        with gsym.open(path) as after:
            assert list(before.functions()) == list(FUNCTIONS)
            assert [info.name for info in after.functions()] == ["other"]
        path.unlink()
        assert before.lookup(START + 9) is not None


# ---- answers ------------------------------------------------------------------------


@pytest.mark.parametrize("version", [1, 2])
def test_an_answer_names_function_and_frames(version: int) -> None:
    reader = gsym.Reader(file_bytes(version=version))
    assert reader.lookup(START + 9) == gsym.Lookup(
        START + 9,
        gsym.FunctionRange("main", START, 16),
        (
            gsym.Frame("one", "", "b.h", 30, 1, inlined=True),
            gsym.Frame("main", "/src", "a.c", 7, 9, inlined=False),
        ),
    )
    answer = reader.lookup(START + 4)
    assert answer is not None
    assert answer.call_site_patterns == ("callee",)
    assert type(answer.frames[0].inlined) is bool
    assert answer.frames[0].path == "/src/a.c"


@pytest.mark.parametrize("address", [-1, 2**64, 2**70])
def test_a_number_that_is_not_an_address_has_no_answer(address: int) -> None:
    endless = gsym.Reader(create([gsym.FunctionInfo(0, 0, "f")]))  # has all addresses
    assert endless.lookup(2**64 - 1) is not None
    assert endless.lookup(address) is None
    assert endless.lookup(address, merged=True) is None
    asked = [5, address, address, 6, address, 2**64 - 1]
    frames = endless.lookup_many(asked)
    assert frames.answered == 3
    assert frames.found.tolist() == [True, False, False, True, False, True]
    assert frames.offset.tolist() == [5, 0, 0, 6, 0, 2**64 - 1]
    found = endless.lookup_many(asked, misses=False)
    assert list(found) == [row for row in frames if row.found]
    assert found.address_index.tolist() == [0, 3, 5]
    assert endless.lookup_many([address]).answered == 0


@pytest.mark.parametrize("address", [(16,), 1.5, b"\x10"])
def test_an_address_is_an_integer(address: int) -> None:
    reader = gsym.Reader(file_bytes())
    with pytest.raises(TypeError, match="address: expected an integer, not "):
        reader.lookup(address)
    with pytest.raises(TypeError, match=r"addresses\[0\]: expected an integer, "):
        reader.lookup_many([address])
    with pytest.raises(TypeError, match="addresses: expected a sequence of integers"):
        reader.lookup_many(START)  # type: ignore[arg-type]


def test_names_that_are_not_utf_8_survive() -> None:
    name, directory = "caf\udce9", "/\udcff\udcfe"
    row = gsym.LineEntry(START, f"{directory}/a.c", 1)
    function = gsym.FunctionInfo(START, 16, name, (row,))
    reader = gsym.Reader(file_bytes([function]))
    answer = reader.lookup(START)
    assert answer is not None
    assert answer.frames[0][:2] == (name, directory)
    assert reader.function(0) == function
    assert reader.find(name) == (gsym.FunctionRange(name, START, 16),)


def test_full_caches_are_cleared(monkeypatch: pytest.MonkeyPatch) -> None:
    functions = [
        gsym.FunctionInfo(
            *(START + 16 * at, 16, f"f{at}"),
            (gsym.LineEntry(START + 16 * at, f"/src/{at}.c", at),),
        )
        for at in range(40)
    ]
    reader = gsym.Reader(file_bytes(functions))
    expected = [reader.lookup(function.start) for function in functions]
    monkeypatch.setattr(mapped_image, "_MAX_CACHED", 7)
    small = gsym.Reader(file_bytes(functions))
    for _ in range(2):
        assert [small.lookup(each.start) for each in functions] == expected
        assert list(small.functions()) == functions
    mapped = small.mapped
    assert mapped is not None
    assert 0 < len(mapped.strings) <= 7
    assert 0 < len(mapped.files) <= 7


# ---- functions and names -----------------------------------------------------------


@pytest.mark.parametrize("index", [-1, 3, 2**40])
def test_an_index_lies_inside_the_table(index: int) -> None:
    with pytest.raises(IndexError, match="out of range"):
        gsym.Reader(file_bytes()).function(index)


def test_functions_are_found_by_name_even_if_merged() -> None:
    reader = gsym.Reader(file_bytes())
    for _ in range(2):
        assert reader.find("main") == (
            gsym.FunctionRange("main", START, 16),
            gsym.FunctionRange("main", START, 16),
            gsym.FunctionRange("main", START + 0x40, 8),
        )
        assert reader.find("twin") == (gsym.FunctionRange("twin", START, 16),)
        assert reader.find("symbol") == (gsym.FunctionRange("symbol", START + 0x20, 0),)
        assert reader.find("mai") == reader.find("") == ()


NAMES = ("_ZN3app4mainEi", "_ZN3app4mainEv", "_ZN3app4exitEv", "main", "app::main")


@pytest.mark.parametrize(
    ("name", "found"),
    [
        ("main", ["main"]),
        ("_ZN3app4mainEv", ["_ZN3app4mainEv"]),
        ("app::main", ["app::main"]),  # a linkage name first
        ("app::main(int)", ["_ZN3app4mainEi"]),
        ("app::exit", ["_ZN3app4exitEv"]),
        ("app::e*", ["_ZN3app4exitEv"]),
        ("*main*", ["_ZN3app4mainEi", "_ZN3app4mainEv", "main", "app::main"]),
        ("[m]ain", ["main"]),
        ("app", []),
    ],
)
def test_names_may_be_demangled_or_patterns(name: str, found: list[str]) -> None:
    functions = [
        gsym.FunctionInfo(START + 16 * at, 16, each) for at, each in enumerate(NAMES)
    ]
    reader = gsym.Reader(file_bytes(functions))
    assert [each.name for each in reader.find(name)] == found
    exact = [name] if name in NAMES else []
    assert [each.name for each in reader.find(name, exact=True)] == exact


@pytest.mark.parametrize("name", [b"main", None, 3])
def test_names_are_strings(name: object) -> None:
    find: Callable[[object], object] = gsym.Reader(file_bytes()).find  # type: ignore[assignment]
    with pytest.raises(TypeError, match=r"^name: expected a string, not "):
        find(name)


# ---- threads and processes ---------------------------------------------------------


def run_together(*works: Callable[[], None]) -> None:
    """Run each of *works* in its own thread, all started at the same time."""
    barrier = threading.Barrier(len(works))
    problems: list[BaseException] = []

    def run(work: Callable[[], None]) -> None:
        barrier.wait()
        try:
            work()
        except BaseException as problem:  # noqa: BLE001 - told by the main thread
            problems.append(problem)

    threads = [threading.Thread(target=run, args=(work,)) for work in works]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert problems == []


def test_threads_share_a_reader(path: Path) -> None:
    with gsym.open(path) as reader:
        alone = [reader.lookup(START + at, merged=True) for at in range(0x50)]

        def ask() -> None:
            for _ in range(20):
                found = [reader.lookup(START + at, merged=True) for at in range(0x50)]
                assert found == alone
                assert reader.lookup_many([START + 9]).names == ["one", "main"]
                assert list(reader.functions()) == list(FUNCTIONS)
                assert len(reader.find("main")) == 3

        run_together(ask, ask, ask, ask)


def test_a_reader_may_be_closed_while_others_use_it(path: Path) -> None:
    addresses = array("Q", [START + at % 16 for at in range(2000)])

    def ask_for_ever(reader: gsym.Reader, answered: threading.Event) -> None:
        while True:
            assert reader.lookup_many(addresses).answered == len(addresses)
            assert reader.lookup(START) is not None
            answered.set()

    def ask_until_closed(reader: gsym.Reader, answered: threading.Event) -> None:
        with pytest.raises(gsym.ClosedError):
            ask_for_ever(reader, answered)

    def close_when_answered(reader: gsym.Reader, answered: threading.Event) -> None:
        answered.wait()
        reader.close()

    for _ in range(30):
        held = (gsym.open(path), threading.Event())
        run_together(
            partial(ask_until_closed, *held),
            partial(ask_until_closed, *held),
            partial(close_when_answered, *held),
        )


FORK = """
import os, sys, gsym
reader = gsym.open(sys.argv[1])
address = int(sys.argv[2])
before = reader.lookup(address)
child = os.fork()
if child == 0:
    alike = reader.lookup(address) == before and reader.find("main")
    reader.close()
    os._exit(0 if alike else 1)
assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
assert reader.lookup(address) == before
"""


def test_a_reader_works_on_both_sides_of_a_fork(path: Path) -> None:
    subprocess.run([sys.executable, "-c", FORK, str(path), str(START + 9)], check=True)


# ---- lines, pickles


def test_code_of_a_line_is_found_wherever_it_is(tmp_path: Path) -> None:
    rows = [
        (0, "/src/app.c", 1),
        (4, "/src/app.c", 12),
        (8, "/src/lib/app.c", 12),
        (12, "/src/app.c", 12),
    ]
    table = tuple(gsym.LineEntry(START + at, path, line) for at, path, line in rows)
    other = (gsym.LineEntry(START + 0x40, "/src/app.c", 12),)
    functions = (
        gsym.FunctionInfo(START, 0x10, "f", table),
        gsym.FunctionInfo(START + 0x40, 4, "g", other),
        gsym.FunctionInfo(START + 0x80, 4, "without_lines"),
    )
    path = tmp_path / "app.gsym"
    path.write_bytes(file_bytes(functions))
    with gsym.open(path) as reader:
        own = [(START + 4, START + 8), (START + 12, START + 16)]
        own.append((START + 0x40, START + 0x44))
        assert reader.addresses("/src/app.c", 12) == tuple(own)
        both = sorted([*own, (START + 8, START + 12)])
        assert reader.addresses("app.c", 12) == tuple(both)
        assert reader.addresses("lib/app.c", 12) == ((START + 8, START + 12),)
        for name, line in (("pp.c", 12), ("app.c", 2), ("b.c", 12)):
            assert reader.addresses(name, line) == ()


def test_a_reader_is_pickled_by_its_path_or_bytes(tmp_path: Path) -> None:
    path = tmp_path / "a.gsym"
    path.write_bytes(file_bytes())
    with gsym.open(path) as reader:
        data = pickle.dumps(reader)
        assert len(data) < 300
        again = pickle.loads(data)  # noqa: S301 - our own
        assert (again.path, again.lookup(START)) == (str(path), reader.lookup(START))
    with pytest.raises(gsym.ClosedError):
        pickle.dumps(reader)
    held = gsym.Reader(file_bytes(), path="held")
    path.unlink()
    again = pickle.loads(pickle.dumps(held))  # noqa: S301 - our own
    assert (again.path, again.lookup(START)) == ("held", held.lookup(START))
