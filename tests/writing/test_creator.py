"""The creator: layout to the byte, limits, paths, and its life."""

from __future__ import annotations

import random
import struct
from itertools import accumulate
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, strategies as st

from gsym.engine.native import check, ffi, lib, new_error
from gsym.errors import ClosedError, EmptyError, LimitError, UuidMismatchError
from gsym.model import FunctionInfo, InlineInfo, LineEntry, Range, join_path
from gsym.reading.reader import Reader
from gsym.writing.creator import Creator
from gsym.writing.creator_handle import iter_finished
from tests import oracle
from tests.creations import create, decoded, finish, handle_of
from tests.strategies import U32_MAX, VERSIONS
from tests.views import U64_MAX, text

# ---- layout ---------------------------------------------------------------------

START = 0x401000
WORK = FunctionInfo(
    START,
    0x30,
    "work",
    (
        LineEntry(START, "/a/bc/inlined.c", 4),
        LineEntry(START + 6, "/a/bc/inlined.c", 3),
        LineEntry(START + 19, "/a/bc/inlined.c", 4),
    ),
    InlineInfo(
        "work",
        "",
        0,
        (Range(START, START + 0x30),),
        (InlineInfo("leaf", "/a/bc/inlined.c", 4, (Range(START + 6, START + 19),)),),
    ),
)
HEAD = FunctionInfo(START - 0x10, 0, "end", extra={9: b"x"})
UUID = bytes(range(1, 8))


@pytest.mark.parametrize(("version", "byteorder"), [(1, "little"), (2, "big")])
@pytest.mark.parametrize("capacity", [1, 7, 64, 1 << 16])
def test_a_file_is_read_out_in_pieces_of_any_size(
    version: int, byteorder: str, capacity: int
) -> None:
    whole = create([WORK, HEAD], version=version, byteorder=byteorder)
    with Creator(version=version, byteorder=byteorder) as creator:
        creator.add(WORK)
        creator.add(HEAD)
        finish(creator)
        piece, size, error = bytearray(capacity), ffi.new("size_t *"), new_error()
        target = ffi.from_buffer("uint8_t[]", piece)
        pieces = b""
        while True:
            status = lib.gsym_creator_read(
                handle_of(creator), target, capacity, size, error
            )
            check(status, error)
            if size[0] == 0:
                break
            pieces += piece[: size[0]]
    assert pieces == whole


def test_a_creator_that_was_released_has_no_file_and_takes_no_function() -> None:
    with Creator() as creator:
        creator.add(WORK)
        finish(creator)
        handle = handle_of(creator)
        target, size, error = ffi.new("uint8_t[8]"), ffi.new("size_t *"), new_error()
        lib.gsym_creator_release(handle)
        status = lib.gsym_creator_read(handle, target, 8, size, error)
        with pytest.raises(ValueError, match="no finished file"):
            check(status, error)
        with pytest.raises(ValueError, match="finished"):
            creator.add(HEAD)


@pytest.mark.parametrize(
    ("span", "width"),
    [
        (0, 1),
        (0xFF, 1),
        (0x100, 2),
        (0xFFFF, 2),
        (0x10000, 4),
        (U32_MAX, 4),
        (U32_MAX + 1, 8),
        (U64_MAX - 0x20, 8),
    ],
)
def test_address_offsets_are_as_narrow_as_the_last_start_allows(
    span: int, width: int
) -> None:
    functions = [FunctionInfo(0x10, 4, "a"), FunctionInfo(0x10 + span, 4, "z")]
    for version in VERSIONS:
        data = create(functions[-1:] if span == 0 else functions, version=version)
        file = oracle.decode_file(data)
        assert file.addr_off_size == width
        assert file.functions[-1].start == 0x10 + span
        assert oracle.encode_file(file) == data


