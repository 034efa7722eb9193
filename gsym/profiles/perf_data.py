"""perf.data of Linux perf -> `Profile`: the records of the file, and its samples.

The same profile as of the text that `perf script` prints of the file, but addresses
are those in memory, exact times, and no symbols of perf.

A header has the places of the attributes of events, of the records, and of features,
which are after the records. What `perf record -o -` writes has records only. Times of
records increase within a buffer of the kernel, not in the file.

Source: linux, tools/perf/Documentation/perf.data-file-format.txt and
include/uapi/linux/perf_event.h.
"""

from __future__ import annotations

import os
import re
import struct
from array import array
from bisect import bisect_left
from collections import Counter, defaultdict
from itertools import islice

from gsym.containers.inflation import believable_size, inflate_zstd, limited
from gsym.containers.mapped_file import drop_pages, map_file
from gsym.containers.recognition import inflater_of
from gsym.engine.native import bytes_of, check, ffi, lib, new_error, new_object
from gsym.errors import FormatError
from gsym.garbage_collection import no_garbage_collection
from gsym.lazy import regex
from gsym.model import UINT64_END
from gsym.profiles import perf_features
from gsym.profiles.input_bytes import Bound, read_inflated
from gsym.profiles.perf_places import PerfFacts
from gsym.profiles.perf_reader import (
    PerfCommand,
    PerfCount,
    PerfFork,
    PerfMapping,
    PerfReader,
    symbol_frame,
)
from gsym.profiles.recognition import PERF_DATA_MAGICS
from gsym.records import NamedTuple

TYPE_CHECKING = bool()
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from typing import Any

    from gsym.profiles.model import Profile
    from gsym.profiles.opening import ProfileOptions
    from gsym.profiles.perf_features import BpfPrograms, FileSymbols

    PerfRecord = PerfCommand | PerfFork | PerfMapping

_MMAP, _LOST, _COMM, _FORK, _LOST_SAMPLES = 1, 2, 3, 7, 13
# Records of perf itself, which have no time.
_OF_PERF = 64
_ATTR, _BUILD_ID, _EVENT_UPDATE, _FEATURE = 64, 67, 78, 80
_COMPRESSED, _COMPRESSED2 = 81, 83
# Those of simpleperf.
_OF_SIMPLEPERF, _EVENT_ID = 32768, 32774

_BUILD_ID_FEATURE, _EVENT_DESC_FEATURE = 2, 12
_NAME_UPDATE = 2

# Bits of the field misc.
_MODE, _KERNEL, _GUEST_KERNEL, _GUEST_USER = 7, 1, 4, 5
_GUESTS = frozenset({_GUEST_KERNEL, _GUEST_USER})
_IS_DATA = _IS_EXEC = 1 << 13
_HAS_BUILD_ID, _HAS_BUILD_ID_SIZE = 1 << 14, 1 << 15

_EXECUTABLE = 4  # of PROT_EXEC
_HEADER_SIZE, _PIPE_HEADER_SIZE, _LEAST_ATTR_SIZE = 104, 16, 64
_FEATURES_AT, _MOST_FEATURES = 72, 256
_SHA1_SIZE = 20
_RECORDS = "records"
_CUT = "bytes of records behind the end of the file"
_DAMAGE = "damage, behind which nothing is read"
_DROPPED_SIZE = 1 << 26  # of a mapped file, whose pages are dropped at once
# Numbers of bits of an attribute, and places in it.
_IS_FREQUENCY, _HAS_ENDING, _HAS_CLOCK = 10, 18, 25
_BRANCHES_AT, _CLOCK_AT = 72, 92
_MONOTONIC = 1  # of its clocks
UNKNOWN: int = lib.GSYM_PERF_UNKNOWN
"""A time or a period."""

_LOSSES = {
    "guests": "samples of virtual machines",
    "shorts": "records that are too short",
    "branches": "branch stacks",
    "copies": "stacks of user space that only `perf script` unwinds",
    "deferred": "stacks of user space that were recorded later",
}
_HARDWARE = (
    *("cycles", "instructions", "cache-references", "cache-misses", "branches"),
    *("branch-misses", "bus-cycles", "stalled-cycles-frontend"),
    *("stalled-cycles-backend", "ref-cycles"),
)
_SOFTWARE = (
    *("cpu-clock", "task-clock", "page-faults", "context-switches"),
    *("cpu-migrations", "minor-faults", "major-faults", "alignment-faults"),
    *("emulation-faults", "dummy", "bpf-output", "cgroup-switches"),
)


