"""The engine asked by itself: what is refused, progress, cancellation."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, TypeAlias

import pytest

import gsym
from gsym.engine.native import bytes_of, check, ffi, lib, new_error, new_object
from tests.freeze.inputs import gsym_bytes
from tests.hostile import small_file
from tests.inputs.dwarf import Dwarf
from tests.inputs.program import function, unit
from tests.inputs.random_program import random_program

if TYPE_CHECKING:
    from collections.abc import Callable

Handle: TypeAlias = Any
"""What cffi makes."""

NONE = ffi.NULL
MANY = 1 << 32  # more than there is a number for
IMAGE = small_file(1, "little")
PROGRAM = random_program(376)
SPLIT, SUPPLEMENTARY = lib.GSYM_DWARF_SPLIT, lib.GSYM_DWARF_SUPPLEMENTARY


def make(kind: str, *arguments: object) -> Handle:
    names = {"image": ("open", "close"), "object": ("open", "close")}
    begin, end = names.get(kind, ("create", "destroy"))
    calls = (getattr(lib, f"gsym_{kind}_{verb}") for verb in (begin, end))
    return new_object(kind, *calls, *arguments)


def ask(name: str, *arguments: object) -> None:
    error = new_error()
    check(getattr(lib, f"gsym_{name}")(*arguments, error), error)


def creator(version: int = 1) -> Handle:
    return make("creator", ffi.new("gsym_creator_options *", {"version": version}))


class Conversion:
    """A conversion of nothing."""

    def __init__(self) -> None:
        self.creator = creator()
        options = ffi.new("gsym_conversion_options *", {"thread_count": 1})
        self.handle = make("conversion", self.creator, options)
        self.number = ffi.new("uint64_t *")

    def ask(self, name: str, *arguments: object) -> None:
        ask(f"conversion_{name}", self.handle, *arguments)

    def add_file(self, role: int) -> int:
        number = ffi.new("uint32_t *")
        self.ask("add_file", role, number)
        return int(number[0])

    def set_section(self, file: int, which: int, size: int = 0) -> None:
        self.ask("set_section", file, which, NONE, size, 0)


def image(data: bytes = IMAGE) -> Handle:
    return make("image", bytes_of(data), len(data))


def add_a_file_twice(*roles: int, scan: bool = False) -> None:
    conversion = Conversion()
    if scan:
        conversion.ask("scan")
    for role in roles:
        conversion.add_file(role)


def move_functions(role: int, start: int, size: int) -> None:
    conversion = Conversion()
    file = conversion.add_file(role) if role else 0
    conversion.ask("add_address_span", file, start, size, 0)


def select(*units: int) -> None:
    # Of a binary without units, and of one that has been scanned itself.
    conversion, other = Conversion(), Conversion()
    index = make("unit_index", conversion.handle)
    if not units:
        other.ask("scan")
    other.ask("select", index, ffi.new("uint32_t[]", units), len(units))


def link(role: int, *, times: int) -> None:
    conversion = Conversion()
    file = conversion.add_file(role) if role else 0
    if times:
        conversion.ask("scan")
    for _ in range(max(times, 1)):
        conversion.ask("link_split", file, conversion.number)


def work_again() -> None:
    conversion = Conversion()
    conversion.ask("scan")
    conversion.ask("work")
    conversion.ask("work")


def breakpad(name: str, *arguments: object, ended: bool) -> None:
    output = creator()
    reader = make("breakpad", output, 0)
    if ended:
        ask("breakpad_finish", reader)
    ask(f"breakpad_{name}", reader, *arguments)


def find_functions_of_a_map() -> None:
    data = program()
    debug_map = make("debug_map", data)
    conversion = Conversion()
    conversion.ask("add_debug_map", 0, debug_map, 7, data, conversion.number)


def program() -> Handle:
    return make("object", bytes_of(PROGRAM), len(PROGRAM))


def symbfile(name: str, *arguments: object, ended: bool = False) -> None:
    writer = make("symbfile_writer", 0)
    number = ffi.new("uint32_t *")
    ask("symbfile_writer_add_string", writer, b"f", 1, number)
    if ended:
        ask("symbfile_writer_finish", writer)
    ask(f"symbfile_writer_{name}", writer, *arguments)


ROWS = ffi.new("gsym_symbfile_row[]", [(4, 1, 0), (0, 2, 0)])


def symbfile_range(**fields: object) -> Handle:
    return ffi.new("gsym_symbfile_range *", {"length": 8, "func": 1, **fields})


class Names:
    """The names of an image, as strings of a symbfile."""

    def __init__(self, data: bytes = IMAGE) -> None:
        self.image = image(data)
        self.handle = make("symbfile_names", self.image)

    def list(self) -> None:
        count = ffi.new("uint64_t *")
        ask("symbfile_names_list", self.handle, 0, NONE, 0, count)


def collect_after_the_list() -> None:
    names = Names()
    names.list()
    ask("symbfile_names_collect", names.handle, 0, 1)


def share_after_the_list() -> None:
    names = Names()
    names.list()
    ask("symbfile_names_share", names.handle, names.handle)


def share_another() -> None:
    names, others = Names(), Names(gsym_bytes())
    ask("symbfile_names_share", names.handle, others.handle)


def add_texts(texts: bytes) -> None:
    names = Names()
    ask("symbfile_names_collect", names.handle, 0, 1)
    names.list()
    writer = make("symbfile_writer", 0)
    ask("symbfile_names_add", names.handle, writer, texts, len(texts))


def finish_twice() -> None:
    output, name = creator(), ffi.new("uint64_t *")
    report = ffi.new("gsym_creator_report *")
    ask("creator_add_string", output, b"f", 1, name)
    function = ffi.new("gsym_function *", {"size": 1, "name": name[0]})
    ask("creator_add_function", output, function, 0)
    ask("creator_finish", output, report)
    ask("creator_finish", output, report)


def read_early() -> None:
    ask("creator_read", creator(), NONE, 0, ffi.new("size_t *"))


def share_strings_late() -> None:
    output, everything = creator(), creator()
    ask("creator_add_string", output, b"f", 1, ffi.new("uint64_t *"))
    ask("creator_share_strings", output, everything, bytes_of(b"f\0"), 2, 0)


REFUSED: dict[str, Callable[[], object]] = {
    "a column of neither 4 nor 8 bytes": lambda: make("distinct", NONE, 0, 2),
    "a line table is not sorted": lambda: symbfile(
        "add_range", symbfile_range(rows=ROWS, row_count=2)
    ),
    "string 0 does not exist": lambda: symbfile("add_range", symbfile_range(func=0)),
    "a string contains a NUL byte": lambda: ask(
        "creator_add_string", creator(), b"\0", 1, ffi.new("uint64_t *")
    ),
    "a string is not UTF-8": lambda: symbfile(
        "add_string", b"\xff", 1, ffi.new("uint32_t *")
    ),
    "addresses do not ascend": lambda: ask(
        "creator_ask", creator(), ffi.new("uint64_t[]", [5, 4]), 2
    ),
    "an address span without an end": lambda: move_functions(0, 2**64 - 1, 2),
    "file 0 has no split units": lambda: link(0, times=1),
    "file 1 is to be linked once": lambda: link(SPLIT, times=2),
    "file 1 is to be linked once, after the scan": lambda: link(SPLIT, times=0),
    "invalid address index 99": lambda: ask(
        "image_entry", image(), 99, *(ffi.new("uint64_t *") for _ in range(2))
    ),
    "invalid section index 99": lambda: ask(
        "image_section", image(), 99, ffi.new("gsym_section *")
    ),
    "more than 2\\^32 - 1 addresses": lambda: ask(
        "image_lookup_many", image(), NONE, MANY, 0, ffi.new("gsym_batch **")
    ),
    "more workers than announced": work_again,
    "no file has the number 1": lambda: Conversion().set_section(1, 0),
    "no file has the number 2": lambda: Conversion().ask(
        "add_address_span", 2, 0, 0, 0
    ),
    "no object file of this debug map": find_functions_of_a_map,
    "no skeleton unit has the number 0": lambda: Conversion().ask(
        "skeleton", 0, ffi.new("gsym_skeleton *")
    ),
    "no such debug section": lambda: Conversion().set_section(0, 99),
    "no such debug section ": lambda: ask(
        "object_debug_section", program(), 99, 0, ffi.new("gsym_object_section *")
    ),
    "no such entries in the address table": lambda: ask(
        *("image_measure", image(), 0, 99),
        *(ffi.new("gsym_statistics *"), NONE),
    ),
    "no such instruction set": lambda: ask(
        *("calls_find", image(), ffi.new("gsym_machine_code *", {"set": 99})),
        ffi.new("gsym_calls **"),
    ),
    "no such role of a file": lambda: add_a_file_twice(3),
    "not a text for each name": lambda: add_texts(b"no end"),
    "not a text for each name ": lambda: add_texts(b"one\0more\0than\0there\0are\0"),
    "only a main file has functions": lambda: move_functions(SUPPLEMENTARY, 0, 0),
    "strings cannot be shared any more": share_strings_late,
    "string 2 does not exist": lambda: symbfile("add_range", symbfile_range(file=2)),
    "string 3 does not exist": lambda: symbfile(
        "add_range", symbfile_range(call_file=3)
    ),
    "string 4 does not exist": lambda: symbfile(
        "add_return_pad", 0, ffi.new("gsym_symbfile_entry *", {"func": 4}), 1
    ),
    "string 5 does not exist": lambda: symbfile(
        "add_return_pad", 0, ffi.new("gsym_symbfile_entry *", {"func": 1, "file": 5}), 1
    ),
    "the conversion has no PDB": lambda: Conversion().ask("add_pdb_publics"),
    "the creator has no finished file": read_early,
    "the creator is finished": finish_twice,
    "the names are of another image": share_another,
    "the names have been listed": collect_after_the_list,
    "the names have been listed ": share_after_the_list,
    "the symbfile is finished": lambda: symbfile(
        "add_range", symbfile_range(), ended=True
    ),
    "the text has ended": lambda: breakpad("feed", bytes_of(b"F"), 1, ended=True),
    "the text has ended ": lambda: breakpad("finish", ended=True),
    "the text has not ended": lambda: breakpad("add_publics", ended=False),
    "the units are known already": lambda: add_a_file_twice(0, scan=True),
    "there is a supplementary file": lambda: add_a_file_twice(1, 1),
    "too many names at once": lambda: make("cxx_texts", NONE, NONE, MANY, NONE, 0),
    "too many rows or modules": lambda: make(
        "bulk", ffi.new("gsym_rows *", {"count": MANY}), make("known", 0)
    ),
    "too many rows or modules ": lambda: make(
        "bulk", ffi.new("gsym_rows *", {"module_count": MANY - 1}), make("known", 0)
    ),
    "units that cannot be selected": select,
    "units to select do not ascend": lambda: select(0),
    "unsupported GSYM version 9": lambda: creator(9),
}
"""By the reason, after which a space tells two requests apart."""


@pytest.mark.parametrize("reason", REFUSED)
def test_a_request_against_the_rules_is_refused(reason: str) -> None:
    with pytest.raises(ValueError, match=re.compile(reason.rstrip())):
        REFUSED[reason]()


LIMITS: dict[str, Callable[[], object]] = {
    "a debug section of more than 1 TiB": lambda: Conversion().set_section(
        0, 0, 1 << 40
    ),
    "a string is longer than 16 MiB": lambda: symbfile(
        "add_string", bytes((16 << 20) + 1), (16 << 20) + 1, ffi.new("uint32_t *")
    ),
    "a record exceeds 16 MiB": lambda: symbfile("add_return_pad", 0, NONE, 1 << 30),
    "a record exceeds 16 MiB ": lambda: symbfile(
        "add_range", symbfile_range(row_count=1 << 30)
    ),
}


@pytest.mark.parametrize("reason", LIMITS)
def test_what_is_too_large_is_refused_before_it_is_read(reason: str) -> None:
    with pytest.raises(gsym.LimitError, match=re.compile(reason.rstrip())):
        LIMITS[reason]()


@pytest.mark.parametrize(
    "name", [name for name in dir(lib) if re.search("_destroy$", name)]
)
def test_there_may_be_nothing_to_release(name: str) -> None:
    assert getattr(lib, name)(NONE) is None


# ---- conversions that are watched ----------------------------------------------------

SECTIONS = Dwarf([unit(function("f", 0x1000, 0x1010), version=4)]).sections()


class Watched(Conversion):
    """A conversion of one function, scanned."""

    def __init__(self) -> None:
        super().__init__()
        self.kept = {name: ffi.from_buffer(data) for name, data in SECTIONS.items()}
        for name, data in self.kept.items():
            which = getattr(lib, f"GSYM_{name[1:].upper()}")
            self.ask("set_section", 0, which, ffi.cast("uint8_t *", data), len(data), 0)
        self.ask("scan")

    def progress(self) -> tuple[int, int]:
        done, total = ffi.new("uint64_t *"), ffi.new("uint64_t *")
        lib.gsym_conversion_progress(self.handle, done, total)
        return done[0], total[0]


def test_progress_counts_the_bytes_of_debug_info() -> None:
    conversion = Watched()
    size = len(SECTIONS[".debug_info"])
    assert conversion.progress() == (0, size)
    conversion.ask("work")
    assert conversion.progress() == (size, size)


def test_a_conversion_that_is_cancelled_converts_no_further_unit() -> None:
    conversion = Watched()
    lib.gsym_conversion_cancel(conversion.handle)
    with pytest.raises(gsym.CancelledError):
        conversion.ask("work")
    assert conversion.progress()[0] == 0