FEW, MANY = 40, 600
STEPS = {
    "near": [100, 104, 97] * FEW + [3] * FEW,
    "at the edge of the near ones": [120, 128, 131, -121, -131] * FEW + [127] * FEW,
    "far": [1000, 1003] * FEW + [5] * FEW,
    "equally many": [1000] * FEW + [-1000] * FEW + [5] * FEW,
    "many and far": [5000 + at % 14 for at in range(MANY)] + [9000] * 3,
    "many and as far apart": [300 * (at % 50) + 400 for at in range(MANY)],
    "many, and more that are near": [1000 + at % 15 for at in range(400)] + [7] * MANY,
}


@pytest.mark.parametrize("steps", STEPS.values(), ids=STEPS)
def test_the_steps_of_lines_that_are_most_frequent_take_one_byte(
    steps: list[int],
) -> None:
    numbers = accumulate(steps, initial=1 << 20)
    rows = tuple(LineEntry(0x10 + at, "/a.c", line) for at, line in enumerate(numbers))
    data = create([FunctionInfo(0x10, len(rows), "f", rows)], index=False)
    assert oracle.encode_file(oracle.decode_file(data)) == data


def test_offsets_count_from_the_base_address_that_was_asked_for() -> None:
    file = oracle.decode_file(create([WORK], base_address=0x400000))
    assert file.base_address == 0x400000
    assert file.addr_off_size == 2
    assert file.functions[0].start == START


def test_a_function_below_the_base_address_is_refused() -> None:
    with pytest.raises(
        ValueError, match=r"0x401000 is below the base address 0x401001"
    ):
        create([WORK], base_address=START + 1)


@pytest.mark.parametrize(
    ("version", "size", "fits"),
    [(1, 0, True), (1, 20, True), (1, 21, False), (2, 21, True), (2, 300, True)],
)
def test_a_uuid_may_be_as_long_as_the_version_allows(
    version: int, size: int, *, fits: bool
) -> None:
    uuid = bytes(range(1, 251))[:size].ljust(size, b"u")
    if fits:
        assert (
            oracle.decode_file(create([WORK], version=version, uuid=uuid)).uuid == uuid
        )
    else:
        with pytest.raises(LimitError, match="--output-version 2"):
            create([WORK], version=version, uuid=uuid)


@pytest.mark.parametrize(
    "options", [{"version": 0}, {"version": 3}, {"byteorder": "le"}]
)
def test_an_unknown_version_or_byte_order_is_refused(options: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=r"version|byteorder"):
        Creator(**options)


# ---- what is refused ------------------------------------------------------------


def with_inline(*children: InlineInfo) -> FunctionInfo:
    root = InlineInfo("f", "", 0, (Range(0x10, 0x20),), children)
    return FunctionInfo(0x10, 0x10, "f", None, root)


REFUSED = {
    "a name is missing": FunctionInfo(0x10, 4, ""),
    "NUL in a name": FunctionInfo(0x10, 4, "a\0b"),
    "NUL in a path": FunctionInfo(0x10, 4, "f", (LineEntry(0x10, "/a\0/b.c", 1),)),
    "rows go down": FunctionInfo(
        0x10, 4, "f", (LineEntry(0x12, "a.c", 1), LineEntry(0x11, "a.c", 2))
    ),
    "a row is below the start": FunctionInfo(0x10, 4, "f", (LineEntry(0xF, "a.c", 1),)),
    "a row is after the end": FunctionInfo(0x10, 4, "f", (LineEntry(0x14, "a.c", 1),)),
    "a row is above all addresses": FunctionInfo(
        0x10, 4, "f", (LineEntry(2**64, "a.c", 1),)
    ),
    "a line is negative": FunctionInfo(0x10, 4, "f", (LineEntry(0x10, "a.c", -1),)),
    "a line exceeds 32 bits": FunctionInfo(
        0x10, 4, "f", (LineEntry(0x10, "a.c", 2**32),)
    ),
    "an address is negative": FunctionInfo(-1, 4, "f"),
    "a function runs past the last address": FunctionInfo(U64_MAX, 2, "f"),
    "a call lies outside of its caller": with_inline(
        InlineInfo("g", "a.c", 1, (Range(0x1F, 0x21),))
    ),
    "a call has no range": with_inline(InlineInfo("g", "a.c", 1, ())),
    "a merged function holds merged ones": FunctionInfo(
        0x10,
        4,
        "f",
        merged=(FunctionInfo(0x10, 4, "g", merged=(FunctionInfo(0x10, 4, "h"),)),),
    ),
    "a merged function starts elsewhere": FunctionInfo(
        0x10, 4, "f", merged=(FunctionInfo(0x11, 4, "g"),)
    ),
    **{
        f"an extra of type {kind}": FunctionInfo(0x10, 4, "f", extra={kind: b"x"})
        for kind in (-1, 0, 1, 2, 3, 4, 2**32)
    },
}