class _Event:
    """An event that was counted: its name, and the layout of its samples."""

    def __init__(self, data: memoryview, order: str) -> None:
        layout = f"{order}IIQQ"
        self.kind, _, self.config, period = struct.unpack_from(layout, data)
        fields = struct.unpack_from(f"{order}3Q", data, 24)
        sample_type, read_format, flags = fields

        def has(bit: int) -> bool:
            # Bits of a field of bits begin at the other end in the other byte order.
            return bool(flags >> (bit if order == "<" else 63 - bit) & 1)

        # What a sample counts that has no period of its own.
        if has(_IS_FREQUENCY) or not period:
            period = UNKNOWN
        self.is_monotonic = False
        if len(data) >= _CLOCK_AT + 4 and has(_HAS_CLOCK):
            (clock,) = struct.unpack_from(f"{order}i", data, _CLOCK_AT)
            self.is_monotonic = clock == _MONOTONIC
        branches = 0
        if len(data) >= _BRANCHES_AT + 8:
            (branches,) = struct.unpack_from(f"{order}Q", data, _BRANCHES_AT)
        numbers = sample_type, read_format, branches, period, has(_HAS_ENDING), 0
        self.layout: Any = ffi.new("gsym_perf_event *", numbers)
        types = {0: _HARDWARE, 1: _SOFTWARE}.get(self.kind, ())
        is_known = self.config < len(types)
        self.name = types[self.config] if is_known else f"event-{self.config:#x}"


class PerfBatch(NamedTuple):
    """Samples between two other records, as columns of the same length."""

    times: memoryview  # nanoseconds
    stacks: memoryview  # numbers for `PerfData.stack`
    threads: memoryview  # numbers for `PerfData.thread`
    counts: memoryview  # indexes of `PerfData.counts`


