"""gsym.fxt: traces as files, their objects and their blobs."""

from __future__ import annotations

import gzip
import io
import os
import tracemalloc
from typing import TYPE_CHECKING

import pytest

from gsym.errors import FormatError
from gsym.fxt.blobs import blob_streams
from gsym.fxt.objects import PROCESS, THREAD, Objects
from gsym.fxt.reader import open_trace
from gsym.fxt.recognition import is_trace
from gsym.fxt.records import (
    Argument,
    Blob,
    Event,
    KernelObject,
    LargeBlob,
    Thread,
    UserspaceObject,
)
from gsym.profiles.recognition import profile_kind
from tests.inputs.fxt import Words

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

W = Words("big")
EVENTS = 10_000
TRACE = W.magic() + b"".join(W.named_event(0, time, b"e") for time in range(EVENTS))


def ticks(trace: object) -> list[int]:
    assert hasattr(trace, "__iter__")
    return [record.ticks for record in trace if isinstance(record, Event)]


@pytest.mark.parametrize("data", [TRACE, gzip.compress(TRACE)], ids=["plain", "gzip"])
def test_a_trace_is_read_from_a_path_bytes_or_a_stream(
    data: bytes, tmp_path: Path
) -> None:
    path = tmp_path / "trace.fxt"
    path.write_bytes(data)
    opened = [open_trace(path), open_trace(str(path)), open_trace(data)]
    with path.open("rb") as file:
        opened += [open_trace(file), open_trace(io.BytesIO(data))]
        for trace in opened:
            assert ticks(trace) == list(range(EVENTS))
            assert trace.problems == []
            assert trace.byteorder == "big"
            assert trace.bytes_read == len(data)
            assert trace.size in {len(data), None}