def test_an_inconsistent_function_is_refused_and_leaves_no_trace() -> None:
    for name, function in REFUSED.items():
        with Creator() as creator:
            with pytest.raises(ValueError, match=r"."):
                creator.add(function)
            creator.add(WORK)
            assert decoded(creator.to_bytes()) == [WORK], name


def test_a_refused_function_leaves_no_name_and_no_file() -> None:
    """Whatever was there before, and while tables grow."""
    chance = random.Random(43)  # noqa: S311 - it may be guessed
    folders = "", "/src/", "C:\\src\\"
    fit = []
    with Creator() as creator:
        for number in range(4000):
            start = START + 0x20 * number
            path = f"{chance.choice(folders)}{number // 3}/a{number // 2}.c"
            row = LineEntry(start, path, 1)
            function = FunctionInfo(start, 0x20, f"f{number}", (row,))
            if chance.choice([True, False]):
                outside = row._replace(address=start - 1)
                with pytest.raises(ValueError, match="less than the function start"):
                    creator.add(function._replace(line_table=(row, outside)))
            else:
                fit.append(function)
                creator.add(function)
        assert creator.to_bytes() == create(fit)


def test_a_path_may_be_an_object() -> None:
    row = LineEntry(START, Path("/src/a.c"), 3)  # type: ignore[arg-type]
    (function,) = decoded(create([FunctionInfo(START, 4, "f", (row,))]))
    assert function.line_table == (LineEntry(START, "/src/a.c", 3),)


def test_a_uuid_may_be_text() -> None:
    """As readelf prints a build id, or with the dashes of a UUID."""
    data = create([WORK], uuid="0A65-ff")
    for uuid in ("0a65ff", "0A65-FF", b"\x0a\x65\xff"):
        with Reader(data, uuid=uuid) as reader:
            assert reader.uuid == b"\x0a\x65\xff"
    with pytest.raises(UuidMismatchError, match="not 0b"):
        Reader(data, uuid="0b")
    with pytest.raises(
        ValueError, match="uuid: expected hexadecimal digits, not 'a6x'"
    ):
        Creator(uuid="a6x")
    with pytest.raises(
        TypeError, match="uuid: expected bytes or a string of hexadecimal"
    ):
        Reader(data, uuid=7)  # type: ignore[arg-type]


@pytest.mark.parametrize("version", VERSIONS)
def test_a_function_of_4_gib_is_refused(version: int) -> None:
    assert decoded(create([FunctionInfo(0, U32_MAX, "f")], version=version))[
        0
    ].size == (U32_MAX)
    with pytest.raises(LimitError, match="size 0x100000000"):
        create([FunctionInfo(0, U32_MAX + 1, "f")], version=version)


def test_a_file_without_functions_is_refused() -> None:
    with pytest.raises(EmptyError, match="no functions to encode"):
        create([])


def test_the_last_address_may_be_covered() -> None:
    function = FunctionInfo(U64_MAX - 3, 4, "f", (LineEntry(U64_MAX, "a.c", 1),))
    assert decoded(create([function])) == [function]


# ---- paths ----------------------------------------------------------------------

