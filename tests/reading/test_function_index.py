"""Indexes of large functions: the same answers as decoding, whatever a record holds."""

from __future__ import annotations

import gc
import itertools
import random
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

import gsym
from gsym.engine.native import lib
from tests import oracle
from tests.engine_image import Image, outcome
from tests.handmade import SIZE, START, file_of, function_of
from tests.reading.large_functions import chain_of_calls, large_file, random_function

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

pytestmark = pytest.mark.long

FLAGS = (0, lib.GSYM_LOOKUP_LLVM)
_SIZE_OF_A_SIZE, _TABLE, _TRAILER = 8, 4, 32


def differences(data: bytes, addresses: range) -> list[tuple[int, object, object]]:
    """Addresses at which an index changes the answer."""
    plain, indexed = Image(data, 0), Image(data)
    found = []
    for flags, address in itertools.product(FLAGS, addresses):
        expected = outcome(plain, address, flags)
        for _ in range(2):
            answer = outcome(indexed, address, flags)
            if answer != expected:
                found.append((address, expected, answer))
    assert plain.index_size == 0
    return found


@pytest.mark.parametrize("seed", range(12))
def test_an_index_answers_as_decoding_does(seed: int) -> None:
    version, order = 1 + seed % 2, ("little", "big")[seed // 2 % 2]
    file = file_of(random_function(seed), version=version, byteorder=order)
    data = oracle.encode_file(file)
    assert differences(data, range(START - 2, START + SIZE + 2)) == []


@pytest.mark.parametrize("seed", range(40, 60))
def test_many_addresses_answer_as_one_by_one(seed: int) -> None:
    rng = random.Random(seed)  # noqa: S311 - no secret
    function = random_function(seed)
    twin = replace(function, size=SIZE // 2)
    after = function_of(None, None, start=START + SIZE + 5)
    data = oracle.encode_file(file_of(twin, function, after))
    reader = gsym.Reader(data)
    for count in (1, 3, 50, 3_000):
        asked = [START - 8 + rng.randrange(2 * SIZE + 30) for _ in range(count)]
        if rng.randrange(2):
            asked.sort()
        rows = reader.lookup_many(asked, misses=False).to_pylist()
        image = Image(data, 0)
        assert rows == list(expected_rows(image, asked))


def test_several_threads_answer_as_one() -> None:
    rng = random.Random(7)  # noqa: S311 - no secret
    reader = gsym.Reader(large_file())
    asked = [START - 9 + rng.randrange(SIZE + 20) for _ in range(40_000)]
    expected = reader.lookup_many(asked)
    answers = reader.lookup_many(asked, threads=3)
    assert answers.to_pylist() == expected.to_pylist()
    assert answers.found == expected.found
    with pytest.raises(ValueError, match="threads: expected at least 1, not"):
        reader.lookup_many(asked, threads=0)


def test_a_column_outlives_its_frames() -> None:
    reader = gsym.Reader(large_file())
    lines = reader.lookup_many(range(START, START + SIZE)).line
    expected = bytes(lines)
    del reader
    gc.collect()
    assert bytes(lines) == expected


def expected_rows(image: Image, asked: list[int]) -> Iterator[dict[str, object]]:
    """What `Frames.to_pylist` has to give, from lookups without an index."""
    starts = {START: 1, START + SIZE + 5: 2}
    for at, address in enumerate(asked):
        answer = image.lookup(address, 0)
        if answer is None:
            continue
        entry = starts[answer.function.start]
        if entry == 1 and answer.function.size == SIZE // 2:
            entry = 0
        for frame in answer.frames:
            yield {
                "address_index": at,
                "address": address,
                "function_index": entry,
                "name": frame.name,
                "path": frame.path,
                "line": frame.line,
                "offset": frame.offset,
                "inlined": frame.inlined,
                "found": True,
                "reason": "",
            }


def test_a_large_function_is_indexed_at_its_first_lookup() -> None:
    reader = gsym.Reader(large_file())
    assert reader.index_size == 0
    assert reader.lookup(START) is not None
    size = reader.index_size
    assert size > 0
    assert reader.lookup(START + 1) is not None
    assert reader.index_size == size


def test_an_index_in_memory_is_that_of_the_file() -> None:
    """Its bytes, that is; in memory their number is kept beside them."""
    rows = tuple(oracle.LineRow(START + n, 1, 5 + n % 90) for n in range(SIZE))
    data = oracle.encode_file(replace(file_of(function_of(rows)), version=2))
    stored = Image(data).make_index()
    reader = gsym.Reader(data)
    reader.lookup(START)
    assert reader.index_size == _SIZE_OF_A_SIZE + len(stored) - _TABLE - _TRAILER


def test_no_index_is_made_beyond_the_limit() -> None:
    reader = gsym.Reader(large_file(), index_limit=0)
    answers = [reader.lookup(START) for _ in range(3)]
    assert answers[0] == answers[2] is not None
    assert reader.index_size == 0


def test_small_functions_get_no_index() -> None:
    data = oracle.encode_file(file_of(function_of((oracle.LineRow(START, 1, 5),))))
    reader = gsym.Reader(data)
    assert [at for at in range(10) if not reader.lookup(START + at)] == []
    assert reader.index_size == 0


@pytest.mark.parametrize("value", [0x00, 0x01, 0x7F, 0x80, 0xFF])
def test_a_damaged_record_answers_as_decoding_does(value: int) -> None:
    data = large_file()
    first = gsym.Reader(data).header.strtab_offset
    for at in range(first, len(data)):
        damaged = data[:at] + bytes([value]) + data[at + 1 :]
        assert differences(damaged, range(START, START + SIZE, 51)) == [], at


def test_deep_trees_are_indexed() -> None:
    reader = gsym.Reader(chain_of_calls(200, 2))
    answers = [reader.lookup(START + n) for n in (0, 1, 0, 1, 0)]
    counts = [len(answer.frames) for answer in answers if answer]
    assert counts == [201, 200, 201, 200, 201]  # and the function itself
    assert reader.index_size > 0


def test_trees_that_would_take_long_to_flatten_are_not() -> None:
    """Each call asks for all boundaries: work by the square of the record."""
    reader = gsym.Reader(chain_of_calls(4_000, 4_000))
    for _ in range(3):
        assert reader.lookup(START) is not None
    assert reader.index_size == 0


def test_real_files_answer_the_same(fixtures: Path) -> None:
    files = sorted((fixtures / "gsym").rglob("*.gsym"))
    assert files
    for path in files:
        plain = gsym.open(path, index_limit=0)
        indexed = gsym.open(path)
        for function in itertools.islice(plain.functions(), 2_000):
            for offset in {0, function.size // 3, max(0, function.size - 1)}:
                expected = plain.lookup(function.start + offset)
                for _ in range(3):
                    assert indexed.lookup(function.start + offset) == expected
