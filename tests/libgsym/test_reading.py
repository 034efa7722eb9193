"""libgsym reads what the package reads: lookups, names, functions, errors."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

import pytest

import gsym
from tests.creations import create

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.libgsym.conftest import Library

pytestmark = [pytest.mark.long, pytest.mark.no_engine]

START, SIZE = 0x1000, 0x100
DEEP = 600  # more frames than fit on the stack of a lookup


def nested(depth: int) -> gsym.InlineInfo:
    """A function with *depth* calls inlined into one another."""
    node = None
    for level in reversed(range(1, depth + 1)):
        children = () if node is None else (node,)
        extent = (gsym.Range(START + 0x10, START + 0x20),)
        node = gsym.InlineInfo(f"f{level}", "/src/deep.c", level, extent, children)
    children = () if node is None else (node,)
    return gsym.InlineInfo("f", "", 0, (gsym.Range(START, START + SIZE),), children)


FUNCTIONS = [
    gsym.FunctionInfo(
        START,
        SIZE,
        "f",
        (
            gsym.LineEntry(START, "/src/a.c", 3),
            gsym.LineEntry(START + 0x10, "/src/b.h", 7),
        ),
        nested(3),
        call_sites=(gsym.CallSite(0x15, 1, ("^g$", "^h$")),),
    ),
    gsym.FunctionInfo(0x2000, 0, "no_size"),
    gsym.FunctionInfo(
        0x3000, 0x10, "kept", merged=(gsym.FunctionInfo(0x3000, 0x10, "folded"),)
    ),
]
ADDRESSES = [
    0,
    START - 1,
    START,
    START + 0x0F,
    START + 0x15,
    START + SIZE,
    0x2004,
    0x3008,
]
ADDRESSES += [2**64 - 1, START + 0x15]


class Opened:
    """A file opened by the library, and the calls of tests."""

    def __init__(self, library: Library, path: Path) -> None:
        self.library, self.ffi, self.lib = library, library.ffi, library.lib
        self.error = library.error()
        handle = self.ffi.new("gsym_file **")
        self.check(self.lib.gsym_file_open(str(path).encode(), handle, self.error))
        self.file = handle[0]

    def check(self, status: int) -> None:
        assert status == 0, self.library.text(self.error.what)

    def frame(self, location: Any) -> tuple[Any, ...]:  # noqa: ANN401
        texts = (location.function, location.directory, location.filename)
        function, directory, filename = map(self.library.text, texts)
        return (
            *(function, directory, filename, location.line, location.offset),
            bool(location.inlined),
        )

    def lookup(self, address: int, capacity: int = 8) -> tuple[int, list[Any]]:
        """The number of frames, and those that were written."""
        locations = self.ffi.new("gsym_location[]", capacity)
        count = self.ffi.new("size_t *")
        call = (
            self.file,
            address,
            locations,
            capacity,
            count,
            self.ffi.NULL,
            self.error,
        )
        self.check(self.lib.gsym_file_lookup(*call))
        return count[0], [
            self.frame(locations[n]) for n in range(min(count[0], capacity))
        ]

    def symbols(self, function: Any, key: Any, capacity: int = 4) -> list[Any]:  # noqa: ANN401
        found, count = self.ffi.new("gsym_symbol[]", capacity), self.ffi.new("size_t *")
        self.check(function(self.file, key, found, capacity, count, self.error))
        return [
            (self.library.text(each.name), each.address, each.size, each.entry)
            for each in found[0 : min(count[0], capacity)]
        ] + ["more"] * (count[0] > capacity)


@pytest.fixture(params=[(1, "little"), (2, "big")], ids=["v1", "v2 big-endian"])
def path(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    version, byteorder = request.param
    path = tmp_path / "functions.gsym"
    options = {"base_address": 0x400, "uuid": b"\1\2\3\4"}
    data = create(FUNCTIONS, version=version, byteorder=byteorder, **options)
    path.write_bytes(data)
    return path


@pytest.fixture
def opened(library: Library, path: Path) -> Iterator[Opened]:
    opened = Opened(library, path)
    yield opened
    library.lib.gsym_file_close(opened.file)


def test_header_is_that_of_the_file(opened: Opened) -> None:
    size = opened.ffi.new("size_t *")
    uuid = opened.lib.gsym_file_uuid(opened.file, size)
    assert opened.ffi.buffer(uuid, size[0])[:] == b"\1\2\3\4"
    assert opened.lib.gsym_file_base_address(opened.file) == 0x400
    assert opened.lib.gsym_file_entry_count(opened.file) == len(FUNCTIONS)


def expected(reader: gsym.Reader, address: int) -> list[tuple[Any, ...]]:
    found = reader.lookup(address)
    return [tuple(frame) for frame in found.frames] if found else []


def test_lookup_gives_the_frames_of_the_package(opened: Opened, path: Path) -> None:
    with gsym.open(path) as reader:
        for address in ADDRESSES:
            frames = expected(reader, address)
            assert opened.lookup(address) == (len(frames), frames)
        assert opened.lookup(START + 0x15, 2) == (4, expected(reader, START + 0x15)[:2])


def test_lookup_gives_the_function(opened: Opened) -> None:
    symbol, count = opened.ffi.new("gsym_symbol *"), opened.ffi.new("size_t *")
    for address, name, start in [
        (START + 1, "f", START),
        (0x3001, "kept", 0x3000),
        (0, "", 0),
    ]:
        arguments = (
            opened.file,
            address,
            opened.ffi.NULL,
            0,
            count,
            symbol,
            opened.error,
        )
        opened.check(opened.lib.gsym_file_lookup(*arguments))
        assert (opened.library.text(symbol.name), symbol.address) == (name, start)


def test_all_frames_of_a_deep_chain_are_found(library: Library, tmp_path: Path) -> None:
    path = tmp_path / "deep.gsym"
    path.write_bytes(create([gsym.FunctionInfo(START, SIZE, "f", None, nested(DEEP))]))
    opened = Opened(library, path)
    with gsym.open(path) as reader:
        frames = expected(reader, START + 0x10)
    assert len(frames) == DEEP + 1
    assert opened.lookup(START + 0x10, DEEP + 1) == (DEEP + 1, frames)
    assert opened.lookup(START + 0x10, 300) == (DEEP + 1, frames[:300])
    assert opened.lookup(START + 0x10, 3) == (DEEP + 1, frames[:3])
    library.lib.gsym_file_close(opened.file)


def test_many_addresses_have_the_same_frames(opened: Opened, path: Path) -> None:
    ffi, lib, answers = opened.ffi, opened.lib, opened.ffi.new("gsym_answers **")
    asked = ffi.new("uint64_t[]", ADDRESSES)
    arguments = (opened.file, asked, len(ADDRESSES), answers, opened.error)
    opened.check(lib.gsym_file_lookup_many(*arguments))
    count = ffi.new("size_t *")
    with gsym.open(path) as reader:
        for index, address in enumerate(ADDRESSES):
            first = lib.gsym_answers_at(answers[0], index, count)
            frames = [opened.frame(first[n]) for n in range(count[0])]
            assert frames == expected(reader, address)
    lib.gsym_answers_at(answers[0], len(ADDRESSES), count)
    assert count[0] == 0
    assert lib.gsym_answers_damaged(answers[0]) == 0
    lib.gsym_answers_destroy(answers[0])


def test_names_are_found(opened: Opened) -> None:
    find = opened.lib.gsym_file_find
    assert opened.symbols(find, b"f") == [("f", START, SIZE, 0)]
    assert opened.symbols(find, b"folded") == [("folded", 0x3000, 0x10, 2)]
    assert opened.symbols(find, b"f1") == []
    assert opened.symbols(find, b"f", 0) == ["more"]


def test_entries_list_functions_and_those_folded_into_them(opened: Opened) -> None:
    symbols = opened.lib.gsym_file_symbols
    kept, folded = ("kept", 0x3000, 0x10, 2), ("folded", 0x3000, 0x10, 2)
    assert opened.symbols(symbols, 1) == [("no_size", 0x2000, 0, 1)]
    assert opened.symbols(symbols, 2) == [kept, folded]
    assert opened.symbols(symbols, 2, 1) == [kept, "more"]


def test_any_number_of_functions_may_share_an_entry(
    library: Library, tmp_path: Path
) -> None:
    names = [f"f{number}" for number in range(100)]
    merged = tuple(gsym.FunctionInfo(START, SIZE, name) for name in names[1:])
    path = tmp_path / "folded.gsym"
    path.write_bytes(create([gsym.FunctionInfo(START, SIZE, "f0", merged=merged)]))
    opened = Opened(library, path)
    found = opened.symbols(library.lib.gsym_file_symbols, 0, 100)
    assert found == [(name, START, SIZE, 0) for name in names]
    assert opened.symbols(library.lib.gsym_file_find, b"f99") == found[99:]
    library.lib.gsym_file_close(opened.file)


def test_decoder_and_writer_make_the_same_file_again(
    opened: Opened, path: Path, tmp_path: Path
) -> None:
    ffi, lib = opened.ffi, opened.lib
    with gsym.open(path) as reader:
        header = reader.header
    options = ffi.new("gsym_writer_options *")
    uuid = ffi.new("uint8_t[]", b"\1\2\3\4")
    options.uuid, options.uuid_size = uuid, 4
    options.version, options.base_address = header.version, 0x400
    options.flags = lib.GSYM_WRITE_BASE_ADDRESS
    options.flags |= lib.GSYM_WRITE_BIG_ENDIAN * (header.byteorder == "big")
    decoder, writer = ffi.new("gsym_decoder **"), ffi.new("gsym_writer **")
    opened.check(lib.gsym_decoder_create(decoder, opened.error))
    opened.check(lib.gsym_writer_create(options, writer, opened.error))
    info = ffi.new("gsym_function_info **")
    for entry in range(lib.gsym_file_entry_count(opened.file)):
        arguments = (decoder[0], opened.file, entry, info, opened.error)
        opened.check(lib.gsym_decoder_read(*arguments))
        opened.check(lib.gsym_writer_add(writer[0], info[0], opened.error))
    again = tmp_path / "again.gsym"
    opened.check(lib.gsym_writer_save(writer[0], str(again).encode(), opened.error))
    lib.gsym_writer_destroy(writer[0])
    lib.gsym_decoder_destroy(decoder[0])
    with gsym.open(path) as one, gsym.open(again) as other:
        assert list(one.functions()) == list(other.functions())
        assert one.header == other.header


def test_writer_copies_files_to_memory(opened: Opened, path: Path) -> None:
    ffi, lib, writer = opened.ffi, opened.lib, opened.ffi.new("gsym_writer **")
    opened.check(lib.gsym_writer_create(ffi.NULL, writer, opened.error))
    opened.check(lib.gsym_writer_add_file(writer[0], opened.file, opened.error))
    data, size = ffi.new("uint8_t **"), ffi.new("size_t *")
    opened.check(lib.gsym_writer_bytes(writer[0], data, size, opened.error))
    copied = ffi.buffer(data[0], size[0])[:]
    with gsym.open(path) as one, gsym.Reader(copied) as other:
        assert list(one.functions()) == list(other.functions())
    memory = ffi.new("gsym_file **")
    opened.check(lib.gsym_file_open_memory(data[0], size[0], memory, opened.error))
    assert lib.gsym_file_entry_count(memory[0]) == len(FUNCTIONS)
    lib.gsym_file_close(memory[0])
    status = lib.gsym_writer_add_file(writer[0], opened.file, opened.error)
    assert status == lib.GSYM_E_ARGUMENT
    lib.gsym_writer_destroy(writer[0])


def test_threads_share_a_file(opened: Opened, path: Path) -> None:
    with gsym.open(path) as reader:
        answers = {address: expected(reader, address) for address in ADDRESSES}
    wrong: list[int] = []

    def work() -> None:
        own = Opened.__new__(Opened)
        own.__dict__.update(opened.__dict__, error=opened.library.error())
        for _ in range(50):
            wrong.extend(a for a in ADDRESSES if own.lookup(a)[1] != answers[a])

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def refusal(library: Library, path: Path) -> tuple[int, str, str, int]:
    """Status, path, reason and offset of the error for a file that cannot be opened."""
    handle, error = library.ffi.new("gsym_file **"), library.error()
    status = library.lib.gsym_file_open(str(path).encode(), handle, error)
    assert status == error.status
    return status, library.text(error.path), library.text(error.what), error.offset


def test_errors_name_file_reason_and_offset(library: Library, tmp_path: Path) -> None:
    lib, path = library.lib, tmp_path / "bad"
    assert refusal(library, path) == (
        *(lib.GSYM_E_SYSTEM, str(path), "cannot open: No such file or directory", 2),
    )
    path.write_bytes(b"")
    assert refusal(library, path)[0] == lib.GSYM_E_FORMAT
    path.write_bytes(create(FUNCTIONS)[:100])
    status, name, _, offset = refusal(library, path)
    assert (status, name) == (lib.GSYM_E_FORMAT, str(path))
    assert 0 < offset <= 1 << 32
    status, name, reason, _ = refusal(library, tmp_path)
    assert (status, reason) == (lib.GSYM_E_SYSTEM, "cannot map: Is a directory")


@pytest.mark.parametrize("share_strings", [False, True])
def test_a_file_in_its_binary_is_read(
    library: Library, program: Path, tmp_path: Path, *, share_strings: bool
) -> None:
    path, binary = tmp_path / "program.gsym", tmp_path / "program"
    gsym.convert(program, path)
    gsym.embed(path, program, binary, share_strings=share_strings)
    opened = Opened(library, binary)
    with gsym.open(path) as reader:
        (measure,) = reader.find("measure")
        frames = expected(reader, measure.start)
    assert opened.lookup(measure.start) == (len(frames), frames)
    library.lib.gsym_file_close(opened.file)


def test_strings_without_an_end_are_refused(library: Library, tmp_path: Path) -> None:
    path = tmp_path / "unended.gsym"
    data = bytearray(create(FUNCTIONS, index=False))
    path.write_bytes(data)
    with gsym.open(path) as reader:
        end = reader.header.strtab_offset + reader.header.strtab_size
    assert data[end - 1] == 0
    data[end - 1] = ord("x")
    path.write_bytes(data)
    assert refusal(library, path)[2] == "the string table does not end in NUL"


def test_a_damaged_record_is_an_error_of_its_address_alone(
    library: Library, tmp_path: Path
) -> None:
    path = tmp_path / "damaged.gsym"
    data = bytearray(create(FUNCTIONS[:2], index=False))
    path.write_bytes(data)
    with gsym.open(path) as reader:
        end = reader.header.strtab_offset + reader.header.strtab_size
    at = data.index(SIZE.to_bytes(4, "little"), end)
    data[at + 8 : at + 16] = b"\1\0\0\0\xff\xff\xff\x7f"  # a line table of 2 GB
    path.write_bytes(data)
    opened = Opened(library, path)
    ffi, lib, count = opened.ffi, opened.lib, opened.ffi.new("size_t *")
    arguments = (opened.file, START, ffi.NULL, 0, count, ffi.NULL, opened.error)
    assert lib.gsym_file_lookup(*arguments) == lib.GSYM_E_FORMAT
    assert library.text(opened.error.path) == str(path)
    assert opened.error.offset >= at
    assert opened.lookup(0x2001)[0] == 1
    answers = ffi.new("gsym_answers **")
    asked = ffi.new("uint64_t[]", [START, 0x2001])
    opened.check(
        lib.gsym_file_lookup_many(opened.file, asked, 2, answers, opened.error)
    )
    assert lib.gsym_answers_damaged(answers[0]) == 1
    lib.gsym_answers_at(answers[0], 1, count)
    assert count[0] == 1
    lib.gsym_answers_destroy(answers[0])
    lib.gsym_file_close(opened.file)


def test_an_entry_out_of_range_is_an_argument(opened: Opened) -> None:
    lib, count = opened.lib, opened.ffi.new("size_t *")
    arguments = (opened.file, 3, opened.ffi.NULL, 0, count, opened.error)
    assert lib.gsym_file_symbols(*arguments) == lib.GSYM_E_ARGUMENT
    assert (
        opened.library.text(opened.error.what)
        == "entry 3 out of range (the file has 3)"
    )