PATHS = {
    "a.c": ("", "a.c"),
    "/src/a.c": ("/src", "a.c"),
    "src/a.c": ("src", "a.c"),
    "/r.c": ("", "/r.c"),
    "/": ("", "/"),
    "//": ("", "//"),
    "//r.c": ("/", "r.c"),
    "//net/n.c": ("//net", "n.c"),
    "/d//e.c": ("/d/", "e.c"),
    "t/": ("", "t/"),
    "/t/u/": ("", "/t/u/"),
    "..": ("", ".."),
    "../a.c": ("..", "a.c"),
    "a/./b/../c.c": ("a/./b/..", "c.c"),
    "C:\\x": ("", "C:\\x"),
    "C:\\src\\a.c": ("", "C:\\src\\a.c"),
    "C:\\src/a.c": ("", "C:\\src/a.c"),
    "C:/src/a.c": ("C:/src", "a.c"),
    "C:/s\\t/a.c": ("C:/s\\t", "a.c"),
    "/s/a\\b.c": ("/s", "a\\b.c"),
    "hg:host/repo:dir/a.c:0f3": ("hg:host/repo:dir", "a.c:0f3"),
    "<built-in>": ("", "<built-in>"),
    " ": ("", " "),
    "/\udcff/\N{SNOWMAN}": ("/\udcff", "\N{SNOWMAN}"),
}


@pytest.mark.parametrize(("path", "parts"), PATHS.items(), ids=repr)
def test_a_path_is_split_only_where_joining_restores_it(
    path: str, parts: tuple[str, str]
) -> None:
    function = FunctionInfo(0x10, 4, "f", (LineEntry(0x10, path, 1),))
    file = oracle.decode_file(create([function]))
    stored = tuple(text(file.string(strp)) for strp in file.files[1])
    assert stored == parts
    assert join_path(*stored) == path


@given(st.text(st.sampled_from("ab/\\:. "), min_size=1, max_size=12))
def test_any_path_comes_out_as_it_went_in(path: str) -> None:
    function = FunctionInfo(0x10, 4, "f", (LineEntry(0x10, path, 1),))
    assert decoded(create([function])) == [function]


@pytest.mark.parametrize(
    ("addresses", "reason"),
    [((0x8,), "0x8.*less than the function start"), ((0x13, 0x12), "ascending order")],
)
def test_rows_start_in_the_function_and_ascend(
    addresses: tuple[int, ...], reason: str
) -> None:
    rows = tuple(LineEntry(address, "/a.c", 1) for address in addresses)
    with pytest.raises(ValueError, match=reason):
        create([FunctionInfo(0x10, 4, "f", rows)])


def test_the_empty_path_is_no_file() -> None:
    function = FunctionInfo(0x10, 4, "f", (LineEntry(0x10, "", 1),))
    file = oracle.decode_file(create([function]))
    assert file.files == ((0, 0),)
    assert file.functions[0].line_table == (oracle.LineRow(0x10, 0, 1),)


# ---- strings and files ----------------------------------------------------------


def test_equal_strings_and_files_are_stored_once_in_order_of_first_use() -> None:
    rows = tuple(
        LineEntry(0x10 + at, path, at)
        for at, path in enumerate(["/s/b.c", "/s/a.c", "/s/b.c", "/t/b.c", "f"])
    )
    file = oracle.decode_file(create([FunctionInfo(0x10, 8, "f", rows)]))
    assert file.strings == b"\0f\0/s\0b.c\0a.c\0/t\0"
    assert [
        tuple(file.string(strp).decode() for strp in entry) for entry in file.files
    ] == [("", ""), ("/s", "b.c"), ("/s", "a.c"), ("/t", "b.c"), ("", "f")]
    assert [row.file for row in file.functions[0].line_table or ()] == [1, 2, 1, 3, 4]