class PerfData:
    """The records of a perf.data file, in the order of their times.

    Args:
        data: All bytes of the file.
        most_bytes: How many its compressed records may inflate to.
        parts: The other files of a folder (`perf record --threads`): records alone.
    """

    def __init__(
        self, data: memoryview, most_bytes: int, parts: Sequence[memoryview] = ()
    ) -> None:
        # of modules by path, in the order of the file
        self.build_ids: dict[str, list[str]] = {}
        # paths of those that are of the kernel and its modules
        self.kernels: list[str] = []
        # of files by path, as simpleperf writes them
        self.symbols: dict[str, FileSymbols] = {}
        self.losses: Counter[str] = Counter()  # how often each kind of data is missing
        self._bpf: dict[int, bytes] = {}
        self._data = data
        self._order = PERF_DATA_MAGICS[bytes(data[:8])]
        # of the machine: "little" or "big"
        self.byteorder = "little" if self._order == "<" else "big"
        self._header = struct.Struct(f"{self._order}IHH")
        self._events: list[_Event] = []
        self._by_id: dict[int, int] = {}  # indexes of events
        self._names: dict[tuple[int, int], str] = {}  # by kind and configuration
        self._left_ids = len(data) // 8
        self._error: Any = new_error()
        self._samples: Any = new_object(
            "perf_samples",
            lib.gsym_perf_samples_create,
            lib.gsym_perf_samples_destroy,
            self._order == ">",
        )
        self._locations: Any = ffi.NULL
        self._initial = 0, 0
        start, end = self._read_header(has_parts=bool(parts))
        self._pieces: list[memoryview] = []
        others = ((part, 0, len(part)) for part in parts)
        for piece, first, last in ((data, start, end), (data, *self._initial), *others):
            self._compressed: list[memoryview] = []  # all of a file are one stream
            if first < last:
                self._take(piece, first, last)
            inflated = inflate_zstd(self._compressed, may_be_cut=True)
            joined = memoryview(self._joined(inflated, most_bytes))
            if joined:
                self._take(joined, 0, len(joined))

    def _take(self, piece: memoryview, start: int, end: int) -> None:
        """Keep the places of the records in some bytes."""
        is_first = piece is self._data and not self._pieces
        self._pieces.append(piece)
        self._call("add_piece", bytes_of(piece), len(piece))
        place, record = ffi.new("uint64_t *", start), ffi.new("gsym_perf_record *")
        dropped = start
        try:
            while place[0] < end:
                self._call("survey", place, end, _DROPPED_SIZE, record)
                if record.size:
                    self._survey(piece, record, is_first=is_first)
                if place[0] - dropped > _DROPPED_SIZE:
                    dropped = place[0]
                    drop_pages(piece)
        except FormatError:
            if not self._has_records():
                raise
            self.losses[_DAMAGE] += 1
        drop_pages(piece)

    def _call(self, name: str, *values: Any) -> None:
        """Call a function of the engine that can fail."""
        function = getattr(lib, f"gsym_perf_samples_{name}")
        check(function(self._samples, *values, self._error), self._error)

    @property
    def is_monotonic(self) -> bool:
        """Whether times are those of the monotonic clock (`perf record -k mono`)."""
        return any(event.is_monotonic for event in self._events)

    def records(self) -> Iterator[PerfRecord | PerfBatch]:
        """The samples and what is known of memory and threads when they are taken.

        Columns are valid until the next record.
        """
        self._call("sort")
        found, count = ffi.new("gsym_perf_columns *"), ffi.new("size_t *")
        is_first = True
        while not found.is_end:
            self._call("next", _DROPPED_SIZE, found)
            # They move when there are more.
            self._locations = lib.gsym_perf_samples_locations(self._samples, count)
            if found.count:
                is_first = False
                numbers = found.stacks, found.threads, found.counts
                columns = [_column(each, 4 * found.count, "I") for each in numbers]
                yield PerfBatch(_column(found.times, 8 * found.count, "Q"), *columns)
            if found.next.size:
                try:
                    record = self._record(found.next)
                except struct.error:
                    if is_first:
                        reason = "a record is too short"
                        raise FormatError(reason, offset=found.next.place) from None
                    self.losses["records that are too short"] += 1
                else:
                    is_first = False
                    if record is not None:
                        yield record
            if found.is_pause:
                for piece in self._pieces:
                    drop_pages(piece)
        self._count_losses()

    def stack(self, number: int) -> tuple[int, memoryview]:
        """The process of a stack and the numbers of its locations, innermost first."""
        process, count = ffi.new("int32_t *"), ffi.new("size_t *")
        found = lib.gsym_perf_samples_stack(self._samples, number, process, count)
        return process[0], _column(found, 4 * count[0], "I")

    def location(self, number: int) -> tuple[int, int, bool, bool]:
        """Address, process, whether it is in the kernel, and whether it is exact."""
        each = self._locations[number]
        return each.address, each.process, bool(each.is_kernel), bool(each.is_exact)

    def thread(self, number: int) -> tuple[int, int]:
        """The process and the thread."""
        found = lib.gsym_perf_samples_threads(self._samples, ffi.new("size_t *"))
        return found[number].process, found[number].thread

    def counts(self) -> list[PerfCount]:
        """Events, periods and processors of samples."""
        count = ffi.new("size_t *")
        found = lib.gsym_perf_samples_counts(self._samples, count)
        names = [
            self._names.get((event.kind, event.config), event.name)
            for event in self._events
        ]
        counts = []
        for each in ffi.unpack(found, count[0]) if count[0] else ():
            period = None if each.period == UNKNOWN else each.period
            cpu = None if each.cpu < 0 else each.cpu
            counts.append(PerfCount(names[each.event], period, cpu))
        return counts

    def _count_losses(self) -> None:
        losses = ffi.new("gsym_perf_losses *")
        lib.gsym_perf_samples_losses(self._samples, losses)
        counts = {kind: getattr(losses, field) for field, kind in _LOSSES.items()}
        self.losses.update({kind: count for kind, count in counts.items() if count})

    def _has_records(self) -> bool:
        return bool(lib.gsym_perf_samples_record_count(self._samples))

    def bpf_programs(self) -> BpfPrograms:
        """The programs of BPF that the file describes."""
        features = perf_features.BPF_PROGRAMS, perf_features.BPF_TYPES
        about, types = (self._bpf.get(each, b"") for each in features)
        programs = perf_features.BpfPrograms(about, types, self._order)
        if programs.damaged:
            self.losses["programs of BPF that are damaged"] += programs.damaged
        return programs

    def _unpack(
        self, codes: str, place: int, data: memoryview | None = None
    ) -> tuple[int, ...]:
        data = self._data if data is None else data
        try:
            return struct.unpack_from(self._order + codes, data, place)
        except struct.error:
            place = min(place, len(data))
            raise FormatError("it is truncated", offset=place) from None

    def _section(self, place: int, what: str) -> tuple[int, int]:
        """The begin and end of the section whose place and size are at *place*."""
        start, size = self._unpack("QQ", place)
        end = start + size
        if end > len(self._data):
            if what != _RECORDS or start > len(self._data):
                reason = f"the {what} of {size} bytes at {start} end after the file"
                raise FormatError(reason, offset=place)
            self.losses[_CUT] += end - len(self._data)
            end = len(self._data)
        return start, end

    def _read_header(self, *, has_parts: bool) -> tuple[int, int]:
        """Read all but the records; return where these begin and end."""
        size, *_ = self._unpack("Q", 8)
        if size == _PIPE_HEADER_SIZE:
            return size, len(self._data)
        if size < _HEADER_SIZE:
            raise FormatError(f"a header of {size} bytes is too small", offset=8)
        entry_size, *_ = self._unpack("Q", 16)
        if entry_size < _LEAST_ATTR_SIZE + 16:
            reason = f"attributes of {entry_size} bytes are too small"
            raise FormatError(reason, offset=16)
        first, last = self._section(24, "attributes")
        for place in range(first, last - entry_size + 1, entry_size):
            event = self._add_event(self._data[place : place + entry_size - 16])
            ids = self._section(place + entry_size - 16, "ids of an event")
            self._add_ids(event, *ids)
        start, end = self._section(40, _RECORDS)
        if end == start and not has_parts:
            self.losses["ends of a recording that perf did not finish"] += 1
            return start, len(self._data)
        if _CUT not in self.losses:
            self._read_features(end)
        return start, end

    def _read_features(self, place: int) -> None:
        """Names of events and ids of modules, which are behind the records."""
        numbers = self._unpack("4Q", _FEATURES_AT)
        present = sum(number << 64 * at for at, number in enumerate(numbers))
        try:
            for feature in range(_MOST_FEATURES):
                if present >> feature & 1:
                    found = self._section(place, "data of a feature")
                    self._read_feature(feature, *found)
                    place += 16
        except FormatError:
            self.losses[
                "descriptions behind the records, as the file is cut there"
            ] += 1

    def _add_event(self, data: memoryview) -> int:
        """Add an event; return its index."""
        self._events.append(_Event(data, self._order))
        self._call("add_event", self._events[-1].layout)
        return len(self._events) - 1

    def _add_ids(self, event: int, start: int, end: int) -> None:
        count = (end - start) // 8
        self._left_ids -= count
        if self._left_ids < 0:
            reason = "events have more ids than the file has room for"
            raise FormatError(reason, offset=start)
        for number in self._unpack(f"{count}Q", start):
            self._add_id(number, event)

    def _add_id(self, number: int, event: int) -> None:
        self._by_id[number] = event
        self._call("add_id", number, event)

    def _read_feature(self, feature: int, start: int, end: int) -> None:
        if feature == _BUILD_ID_FEATURE:
            self._read_build_ids(start, end)
        elif feature == _EVENT_DESC_FEATURE:
            self._read_names(start, end)
        elif feature in {perf_features.BPF_PROGRAMS, perf_features.BPF_TYPES}:
            self._bpf[feature] = bytes(self._data[start:end])
        elif feature == perf_features.META_INFO:
            settings = perf_features.read_settings(bytes(self._data[start:end]))
            if perf_features.VERSION in settings:
                lib.gsym_perf_samples_set_exact(self._samples)
            self._names.update(perf_features.event_names(settings))
        elif feature in {perf_features.FILE, perf_features.FILE2}:
            self.symbols = perf_features.read_symbols(
                bytes(self._data[start:end]), feature, self._order
            )
        elif feature == perf_features.INIT_MAP:
            self._initial = start, end

    def _read_names(self, start: int, end: int) -> None:
        """The names of events, in the order of their attributes."""
        count, attr_size = self._unpack("II", start)
        place = start + 8
        for event in islice(self._events, count):
            ids, size = self._unpack("II", place + attr_size)
            place += attr_size + 8
            if place + size + 8 * ids > end:
                raise FormatError("the names of events are truncated", offset=start)
            event.name = _text(self._data, place, place + size) or event.name
            place += size + 8 * ids

    def _read_build_ids(self, start: int, end: int) -> None:
        place = start
        while place + self._header.size <= end:
            _, misc, size = self._header.unpack_from(self._data, place)
            if size < self._header.size or place + size > end:
                reason = f"a build id of {size} bytes, where {end - place} are left"
                raise FormatError(reason, offset=place)
            self._read_build_id(self._data, place, misc, size)
            place += size

    def _read_build_id(
        self, data: memoryview, place: int, misc: int, size: int
    ) -> None:
        first, last = place + 12, place + 36
        if size < last - place:
            raise FormatError("a build id is truncated", offset=place)
        length = data[first + _SHA1_SIZE] if misc & _HAS_BUILD_ID_SIZE else _SHA1_SIZE
        build_id = _build_id(data, first, length)
        mode, path = misc & _MODE, _text(data, last, place + size)
        if not path or not build_id or mode in _GUESTS:
            return
        found = self.build_ids.setdefault(path, [])
        if build_id not in found:
            found.append(build_id)
        if mode == _KERNEL:
            self.kernels.append(path)

    def _survey(self, data: memoryview, record: Any, *, is_first: bool) -> None:
        """Keep what is in a record without a time, of the first bytes or others."""
        place, kind, misc, size = record.offset, record.kind, record.misc, record.size
        if kind == _COMPRESSED:
            self._compressed.append(data[place + 8 : place + size])
        elif kind == _COMPRESSED2:
            (length,) = self._unpack("Q", place + 8, data)
            self._compressed.append(data[place + 16 : place + min(size, 16 + length)])
        elif kind == _EVENT_ID:
            (count,) = self._unpack("Q", place + 8, data)
            count = min(count, (size - 16) // 16)
            numbers = self._unpack(f"{2 * count}Q", place + 16, data)
            for index, number in zip(numbers[::2], numbers[1::2], strict=True):
                if index < len(self._events):
                    self._add_id(number, index)
        elif kind in {_LOST, _LOST_SAMPLES}:
            at = place + (16 if kind == _LOST else 8)
            self.losses["records lost by perf"] += sum(self._unpack("Q", at, data))
        elif kind == _BUILD_ID:
            self._read_build_id(data, place, misc, size)
        elif _OF_PERF <= kind < _OF_SIMPLEPERF and is_first:
            self._read_pipe(place, kind, size)

    def _read_pipe(self, place: int, kind: int, size: int) -> None:
        """The rest of the header, in a file that begins with a short one."""
        end = place + size
        if kind == _ATTR:
            attr_size, *_ = self._unpack("I", place + 12)
            attr_size = attr_size or _LEAST_ATTR_SIZE
            if not _LEAST_ATTR_SIZE <= attr_size <= size - 8:
                reason = f"an attribute has {attr_size} bytes"
                raise FormatError(reason, offset=place)
            first = place + 8 + attr_size
            event = self._add_event(self._data[place + 8 : first])
            self._add_ids(event, first, end)
        elif kind == _FEATURE:
            feature, *_ = self._unpack("Q", place + 8)
            self._read_feature(feature, place + 16, end)
        elif kind == _EVENT_UPDATE:
            update, number = self._unpack("QQ", place + 8)
            index = self._by_id.get(number)
            if update == _NAME_UPDATE and index is not None:
                self._events[index].name = _text(self._data, place + 24, end)

    def _joined(self, pieces: Iterator[bytes], most_bytes: int) -> bytearray:
        most = believable_size(len(self._data), most_bytes)
        joined, refused = bytearray(), FormatError(f"more than {most} bytes of data")
        try:
            for piece in limited(pieces, most, refused):
                joined += piece
        except ValueError as error:
            if not joined and not self._has_records():
                reason = f"compressed records are damaged: {error}"
                raise FormatError(reason) from error
            self.losses[_DAMAGE] += 1
        return joined

    def _record(self, found: Any) -> PerfRecord | None:
        """The contents of a record of memory or of a thread, if it matters."""
        start, end = found.offset, found.offset + found.size
        body = self._pieces[found.piece][start + self._header.size : end]
        if found.kind == _COMM:
            process, thread = struct.unpack_from(f"{self._order}ii", body)
            return PerfCommand(process, thread, _text(body, 8, len(body)))
        if found.kind == _FORK:
            numbers = struct.unpack_from(f"{self._order}4i", body)
            process, parent, thread, parent_thread = numbers
            has_maps = not found.misc & _IS_EXEC
            return PerfFork(process, parent, thread, parent_thread, has_maps)
        return None if found.misc & _IS_DATA else self._mapping(body, found)

    def _mapping(self, body: memoryview, found: Any) -> PerfMapping | None:
        process, start, size, offset = struct.unpack_from(f"{self._order}i4x3Q", body)
        place = process, start, min(size, UINT64_END - 1 - start), offset
        if found.kind == _MMAP:
            return PerfMapping(*place, _text(body, 32, len(body)))
        # A mapping with its mode, and the build id or the inode of its file.
        inode, mode = struct.unpack_from(f"{self._order}Q8xI", body, 40)
        if mode and not mode & _EXECUTABLE:
            return None
        path = _text(body, 64, len(body))
        if found.misc & _HAS_BUILD_ID:
            return PerfMapping(*place, path, _build_id(body, 36, body[32]))
        return PerfMapping(*place, path, inode=inode)


def _column(start: Any, size: int, code: Any) -> memoryview:
    """Numbers of a type of `array`."""
    column: memoryview = memoryview(ffi.buffer(start, size) if size else b"")
    return column.cast(code)


def _build_id(data: memoryview, start: int, size: int) -> str:
    """Hexadecimal digits; "" if all bytes are zeros."""
    build_id = bytes(data[start : start + min(size, _SHA1_SIZE)])
    return build_id.hex() if any(build_id) else ""


def _text(data: memoryview, start: int, end: int) -> str:
    """The text up to a zero byte."""
    return bytes(data[start:end]).partition(b"\0")[0].decode("utf-8", "replace")


DATA = "data"
"""The file with the header in a folder of `perf record --threads`."""
_PART = regex(r"data\.\d{1,6}", re.ASCII)
# Limit: Profile of `perf record`
MOST_RECORD_BYTES = Bound(1 << 30, 64)
"""The default limit: the file is mapped, but the places of all samples are kept."""


@no_garbage_collection()
def read_perf_data(path: str, options: ProfileOptions) -> Profile:
    """The profile in a file that `perf record` wrote, or in `FOLDER/data`.

    Beside that are `data.0` and others. The build ids of the options replace those that
    paths have in the file, not those that mappings have. The limit is also that of its
    compressed records.
    """
    data = map_file(path)
    most_bytes = options.most_bytes
    if most_bytes is None:
        most_bytes = MOST_RECORD_BYTES.of(len(data))
    if inflater_of(data) is not None:
        data = memoryview(read_inflated(path, most_bytes))
    parts = list(map(map_file, _parts(path)))
    if len(data) + sum(map(len, parts)) > most_bytes:
        raise FormatError(f"more than {most_bytes} bytes of data")
    file = PerfData(data, most_bytes, parts)
    known = {path: tuple(each) for path, each in file.build_ids.items()}
    facts = PerfFacts(
        {**known, **(options.build_ids or {})},
        file.kernels,
        file.byteorder,
        os.stat(path).st_mtime,
        finds_code=True,
        is_monotonic=file.is_monotonic,
        symbols=file.symbols,
        programs=file.bpf_programs(),
    )
    reader = _DataReader(file, facts)
    for record in file.records():
        if isinstance(record, PerfBatch):
            reader.take(record)
        else:
            reader.add(record)
    return reader.profile()


def _parts(path: str) -> list[str]:
    """The files with records beside that with the header, in a folder of perf."""
    folder, name = os.path.split(path)
    if name != DATA:
        return []
    found = [each for each in os.listdir(folder or ".") if _PART.fullmatch(each)]
    found.sort(key=lambda each: int(each.partition(".")[2]))
    paths = (os.path.join(folder, each) for each in found)
    return [each for each in paths if os.path.getsize(each)]


class _Numbers(dict["object", int]):
    """Indexes in the profile by numbers of the file, found at their first use."""

    __slots__ = ("_find",)

    def __init__(self, find: Callable[[int], int]) -> None:
        self._find = find

    def __missing__(self, number: int) -> int:
        found = self[number] = self._find(number)
        return found


class _DataReader(PerfReader):
    """Makes a profile of the samples of perf.data."""

    def __init__(self, file: PerfData, facts: PerfFacts) -> None:
        super().__init__(facts)
        self._file = file
        self._times = array("Q")
        self.known_threads = _Numbers(
            lambda number: self.thread(*file.thread(number), "")
        )
        self._stacks = _Numbers(self._stack)
        self._locations = _Numbers(self._location)
        # Numbers of stacks and locations of a process, which its memory changes.
        self._stacks_of: defaultdict[int, list[int]] = defaultdict(list)
        self._locations_of: defaultdict[int, list[int]] = defaultdict(list)

    def forget(self, process: int | None) -> None:
        """Forget what the memory of a process, or of the kernel, was looked up for."""
        if process is None:
            for each in (self._stacks, self._locations):
                each.clear()
            for numbers in (self._stacks_of, self._locations_of):
                numbers.clear()
            return
        for number in self._stacks_of.pop(process, ()):
            del self._stacks[number]
        for number in self._locations_of.pop(process, ()):
            del self._locations[number]

    def take(self, batch: PerfBatch) -> None:
        """Add samples, and the functions that processes make meanwhile."""
        times, jit, first = batch.times, self.places.jit, 0
        while jit.next_time is not None and jit.next_time <= times[-1]:
            time = jit.next_time
            place = bisect_left(times, time, first)
            self._take(batch, first, place)
            for process in jit.advance(time):
                self.forget(process)
            first = place
        self._take(batch, first, len(times))
        self._times.frombytes(times.cast("B"))
        self.counts.frombytes(batch.counts.cast("B"))

    def _take(self, batch: PerfBatch, first: int, end: int) -> None:
        if first < end:
            stacks, threads = batch.stacks[first:end], batch.threads[first:end]
            self.stacks.extend(map(self._stacks.__getitem__, stacks))
            self.threads.extend(map(self.known_threads.__getitem__, threads))

    def _stack(self, number: int) -> int:
        process, locations = self._file.stack(number)
        self._stacks_of[process].append(number)
        indexes = tuple(map(self._locations.__getitem__, locations))
        return self.builder.stack(indexes)

    def _location(self, number: int) -> int:
        """The location of an address in memory."""
        address, process, is_kernel, is_exact = self._file.location(number)
        if not is_kernel:
            self._locations_of[process].append(number)
        places, call = self.places, address - (not is_exact)
        part = places.part(address, process, is_kernel=is_kernel)
        mapping = places.mapping_of(part, is_kernel=is_kernel)
        if symbol := places.symbol(part, call):
            frames = (symbol_frame(symbol),)
            return self.location((address, mapping), frames, is_exact=is_exact)
        made = None if is_kernel else places.made_function(part, call, process)
        made = places.program(call) if is_kernel else made
        mapping, *found = made or (mapping,)
        return self.location((address, mapping), tuple(found), is_exact=is_exact)

    def profile(self) -> Profile:
        """The profile of what was added."""
        if not self.counts:
            raise FormatError("no perf sample found")
        for kind, count in self._file.losses.items():
            self.builder.profile.lose(kind, count)
        kinds = self._file.counts()
        times: Sequence[int | None] = self._times
        if UNKNOWN in times:
            times = [None if each == UNKNOWN else each for each in times]
        return self.finish(kinds, times)
