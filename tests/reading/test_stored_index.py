"""The index in a file: the same answers as decoding, and no trust in its bytes."""

from __future__ import annotations

import itertools
import os
import random
import subprocess
from bisect import bisect_left, bisect_right
from contextlib import suppress
from dataclasses import replace
from itertools import cycle
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings, strategies as st

import gsym
from gsym.cli.dropins import gsymutil
from gsym.cli.main import main
from gsym.engine.native import lib
from gsym.verification.check import check_structure
from gsym.writing.selection import write_segments
from tests import oracle
from tests.embeddings import UUID, elf, macho
from tests.engine_image import Image, outcome
from tests.guarded import GuardedMemory
from tests.handmade import SIZE, START, file_of, function_of
from tests.inputs.elf import Symbol
from tests.inputs.encoding import uleb
from tests.inputs.scaled import depth_of_inlined_calls, rows_of_a_function
from tests.oracle.decode import decode_inline
from tests.reading.large_functions import chain_of_calls, random_function
from tests.strategies import BYTE_ORDERS

if TYPE_CHECKING:
    from pathlib import Path

    from tests.inputs.encoding import ByteOrder
    from tests.oracle.index import Checkpoint

pytestmark = pytest.mark.long

FLAGS = (0, lib.GSYM_LOOKUP_LLVM)
KINDS = [(1, "little"), (1, "big"), (2, "little"), (2, "big")]
TRAILER_SIZE = 32
FILE_MULTIPLE = 512
ALIGNMENT = 8
EVERYWHERE = range(START - 2, START + SIZE + 2)


def with_index(data: bytes) -> bytes:
    """A file of version 1 and the index that belongs to it, whatever it holds."""
    padding = bytes(-len(data) % ALIGNMENT)
    return data + padding + Image(data).make_index()


def with_index_section(file: oracle.GsymFile) -> tuple[bytes, bytes]:
    """A file of version 2 whose index says nothing, and with the one it should have."""
    size = len(Image(oracle.encode_file(file)).make_index())
    blank = bytes(size - 1) + b"\xff"
    sections = {lib.GSYM_SECTION_INDEX: blank}
    data = oracle.encode_file(replace(file, extra_sections=sections))
    return data, data.replace(blank, Image(data).make_index())


def differences(plain: bytes, indexed: bytes, addresses: range) -> list[object]:
    """Addresses at which the stored index changes an answer."""
    images = Image(plain, 0), Image(indexed, 0)
    assert images[0].indexed_functions == 0
    found: list[object] = []
    for flags, address in itertools.product(FLAGS, addresses):
        answers = [outcome(image, address, flags) for image in images]
        if answers[0] != answers[1]:
            found.append((address, flags, *answers))
    return found