@pytest.mark.slow
def test_tables_stay_right_while_they_grow() -> None:
    count = 20_000
    functions = [
        FunctionInfo(
            16 * i,
            16,
            f"f{i}" * (1 + i % 9),
            (LineEntry(16 * i, f"/{i % 5000}/{i}.c", i),),
        )
        for i in range(count)
    ]
    assert decoded(create(functions)) == functions


# ---- the creator's life ---------------------------------------------------------


@pytest.mark.parametrize(
    "use",
    [
        lambda creator: creator.add(WORK),
        lambda creator: creator.to_bytes(),
        lambda creator: creator.save("/nowhere"),
    ],
)
def test_a_creator_is_used_up_once_its_file_is_made(use: Any) -> None:  # noqa: ANN401
    with Creator() as creator:
        creator.add(WORK)
        assert creator.report is None
        creator.to_bytes()
        assert creator.report is not None
        assert creator.report.functions == 1
        with pytest.raises(ClosedError):
            use(creator)


def test_nothing_is_read_of_a_file_that_was_not_made() -> None:
    with Creator(base_address=START + 1) as creator:
        creator.add(WORK)
        for _ in range(2):
            with pytest.raises(ValueError, match="no finished file"):
                next(iter_finished(handle_of(creator)))
            with pytest.raises(ValueError, match=r"below|is finished"):
                finish(creator)


def test_a_creator_is_closed_by_its_block() -> None:
    with Creator() as creator:
        creator.add(WORK)
    with pytest.raises(ClosedError):
        creator.to_bytes()
    creator.close()


def test_the_report_counts_what_the_file_holds() -> None:
    with Creator(version=2) as creator:
        for function in (WORK, HEAD, HEAD):
            creator.add(function)
        data = creator.to_bytes()
        report = creator.report
    file = oracle.decode_file(data)
    assert report is not None
    assert report._asdict() == {
        "functions_debug_info": 3,
        "functions_symbol_table": 0,
        "functions_merged": 0,
        "functions_pruned": 1,
        "functions_continued": 0,
        "functions": 2,
        "functions_with_lines": 1,
        "functions_with_inlines": 1,
        "line_rows_unused": 0,
        "duplicates_different": 0,
        "overlapping": 0,
        "strings": file.strings.count(b"\0"),
        "files": len(file.files),
        "file_size": len(data),
        "index_size": 0,
    }


def test_pieces_of_a_finished_file_are_about_a_megabyte() -> None:
    blob = bytes(range(256)) * (1 << 12)
    with Creator() as creator:
        for start in range(3):
            creator.add(FunctionInfo(start, 1, f"f{start}", extra={7: blob}))
        finish(creator)
        sizes = [len(piece) for piece in iter_finished(handle_of(creator))]
    assert sizes[:-1] == [1 << 20] * 3
    assert 0 < sizes[-1] < 1 << 20


@pytest.mark.parametrize("key", [0, 1, -1], ids=["zero", "one", "all ones"])
def test_names_made_to_share_a_hash_are_interned(key: int) -> None:
    # The hash multiplies two words of a name; the first is keyed with this number.
    word = (0x6A09E667F3BCC909 ^ key) & (1 << 64) - 1
    strp, error = ffi.new("uint64_t *"), new_error()
    with Creator() as creator:
        for i in range(10_000):
            name = struct.pack("<Q", word) + b"%08d" % i
            status = lib.gsym_creator_add_string(
                handle_of(creator), name, len(name), strp, error
            )
            check(status, error)
            assert strp[0] == 1 + 17 * i


# ---- LLVM reads what we write ---------------------------------------------------


def test_a_root_without_calls_is_not_written() -> None:
    """It repeats the function; one that names a file is a frame of its own."""
    root = InlineInfo("work", "", 0, (Range(START, START + 0x30),))
    plain = WORK._replace(inline=None)
    assert create([plain._replace(inline=root)]) == create([plain])
    frame = plain._replace(inline=root._replace(call_path="a.c"))
    assert decoded(create([frame])) == [frame]