def test_a_large_record_is_read_from_the_mapped_file(
    tmp_path: Path,
) -> None:
    path, size = tmp_path / "large.fxt", (256 << 20) + 5
    head = W.magic() + W.named_event(0, 1, b"e")
    head += W(15 | (3 + size // 8 + 1) << 4 | 1 << 40, 0, size)
    with path.open("wb") as file:
        file.write(head)
        file.seek(size - 1, os.SEEK_CUR)  # a sparse file
        file.write(b"\1" + bytes(3) + W.named_event(0, 2, b"e"))
    tracemalloc.start()
    try:
        trace = open_trace(path, strict=True)
        _, first, blob, second = trace
        assert tracemalloc.get_traced_memory()[1] < 4 << 20
    finally:
        tracemalloc.stop()
    assert isinstance(blob, LargeBlob)
    assert (len(blob.data), blob.data[-1]) == (size, 1)
    assert [each.ticks for each in (first, second) if isinstance(each, Event)] == [1, 2]
    assert trace.bytes_read == trace.size == path.stat().st_size
    os.truncate(path, size)
    trace = open_trace(path)
    assert [record for record in trace if isinstance(record, LargeBlob)] == []
    there = size - len(head) + 24
    reason = f"the trace ends inside a record after {there} bytes"
    assert trace.problems == [(len(head) - 24, reason)]


@pytest.mark.parametrize("compress", [bytes, gzip.compress])
def test_a_big_endian_trace_needs_no_magic_number(
    compress: Callable[[bytes], bytes], tmp_path: Path
) -> None:
    path = tmp_path / "trace.fxt"
    path.write_bytes(compress(W.initialization(2) + TRACE[8 : 8 + 40 * 99]))
    assert profile_kind(os.fspath(path)) == "fxt"
    trace = open_trace(path, strict=True)
    assert ticks(trace) == list(range(99))
    assert trace.byteorder == "big"


@pytest.mark.parametrize(
    "line", ["line of a text", "* item of a list", "zzzzzzz", "main;f24 1"]
)
def test_text_is_not_a_trace(line: str) -> None:
    assert not is_trace(f"{line}\n".encode() * 2000)


# Of each type of record a valid header, bits that must be 0, and bits that stand for
# what it says: changed, the record is another one of the same size.
_RECORDS = {
    "provider": (0 | 2 << 4 | 1 << 16, (), (20, 32, 52, 63)),
    "initialization": (1 | 2 << 4, range(16, 64), ()),
    "string": (2 | 2 << 4 | 1 << 32, (31, *range(47, 64)), (16, 30, 34)),
    "thread": (3 | 3 << 4, range(24, 64), (16, 23)),
    "event": (4 | 2 << 4, (), (16, 20, 24, 63)),
    "blob": (5 | 2 << 4, (47, *range(56, 64)), (16, 32, 46, 48, 55)),
    "userspace object": (6 | 3 << 4, range(44, 64), (16, 24, 43)),
    "kernel object": (7 | 3 << 4, range(44, 64), (16, 24, 43)),
    "scheduling": (8 | 3 << 4 | 1 << 60, (), (16, 43)),
    "log": (9 | 3 << 4, (31, *range(40, 64)), (16, 30, 32, 39)),
    "large": (15 | 3 << 4, (*range(36, 40), *range(44, 64)), (40, 43)),
}


def _one_record(header: int) -> bytes:
    bits = 32 if header & 15 == 15 else 12
    words = header >> 4 & (1 << bits) - 1
    return W(header) + bytes(8 * max(words - 1, 0))


@pytest.mark.parametrize("name", _RECORDS)
def test_a_record_alone_is_a_trace_if_its_header_is_valid(name: str) -> None:
    header, zeros, used = _RECORDS[name]
    whole = _one_record(header)
    assert is_trace(whole)
    assert not is_trace(whole[:-8])
    assert not is_trace(whole + bytes(8))
    for bit in used:
        assert is_trace(_one_record(header ^ 1 << bit)), bit
    for bit in zeros:
        assert not is_trace(_one_record(header | 1 << bit)), bit


@pytest.mark.parametrize(
    ("header", "is_valid"),
    [
        (0 | 33 << 4 | 1 << 16, True),
        (0 | 34 << 4 | 1 << 16, False),
        (0 | 2 << 4, False),
        (0 | 2 << 4 | 4 << 16, True),
        (0 | 2 << 4 | 5 << 16, False),
        (1 | 1 << 4, False),
        (1 | 4 << 4, True),
        (1 | 5 << 4, False),
        (2 | 1 << 4, True),
        (2 | 2 << 4 | 8 << 32, True),
        (2 | 2 << 4 | 9 << 32, False),
        (2 | 0xFFF << 4 | 0x7FF0 << 32, True),
        (3 | 2 << 4, False),
        (3 | 4 << 4, False),
        (4 | 1 << 4 | 10 << 16, True),
        (4 | 1 << 4 | 11 << 16, False),
        (8 | 1 << 4 | 2 << 60, True),
        (8 | 1 << 4 | 3 << 60, False),
        (10 | 1 << 4 | 2 << 16, True),
        (10 | 1 << 4 | 3 << 16, False),
        (11 | 1 << 4, False),
        (14 | 1 << 4, False),
        (15 | 0x1001 << 4, True),
        (4, False),
    ],
)
def test_sizes_and_subtypes_of_headers_are_limited(
    header: int,
    is_valid: bool,  # noqa: FBT001
) -> None:
    assert is_trace(_one_record(header)) == is_valid


@pytest.mark.parametrize(("count", "is_enough"), [(0, False), (7, False), (8, True)])
def test_eight_records_in_front_of_damage_are_a_trace(
    count: int,
    is_enough: bool,  # noqa: FBT001
) -> None:
    assert is_trace(W(4 | 1 << 4) * count + W(11 | 1 << 4)) == is_enough


def test_two_records_are_a_trace_even_if_the_last_one_goes_on() -> None:
    assert is_trace(W(4 | 1 << 4) + W(4 | 3 << 4) + bytes(3))
    assert not is_trace(W(4 | 3 << 4) + bytes(3))


class _Trickle(io.RawIOBase):
    """A file that gives a byte at a time."""

    def __init__(self, data: bytes) -> None:
        self._left = io.BytesIO(data)

    def read(self, size: int = -1) -> bytes:
        return self._left.read(min(size, 1))


@pytest.mark.parametrize("data", [TRACE[:4000], gzip.compress(TRACE[:4000])])
def test_a_trace_may_come_byte_by_byte(data: bytes) -> None:
    assert ticks(open_trace(_Trickle(data))) == list(range(99))


def test_records_of_a_pipe_are_returned_immediately() -> None:
    reading, writing = os.pipe()
    with os.fdopen(reading, "rb") as source, os.fdopen(writing, "wb", 0) as sink:
        sink.write(TRACE[: 8 + 40])
        records = iter(open_trace(source))
        next(records)
        assert isinstance(next(records), Event)


def test_a_truncated_gzip_stream_is_read_to_its_end() -> None:
    whole = gzip.compress(TRACE)
    trace = open_trace(whole[:-100])
    found = ticks(trace)
    assert found == list(range(len(found)))
    assert 0 < len(found) < EVENTS
    (damage, *_) = trace.problems
    assert damage.reason == "damaged compressed stream: it is truncated"
    with pytest.raises(FormatError, match="it is truncated"):
        ticks(open_trace(whole[:-100], strict=True))


def test_an_empty_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "empty").touch()
    with pytest.raises(FormatError, match="empty"):
        open_trace(tmp_path / "empty")
    assert list(open_trace(b"")) == []


# ---- blobs


def test_blobs_of_one_name_and_provider_are_one_stream() -> None:
    records = (
        Blob("a", 3, b"1", 5),
        Blob("b", 1, b"2", 5),
        Blob("a", 3, b"3", 6),
        Event("instant", 1, 1, 1, "", ""),
        Blob("a", 3, b"4", 5),
        LargeBlob("cat", "a", b"5", provider=5),
        LargeBlob("", "a", b"6", provider=5),
    )
    assert blob_streams(records) == [
        (5, "", "a", 3, [b"1", b"4"]),
        (5, "", "b", 1, [b"2"]),
        (6, "", "a", 3, [b"3"]),
        (5, "cat", "a", None, [b"5"]),
        (5, "", "a", None, [b"6"]),
    ]


# ---- objects


def test_objects_of_the_same_provider_are_preferred() -> None:
    objects = Objects()
    objects.add(KernelObject(7, PROCESS, "of one", provider=1))
    objects.add(KernelObject(7, PROCESS, "another name", provider=2))
    objects.add(UserspaceObject(0xA, 7, "thing of one", provider=1))
    objects.add(UserspaceObject(0xA, 7, "thing of two", provider=2))
    koid, pointer = Argument("k", "koid", 7), Argument("p", "pointer", 0xA)
    names = {
        provider: [
            None if found is None else found.name
            for found in (
                objects.referent(koid, 7, provider),
                objects.referent(pointer, 7, provider),
                objects.referent(pointer, 8, provider),
                objects.referent(Argument("n", "uint64", 7), 7, provider),
            )
        ]
        for provider in (1, 2, 3)
    }
    assert names == {
        1: ["of one", "thing of one", None, None],
        2: ["another name", "thing of two", None, None],
        3: ["another name", "thing of two", None, None],
    }


def test_the_latest_complete_name_is_used() -> None:
    objects = Objects()
    for name in ("init", "initial", "main", "another"):
        objects.add(KernelObject(7, PROCESS, name))
    assert objects.name_of(7) == "another"
    assert objects.name_of(8) is None


def test_the_process_of_a_thread_comes_from_any_record() -> None:
    objects = Objects()
    objects.add(KernelObject(70, THREAD, "t", (Argument("process", "koid", 7),)))
    objects.add(Thread(1, 8, 80))
    objects.add(Event("instant", 1, 9, 90, "", ""))
    objects.add(Event("instant", 1, 2**64 - 1, 91, "", ""))
    found = [objects.process_of(thread) for thread in (70, 80, 90, 91)]
    assert found == [7, 8, 9, None]


def test_a_process_and_its_thread_may_share_a_koid() -> None:
    objects = Objects()
    objects.add(KernelObject(7, PROCESS, "app", (), 1))
    objects.add(KernelObject(7, THREAD, "main thread", (), 1))
    for provider in (None, 1, 2):
        assert objects.name_of(7, provider, PROCESS) == "app"
        assert objects.name_of(7, provider, THREAD) == "main thread"
        assert objects.name_of(7, provider) == "main thread"
    assert objects.name_of(8, 1, PROCESS) is None