def orderly_calls(
    rng: random.Random, start: int, end: int, depth: int
) -> tuple[gsym.InlineInfo, ...]:
    """Calls side by side in start <= address < end, with such calls in themselves."""
    count = min(rng.choice([0, 1, 2, 5]), (end - start) // 2) if depth < 6 else 0
    cuts = sorted(rng.sample(range(start, end + 1), 2 * count))
    ranges = [gsym.Range(*pair) for pair in zip(cuts[::2], cuts[1::2], strict=True)]
    groups = [tuple(ranges[at : at + 2]) for at in range(0, count, 2)]
    return tuple(
        gsym.InlineInfo(
            *(f"call_{rng.randrange(9)}", f"/src/{rng.randrange(9)}.h"),
            *(rng.randrange(9_000), group),
            orderly_calls(rng, *group[0], depth + 1),
        )
        for group in groups
    )


def orderly_function(seed: int, start: int) -> gsym.FunctionInfo:
    """One that a creator takes."""
    rng = random.Random(seed)  # noqa: S311 - no secret
    end = start + 2_000
    rows = tuple(
        gsym.LineEntry(at, f"/src/{rng.randrange(9)}.c", rng.randrange(90_000))
        for at in sorted(rng.sample(range(start, end), 200))
    )
    calls = orderly_calls(rng, start, end, 0)
    root = gsym.InlineInfo(f"f{seed}", "", 0, (gsym.Range(start, end),), calls)
    return gsym.FunctionInfo(start, end - start, f"f{seed}", rows, root)


def created(count: int = 4, *, index: bool = True, **options: object) -> bytes:
    with gsym.Creator(index=index, **options) as creator:  # type: ignore[arg-type]
        for seed in range(count):
            creator.add(orderly_function(seed, START + 0x1000 * seed))
        creator.add(gsym.FunctionInfo(START + 0x1000 * count, 8, "small"))
        return creator.to_bytes()


def findings(folder: Path, data: bytes) -> list[str]:
    path = folder / "file.gsym"
    path.write_bytes(data)
    return [reason for _, reason in check_structure(os.fspath(path))]


# ---- answers -----------------------------------------------------------------------


@pytest.mark.parametrize(("version", "byteorder"), KINDS)
def test_it_answers_as_decoding_does(version: int, byteorder: ByteOrder) -> None:
    for seed in range(3 * version, 3 * version + 3):
        file = file_of(random_function(seed), version=version, byteorder=byteorder)
        if version == 1:
            plain = oracle.encode_file(file)
            indexed = with_index(plain)
        else:
            plain, indexed = with_index_section(file)
        assert Image(indexed).indexed_functions == 1
        assert differences(plain, indexed, EVERYWHERE) == []


@pytest.mark.parametrize("depth", [3, 30, 300])
def test_it_answers_as_decoding_does_in_deep_trees(depth: int) -> None:
    data = chain_of_calls(depth, 20)
    indexed = with_index(data)
    assert Image(indexed).indexed_functions == (depth > 3)
    asked = range(START - 1, START + 45)
    plain = gsym.Reader(data, index_limit=0)
    assert [plain.lookup(at) for at in asked] == [
        gsym.Reader(indexed).lookup(at) for at in asked
    ]


@pytest.mark.parametrize(("version", "order"), KINDS)
@pytest.mark.parametrize(
    "elf_file",
    [rows_of_a_function(400), depth_of_inlined_calls(100)],
    ids=["rows", "calls"],
)
def test_workers_write_the_index_that_records_have(
    elf_file: bytes, version: int, order: ByteOrder, tmp_path: Path
) -> None:
    binary = tmp_path / "binary"
    binary.write_bytes(elf_file)
    report = gsym.convert(
        binary, no_symbols=True, output_version=version, byteorder=order
    )
    (output,) = report.outputs
    assert report.index_size > 0
    assert check_structure(output) == []


def test_trees_that_would_take_long_to_index_are_not() -> None:
    assert Image(with_index(chain_of_calls(4_000, 4_000))).indexed_functions == 0


def test_frames_beyond_the_room_are_counted() -> None:
    """The engine writes the innermost ones; what it counts is the same."""
    data = chain_of_calls(200, 2)
    images = Image(data, 0), Image(with_index(data), 0)
    rooms = (0, 1, 5, 199, 200, 201)
    for room, address in itertools.product(rooms, (START, START + 1)):
        plain, indexed = (image.frames(address, room) for image in images)
        assert plain == indexed
        assert plain[0] > 199


@pytest.mark.parametrize(("version", "byteorder"), KINDS)
def test_a_creator_writes_it(version: int, byteorder: str, tmp_path: Path) -> None:
    plain = gsym.Reader(created(index=False, version=version, byteorder=byteorder))
    data = created(version=version, byteorder=byteorder)
    indexed = gsym.Reader(data)
    assert plain.stored_index_size == 0
    assert 0 < indexed.stored_index_size < indexed.size / 3
    assert findings(tmp_path, data) == []
    for address in range(START, START + 0x4010, 3):
        assert indexed.lookup(address) == plain.lookup(address)
    assert indexed.index_size == 0  # no other was made
    asked = range(START, START + 0x4010)
    assert (
        indexed.lookup_many(asked).to_pylist() == plain.lookup_many(asked).to_pylist()
    )
    assert list(indexed.functions()) == list(plain.functions())


def test_a_file_of_version_1_with_one_shows_it_by_its_size() -> None:
    """Of others the last page need not be read at all."""
    sizes = [len(created(count)) for count in range(1, 9)]
    assert {size % FILE_MULTIPLE for size in sizes} == {0}
    assert len(set(sizes)) > 1


# ---- as docs/format.md describes it ------------------------------------------------


@pytest.mark.parametrize(
    ("seed", "byteorder"), [*zip(range(8), cycle(BYTE_ORDERS), strict=False)]
)
def test_its_numbers_lead_to_rows_and_calls(seed: int, byteorder: ByteOrder) -> None:
    function = random_function(seed)
    data = oracle.encode_file(file_of(function, byteorder=byteorder))
    (index,) = oracle.decode_index(Image(data).make_index(), byteorder).values()
    encoder = oracle.Encoder(byteorder, 4)
    rows, tree = function.line_table or (), function.inline
    if rows:
        lines = oracle.encode_line_table(rows, START)
        assert index.line_table_size == len(lines)
        assert len(index.checkpoints) == (len(lines) - 1) // 64
        for at in index.checkpoints:
            rest = rest_of(lines, at, byteorder)
            assert rest == rows[len(rows) - len(rest) :]
            row = oracle.LineRow(START + at.offset, at.file, at.line)
            assert rows[-len(rest) - 1] == row
    assert tree is not None
    calls = encoder.inline(tree, START)
    assert index.inline_info_size == len(calls)
    for offset in range(seed, SIZE, 8) if index.call_checkpoints else ():
        names = stored_names(index, calls, offset, byteorder)
        assert names == names_around(tree, START + offset), offset


def rest_of(
    lines: bytes, at: Checkpoint, byteorder: ByteOrder
) -> tuple[oracle.LineRow, ...]:
    """The rows after a checkpoint."""
    head = oracle.Cursor(lines, byteorder, 4)
    head.sleb(), head.sleb()  # the deltas
    state = uleb(at.line) + b"\1" + uleb(at.file)
    resumed = lines[: head.offset] + state + lines[at.location :]
    cursor = oracle.Cursor(resumed, byteorder, 4)
    return oracle.decode_line_table(cursor, START + at.offset)


def names_around(call: oracle.InlineInfo | None, address: int) -> list[int]:
    """The names of the calls that cover an address, outermost first."""
    names = []
    while call is not None and call.contains(address):
        names.append(call.name)
        inner = (each for each in call.children if each.contains(address))
        call = next(inner, None)
    return names


def stored_names(
    index: oracle.FunctionIndex, calls: bytes, offset: int, byteorder: ByteOrder
) -> list[int]:
    """The same by the index."""
    known = [each for each in index.call_checkpoints if each.offset <= offset]
    if not known:
        return []
    _, number, location = known[-1]
    base = START
    names: list[int] = []
    is_walked = number == 0 or location != 0
    while number:
        node = index.nodes[number - 1]
        if not names:
            base += node.offset
        names.insert(0, int.from_bytes(calls[node.location :][:4], byteorder))
        number = node.node
    cursor = oracle.Cursor(calls, byteorder, 4)
    cursor.take(location)
    while is_walked and cursor.offset < location + 72:
        call = decode_inline(cursor, base)
        if call is None or (location == 0 and not call.contains(START + offset)):
            break
        if call.contains(START + offset):
            return names + names_around(call, START + offset)
    return names


# ---- real files --------------------------------------------------------------------


def test_real_files_answer_the_same(gsym_fixtures: Path, tmp_path: Path) -> None:
    paths = sorted(gsym_fixtures.glob("*.gsym"))
    assert paths
    for path in paths:
        target = tmp_path / path.name
        report = gsym.convert(path, target)
        assert check_structure(os.fspath(target)) == []
        plain, indexed = gsym.open(path, index_limit=0), gsym.open(target)
        assert indexed.stored_index_size == report.index_size
        assert report.index_size < 0.3 * plain.size + FILE_MULTIPLE
        for function in plain.functions():
            for offset in range(max(1, min(function.size, 300))):
                address = function.start + offset
                answer = plain.lookup(address, merged=True)
                assert indexed.lookup(address, merged=True) == answer


@pytest.mark.parametrize("option", ["", "--verify", "--verbose"])
def test_llvm_passes_over_it(
    gsym_fixtures: Path, tmp_path: Path, llvm_gsymutil: str, option: str
) -> None:
    source = gsym_fixtures / "shapes.v1.22.gsym"
    texts = []
    for index in (False, True):
        folder = tmp_path / str(index)
        folder.mkdir()
        gsym.convert(source, folder / "a.gsym", index=index)
        texts.append(_llvm_texts(llvm_gsymutil, folder, option))
    assert texts[0] == texts[1]
    assert "function" in texts[0] or "inlined" in texts[0] or "Address" in texts[0]


def _llvm_texts(program: str, folder: Path, option: str) -> str:
    with gsym.open(folder / "a.gsym") as reader:
        starts = [function.start for function in reader.functions()]
    asked = [f"--address={start + offset}" for start in starts for offset in (0, 3, 9)]
    arguments = [option] if option else []
    return "".join(
        subprocess.run(
            [program, "a.gsym", *arguments, *more],
            cwd=folder,
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for more in ([], asked)
    )


# ---- the starts in it --------------------------------------------------------------

SPACING = 4096  # bytes of the address table


def address_table(rng: random.Random, count: int, width: int) -> list[int]:
    """Ascending offsets from 0 on that may be skewed, far apart, or all the same."""
    most = (1 << 8 * width) - 1 >> (width == 8)
    low = most >> rng.choice([0, 4 * width, 8 * width - 4, 8 * width])
    share = rng.choice([0, 0.01, 0.5, 1])
    ends = [low if rng.random() < share else most for _ in range(count - 1)]
    return [0, *sorted(rng.randint(0, end) for end in ends)]


def file_with_table(
    offsets: list[int], width: int, version: int, byteorder: ByteOrder
) -> tuple[bytes, bytes]:
    """A file with these offsets and one large record, and with its index."""
    record = random_function(3)
    functions = [function_of(start=START + at) for at in offsets[1:]]
    file = file_of(
        record,
        *functions,
        addr_off_size=width,
        version=version,
        byteorder=byteorder,
    )
    if version == 2:
        return oracle.encode_file(file), with_index_section(file)[1]
    data = oracle.encode_file(file)
    return data, with_index(data)


def expected_entries(offsets: list[int], address: int) -> range:
    last = bisect_right(offsets, address - START) - 1
    if last < 0:
        return range(0)
    return range(bisect_left(offsets, offsets[last]), last + 1)


@given(
    st.sampled_from(KINDS),
    st.sampled_from([1, 2, 4, 8]),
    st.floats(0, 3),
    st.integers(0, 1 << 32),
    st.binary(min_size=16, max_size=16),
)
@settings(max_examples=settings().max_examples // 2, deadline=None)
def test_starts_lead_to_the_same_entries(
    kind: tuple[int, ByteOrder], width: int, pages: float, seed: int, noise: bytes
) -> None:
    """Also those that are not true."""
    rng = random.Random(seed)  # noqa: S311 - no secret
    count = max(1, int(pages * SPACING / width))
    offsets = address_table(rng, count, width)
    plain, indexed = file_with_table(offsets, width, *kind)
    starts = [offsets[at] for at in range(0, count, SPACING // width)]
    size = len(starts) * width if len(starts) > 1 else 0
    end = len(indexed) - TRAILER_SIZE
    stored = b"".join(start.to_bytes(width, kind[1]) for start in starts)[:size]
    assert indexed[end - size : end] == stored
    false = indexed[: end - size] + (noise * size)[:size] + indexed[end:]
    images = [Image(data) for data in (plain, indexed, false)]
    assert [image.indexed_functions for image in images] == [0, 1, 1]
    firsts = range(0, count, SPACING // width)
    edges = [at for first in firsts for at in (first, max(0, first - 1))]
    numbers = [*edges, *rng.choices(range(count), k=40)]
    for number, step in itertools.product(numbers, (-1, 0, 1)):
        address = START + offsets[number] + step
        if address < 1 << 64:
            expected = expected_entries(offsets, address)
            assert [image.entries(address) for image in images] == [expected] * 3


def test_an_index_without_starts_is_read_and_stays_as_it_is() -> None:
    offsets = list(range(0, 1_500 * 8, 8))
    _, indexed = file_with_table(offsets, 4, 1, "little")
    end = len(indexed) - TRAILER_SIZE
    trailer = bytearray(indexed[end:])
    assert trailer[24] == 3
    trailer[24] = 2
    older = indexed[: end - 2 * 4] + bytes(2 * 4) + trailer
    image = Image(older)
    assert image.indexed_functions == 1
    for address in range(START - 2, START + offsets[-1] + 20, 3):
        assert image.entries(address) == expected_entries(offsets, address)
    for data in (older, indexed):
        made = Image(data).make_index()
        assert made
        assert data.endswith(made)


# ---- what becomes of it ------------------------------------------------------------


@pytest.mark.parametrize("version", [1, 2])
def test_a_file_without_large_functions_has_none(tmp_path: Path, version: int) -> None:
    data = created(0, version=version)
    assert data == created(0, index=False, version=version)
    assert Image(data).make_index() == b""
    assert findings(tmp_path, data) == []


def test_the_drop_in_command_writes_none(tmp_path: Path) -> None:
    elf_file, target = tmp_path / "o", str(tmp_path / "out")
    elf_file.write_bytes(rows_of_a_function(500))
    assert gsym.convert(elf_file, target).index_size > 0
    assert gsymutil.main(["--convert", str(elf_file), "--out-file", target]) == 0
    assert gsym.open(target).stored_index_size == 0


def test_it_is_made_anew_where_a_file_is(tmp_path: Path) -> None:
    first, second, third = (tmp_path / name for name in "abc")
    gsym.convert(_written(tmp_path / "made", created()), first)
    gsym.convert(first, second, output_version=2)
    gsym.convert(second, third, output_version=1)
    assert first.read_bytes() == third.read_bytes()
    assert [
        path for path in (first, second, third) if not gsym.open(path).stored_index_size
    ] == []
    assert check_structure(os.fspath(second)) == []


def test_each_segment_has_its_own(tmp_path: Path) -> None:
    paths, _ = write_segments(created(8), str(tmp_path / "out"), 4_000)
    assert len(paths) > 1
    assert [path for path in paths if not gsym.open(path).stored_index_size] == []
    merged = str(tmp_path / "merged")
    gsym.merge_files(paths, merged)
    assert gsym.open(merged).stored_index_size
    assert check_structure(merged) == []


def test_an_embedded_file_keeps_it(tmp_path: Path) -> None:
    source = _written(tmp_path / "made", created(uuid=UUID))
    for number, made in enumerate((elf().to_bytes(), macho().to_bytes())):
        binary = tmp_path / f"program{number}"
        binary.write_bytes(made)
        assert not gsym.embed(source, binary).index_dropped
        with gsym.open(binary) as reader, gsym.open(source) as plain:
            assert reader.stored_index_size == plain.stored_index_size
            assert reader.lookup(START + 99) == plain.lookup(START + 99)
        assert check_structure(os.fspath(binary)) == []


@pytest.mark.parametrize("version", [1, 2])
def test_only_version_2_has_a_place_beside_shared_strings(
    version: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    binary, target = tmp_path / "program", str(tmp_path / "out")
    binary.write_bytes(elf(symbols=(Symbol("f1", START),)).to_bytes())
    source = _written(tmp_path / "own", created(version=version, uuid=UUID))
    arguments = [source, str(binary), "--share-strings", "-o", target]
    assert main(["embed", *arguments]) == 0
    assert ("loses its index" in capsys.readouterr().err) == (version == 1)
    assert (gsym.open(target).stored_index_size > 0) == (version == 2)
    assert check_structure(target) == []


def _written(path: Path, data: bytes) -> str:
    path.write_bytes(data)
    return str(path)


def test_commands_report_its_size(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    source = _written(tmp_path / "made", created(index=False))
    target = str(tmp_path / "out")
    assert main(["convert", source, "-o", target]) == 0
    size = gsym.open(target).stored_index_size
    assert f"{size} of them index" in capsys.readouterr().out
    assert main(["stats", target]) == 0
    assert f"  index {size:>31,}" in " ".join(capsys.readouterr().out.split("\n"))
    assert main(["stats", "--json", target]) == 0
    assert f'"function_index": {size}' in capsys.readouterr().out
    assert main(["dump", target]) == 0
    assert f"index         {size} bytes" in capsys.readouterr().out
    assert main(["merge", source, "-o", target, "--quiet"]) == 0
    assert gsym.open(target).stored_index_size == size
    for verb in ("convert", "merge"):
        assert main([verb, source, "-o", target, "--no-index", "--quiet"]) == 0
        assert gsym.open(target).stored_index_size == 0


# ---- indexes that are not to be trusted ----------------------------------------------


def small_indexed(version: int, byteorder: ByteOrder) -> tuple[bytes, int]:
    """A file of two functions, and where its index begins."""
    data = created(2, version=version, byteorder=byteorder)
    return data, len(data) - gsym.Reader(data).stored_index_size


@pytest.mark.parametrize(("version", "byteorder"), [(1, "little"), (2, "big")])
def test_every_changed_byte_is_found_and_does_no_harm(
    version: int, byteorder: ByteOrder, tmp_path: Path
) -> None:
    data, start = small_indexed(version, byteorder)
    memory = GuardedMemory(len(data))
    for at in range(start, len(data)):
        values = {0, 0xFF, data[at] ^ 1, data[at] ^ 0x80} - {data[at]}
        value = sorted(values)[at % len(values)]
        damaged = data[:at] + bytes([value]) + data[at + 1 :]
        ask_everything(memory.hold(damaged))
        assert findings(tmp_path, damaged), at


@pytest.mark.parametrize(("version", "byteorder"), KINDS)
def test_one_of_another_file_is_not_used(
    version: int, byteorder: ByteOrder, tmp_path: Path
) -> None:
    """It tells by the header: here the base address is another."""
    data, _ = small_indexed(version, byteorder)
    low = 8 if byteorder == "little" else 15
    other = data[:low] + b"\x80" + data[low + 1 :]
    plain = created(2, index=False, version=version, byteorder=byteorder)
    moved = plain[:low] + b"\x80" + plain[low + 1 :]
    with gsym.Reader(other) as reader, gsym.Reader(moved) as expected:
        assert reader.stored_index_size == 0
        for address in range(START, START + 0x1100, 5):
            assert reader.lookup(address) == expected.lookup(address)
    assert any(
        "made for another file" in reason for reason in findings(tmp_path, other)
    )


def test_one_for_another_record_is_passed_over() -> None:
    """Its lengths tell: the header is the same for both records."""
    files = [oracle.encode_file(file_of(random_function(seed))) for seed in (3, 5)]
    size = -(-max(map(len, files)) // FILE_MULTIPLE) * FILE_MULTIPLE
    one, other = (file.ljust(size, b"\0") for file in files)
    indexed = other + Image(one).make_index()
    assert Image(indexed).indexed_functions == 1
    assert differences(other, indexed, EVERYWHERE) == []


def ask_everything(data: memoryview) -> None:
    with suppress(gsym.GsymError):
        reader = gsym.Reader(data)
        for address in range(START - 1, START + 0x2010, 41):
            with suppress(gsym.GsymError):
                reader.lookup(address)
        reader.lookup_many(range(START, START + 0x2010, 97)).to_pylist()


@given(
    st.sampled_from(KINDS),
    st.lists(st.tuples(st.integers(0, 1 << 20), st.binary(min_size=1, max_size=9))),
    st.integers(0, 60),
)
def test_changed_bytes_do_no_harm(
    kind: tuple[int, ByteOrder], changes: list[tuple[int, bytes]], cut: int
) -> None:
    data, start = small_indexed(*kind)
    damaged = bytearray(data)
    end = len(data) - TRAILER_SIZE
    for offset, values in changes:
        at = start + offset % (end - start)
        damaged[at:end] = (values + damaged[at + len(values) : end])[: end - at]
    memory = GuardedMemory(len(data))
    ask_everything(memory.hold(bytes(damaged)))
    ask_everything(memory.hold(bytes(damaged)[: len(data) - cut]))


def test_nodes_around_themselves_end() -> None:
    """Each number of the index becomes each other one that could stand there."""
    plain = chain_of_calls(30, 20)
    data = with_index(plain)
    size = len(data) - len(plain) - TRAILER_SIZE
    for at, value in itertools.product(range(len(plain), len(plain) + size), range(32)):
        damaged = data[:at] + bytes([value]) + data[at + 1 :]
        if not any(damaged[at - 1 : at + 1]):
            continue  # zeros that fill it up
        image = Image(damaged, 0)
        for address in (START, START + 21):
            with suppress(gsym.GsymError):
                assert image.frames(address, 0)[0] <= 2 * 31


def test_damaged_records_do_no_harm() -> None:
    data, start = small_indexed(1, "little")
    first = gsym.Reader(data).header.strtab_offset
    memory = GuardedMemory(len(data))
    for at in range(first, start, 5):
        value = (0x00, 0x80, 0xFF)[at % 3]
        damaged = data[:at] + bytes([value]) + data[at + 1 :]
        ask_everything(memory.hold(damaged))
