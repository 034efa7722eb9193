"""Parse perf.data, the file of Linux perf, into its records.

A header has the places of the attributes of events, of the records, and of features,
which are after the records. What `perf record -o -` writes has records only. Times of
records increase within a buffer of the kernel, not in the file.

Source: linux, tools/perf/Documentation/perf.data-file-format.txt and
include/uapi/linux/perf_event.h.
"""

from __future__ import annotations

import struct
from array import array
from bisect import bisect_right
from contextlib import contextmanager
from itertools import islice
from operator import itemgetter

from gsym.cache import BoundedCache
from gsym.containers.inflation import believable_size, inflate_zstd
from gsym.containers.mapped_file import drop_pages
from gsym.errors import FormatError
from gsym.model import UINT64_END
from gsym.profiles.bpf_programs import BPF_PROGRAMS, BPF_TYPES, BpfPrograms
from gsym.profiles.perf_script import (
    PerfCommand,
    PerfFork,
    PerfMapping,
    PerfPart,
    PerfSample,
    PerfStack,
)
from gsym.profiles.recognition import PERF_DATA_MAGICS
from gsym.profiles.simpleperf import (
    FILE,
    FILE2,
    INIT_MAP,
    META_INFO,
    VERSION,
    event_names,
    read_settings,
    read_symbols,
)

TYPE_CHECKING = bool()
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from gsym.profiles.perf_script import PerfRecord
    from gsym.profiles.simpleperf import FileSymbols

(_MMAP, _LOST, _COMM, _FORK, _SAMPLE, _MMAP2, _LOST_SAMPLES) = (1, 2, 3, 7, 9, 10, 13)
_DEFERRED = 22
# Records of perf itself, which have no time.
_OF_PERF = 64
_ATTR, _TRACING_DATA, _BUILD_ID, _AUXTRACE = 64, 66, 67, 71
_EVENT_UPDATE, _FEATURE, _COMPRESSED, _COMPRESSED2 = 78, 80, 81, 83
# Those of simpleperf, whose sizes have 32 bits.
_OF_SIMPLEPERF, _EVENT_ID = 32768, 32774
_TIMED = frozenset({_MMAP, _COMM, _FORK, _SAMPLE, _MMAP2})

_BUILD_ID_FEATURE, _EVENT_DESC_FEATURE = 2, 12
_NAME_UPDATE = 2

# Bits of the field misc.
_MODE, _KERNEL, _USER, _GUEST_KERNEL, _GUEST_USER = 7, 1, 2, 4, 5
_GUESTS = frozenset({_GUEST_KERNEL, _GUEST_USER})
_IS_DATA = _IS_EXEC = 1 << 13
_HAS_BUILD_ID, _HAS_BUILD_ID_SIZE = 1 << 14, 1 << 15

_EXECUTABLE = 4  # of PROT_EXEC
_HEADER_SIZE, _PIPE_HEADER_SIZE, _LEAST_ATTR_SIZE = 104, 16, 64
_FEATURES_AT, _MOST_FEATURES = 72, 256
_SHA1_SIZE = 20
_RECORDS = "records"
_CUT = "bytes of records behind the end of the file"
# Markers in a stack, of what the next addresses are in: negative numbers.
_FIRST_MARKER = UINT64_END - 4095
_IN_KERNEL, _IN_USER, _IS_DEFERRED = (UINT64_END - each for each in (128, 512, 640))
_MOST_KNOWN = 1 << 16  # stacks in the cache
_DROPPED_SIZE = 1 << 26  # of a mapped file, whose pages are dropped at once
_AROUND = 1 << 16
_new = tuple.__new__  # a named tuple without the handling of its arguments
_NO_STACK = PerfStack(())

# Bits of a sample's type, in the order of the fields that they stand for.
_IDENTIFIER, _IP, _TID, _TIME, _ADDR = 1 << 16, 1, 1 << 1, 1 << 2, 1 << 3
_ID, _STREAM_ID, _CPU, _PERIOD = 1 << 6, 1 << 9, 1 << 7, 1 << 8
_READ, _CALLCHAIN, _STACK_USER = 1 << 4, 1 << 5, 1 << 13
_RAW, _BRANCHES = 1 << 10, 1 << 11
# Bits of a branch stack: of calls, with the index of the hardware before it.
_OF_CALLS, _HAS_HARDWARE_INDEX = 1 << 11, 1 << 17
_FIXED = (_IDENTIFIER, _IP, _TID, _TIME, _ADDR, _ID, _STREAM_ID, _CPU, _PERIOD)
_THREAD = -1  # the second number of `_TID`
_HALVES = {_TID: "ii", _CPU: "i4x"}
# The fields of a sample that a profile has, and those after them that are read.
_CHOSEN = (_IP, _TID, _THREAD, _TIME, _CPU, _PERIOD, _CALLCHAIN)
_VARIABLE = _READ | _BRANCHES | _STACK_USER
# Those at the end of other records.
_ENDING = (_TID, _TIME, _ID, _STREAM_ID, _CPU, _IDENTIFIER)
_READ_TIMES, _READ_ITEM, _READ_ID, _READ_GROUP = (1, 2), (4, 16), 4, 8
_IS_FREQUENCY, _HAS_ENDING, _HAS_CLOCK = 10, 18, 25  # numbers of bits of an attribute
_BRANCHES_AT, _CLOCK_AT = 72, 92  # in an attribute
_MONOTONIC = 1  # of its clocks

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
    """An event that was counted, and the layout of its samples."""

    def __init__(self, data: memoryview, order: str) -> None:
        layout = f"{order}IIQQ"
        self.kind, _, self.config, period = struct.unpack_from(layout, data)
        fields = struct.unpack_from(f"{order}3Q", data, 24)
        self.sample_type, self.read_format, flags = fields

        def has(bit: int) -> bool:
            # Bits of a field of bits begin at the other end in the other byte order.
            return bool(flags >> (bit if order == "<" else 63 - bit) & 1)

        self.has_ending = has(_HAS_ENDING)
        # What a sample counts that has no period of its own.
        self.period = None if has(_IS_FREQUENCY) or not period else period
        self.is_monotonic = False
        if len(data) >= _CLOCK_AT + 4 and has(_HAS_CLOCK):
            (clock,) = struct.unpack_from(f"{order}i", data, _CLOCK_AT)
            self.is_monotonic = clock == _MONOTONIC
        self.branches = 0
        if len(data) >= _BRANCHES_AT + 8:
            (self.branches,) = struct.unpack_from(f"{order}Q", data, _BRANCHES_AT)
        types = {0: _HARDWARE, 1: _SOFTWARE}.get(self.kind, ())
        is_known = self.config < len(types)
        self.name = types[self.config] if is_known else f"event-{self.config:#x}"
        present = [bit for bit in _FIXED if self.sample_type & bit]
        self.places = {bit: 8 * number for number, bit in enumerate(present)}
        # The fields of all samples; those of two numbers are named by the first.
        self.time_at = 8 + self.places[_TIME] if _TIME in self.places else None
        if self.sample_type & _CALLCHAIN and not self.sample_type & _READ:
            present.append(_CALLCHAIN)  # the number of addresses
        codes = "".join(_HALVES.get(bit, "Q") for bit in present)
        self.fixed = struct.Struct(order + codes)
        pairs = ((bit, _THREAD) if bit == _TID else (bit,) for bit in present)
        names = [name for pair in pairs for name in pair]
        # Behind the fields of a sample come those that it lacks.
        lacking = {_TID: -1, _THREAD: -1, _PERIOD: self.period}
        absent = [name for name in _CHOSEN if name not in names]
        self.absent = tuple(map(lacking.get, absent))
        names += absent
        self.choose = itemgetter(*map(names.index, _CHOSEN))
        ending = [bit for bit in _ENDING if self.sample_type & bit]
        self.ending_places = {
            bit: 8 * (number - len(ending)) for number, bit in enumerate(ending)
        }


class PerfData:
    """The records of a perf.data file, in the order of their times.

    Args:
        data: All bytes of the file.
        most_bytes: How many its compressed records may inflate to.
        parts: The other files of a folder (`perf record --threads`): records alone.

    Attributes:
        build_ids: Those of modules by path, in the order of the file.
        kernels: Paths of those that are of the kernel and its modules.
        symbols: Of files by path, as simpleperf writes them.
        byteorder: Of the machine: "little" or "big".
        losses: How often each kind of data is missing.
    """

    def __init__(
        self, data: memoryview, most_bytes: int, parts: Sequence[memoryview] = ()
    ) -> None:
        self.build_ids: dict[str, list[str]] = {}
        self.kernels: list[str] = []
        self.symbols: dict[str, FileSymbols] = {}
        self.losses: dict[str, int] = {}
        self._bpf: dict[int, bytes] = {}
        self._data = data
        self._order = PERF_DATA_MAGICS[bytes(data[:8])]
        self.byteorder = "little" if self._order == "<" else "big"
        self._header = struct.Struct(f"{self._order}IHH")
        self._number = struct.Struct(f"{self._order}Q")
        self._events: list[_Event] = []
        self._by_id: dict[int, _Event] = {}
        # Where the time of a sample is, if all are of one event.
        self._time_at: int | None = None
        self._left_ids = len(data) // 8
        self._stacks: BoundedCache[tuple[int | PerfStack, bytes], PerfStack]
        self._stacks = BoundedCache(_MOST_KNOWN)
        # Stacks of user space that are recorded after their samples, by thread and
        # cookie; and counts of events of a group at their last samples.
        self._deferred: dict[tuple[int, int], bytes] = {}
        self._counts: dict[int, int] = {}
        self._has_calls = False  # chains of simpleperf have no return addresses
        self._initial = 0, 0
        start, end = self._read_header(has_parts=bool(parts))
        # Places of records in all bytes: of the file, its parts, and those inflated.
        self._times, self._places = array("Q"), array("Q")
        self._pieces: list[memoryview] = []
        self._starts = [0]
        others = ((part, 0, len(part)) for part in parts)
        for piece, first, last in ((data, start, end), (data, *self._initial), *others):
            self._compressed: list[memoryview] = []  # all of a file are one stream
            self._take(piece, first, last)
            inflated = inflate_zstd(self._compressed, may_be_cut=True)
            joined = memoryview(self._joined(inflated, most_bytes))
            if joined:
                self._take(joined, 0, len(joined))

    def _take(self, piece: memoryview, start: int, end: int) -> None:
        """Keep the places of the records in some bytes."""
        shift = self._starts[-1]
        self._pieces.append(piece)
        self._starts.append(shift + len(piece))
        times, places, dropped = self._times, self._places, start
        time = self._number.unpack_from
        with self._counted():
            for record in _records(piece, start, end, self._header):
                place, kind, _, size = record
                at = self._time_at
                if kind == _SAMPLE and at is not None and at + 8 <= size:
                    times.append(time(piece, place + at)[0])
                    places.append(place + shift)
                elif kind in _TIMED:
                    times.append(self._time(piece, place, kind, size))
                    places.append(place + shift)
                else:
                    self._survey(piece, record, is_first=not shift)
                if place - dropped > _DROPPED_SIZE:
                    dropped = place
                    drop_pages(piece)
        drop_pages(piece)

    @property
    def is_monotonic(self) -> bool:
        """Whether times are those of the monotonic clock (`perf record -k mono`)."""
        return any(event.is_monotonic for event in self._events)

    def records(self) -> Iterator[PerfRecord]:
        """The samples and what is known of memory and threads when they are taken."""
        order = sorted(range(len(self._times)), key=self._times.__getitem__)
        places = array("Q", map(self._places.__getitem__, order))
        del order
        self._times, self._places = array("Q"), array("Q")
        first, last, piece = 0, 0, self._data
        left, before = _DROPPED_SIZE, 0
        is_first = True
        unpack = self._header.unpack_from
        for place in places:
            if not first <= place < last:
                number = bisect_right(self._starts, place) - 1
                first, last = self._starts[number : number + 2]
                piece = self._pieces[number]
            at = place - first
            kind, misc, size = unpack(piece, at)
            try:
                if misc & _MODE in _GUESTS:
                    if kind == _SAMPLE:
                        self._lose("samples of virtual machines")
                elif kind == _SAMPLE:
                    found = self._samples(piece, at, at + size, misc & _MODE)
                    if isinstance(found, PerfSample):
                        yield found
                    else:
                        yield from found
                else:
                    yield from self._record(kind, misc, piece[at + 8 : at + size])
                is_first = False
            except struct.error:
                if is_first:
                    raise _damaged("a record is too short", place) from None
                self._lose("records that are too short")
            # Around a page, others are mapped as well.
            left -= size if 0 <= place - before < _AROUND else _AROUND
            before = place
            if left < 0:
                left = _DROPPED_SIZE
                drop_pages(piece)

    @contextmanager
    def _counted(self) -> Iterator[None]:
        """Damage after the first sample ends the records, and is counted."""
        try:
            yield
        except FormatError:
            if not self._times:
                raise
            self._lose("damage, behind which nothing is read")

    def bpf_programs(self) -> BpfPrograms:
        """The programs of BPF that the file describes."""
        about, types = (self._bpf.get(each, b"") for each in (BPF_PROGRAMS, BPF_TYPES))
        programs = BpfPrograms(about, types, self._order)
        if programs.damaged:
            self._lose("programs of BPF that are damaged", programs.damaged)
        return programs

    def _lose(self, kind: str, count: int = 1) -> None:
        self.losses[kind] = self.losses.get(kind, 0) + count

    def _unpack(
        self, codes: str, place: int, data: memoryview | None = None
    ) -> tuple[int, ...]:
        data = self._data if data is None else data
        try:
            return struct.unpack_from(self._order + codes, data, place)
        except struct.error:
            raise _damaged("it is truncated", min(place, len(data))) from None

    def _section(self, place: int, what: str) -> tuple[int, int]:
        """The begin and end of the section whose place and size are at *place*."""
        start, size = self._unpack("QQ", place)
        end = start + size
        if end > len(self._data):
            if what != _RECORDS or start > len(self._data):
                reason = f"the {what} of {size} bytes at {start} end after the file"
                raise _damaged(reason, place)
            self._lose(_CUT, end - len(self._data))
            end = len(self._data)
        return start, end

    def _read_header(self, *, has_parts: bool) -> tuple[int, int]:
        """Read all but the records; return where these begin and end."""
        size, *_ = self._unpack("Q", 8)
        if size == _PIPE_HEADER_SIZE:
            return size, len(self._data)
        if size < _HEADER_SIZE:
            raise _damaged(f"a header of {size} bytes is too small", 8)
        entry_size, *_ = self._unpack("Q", 16)
        if entry_size < _LEAST_ATTR_SIZE + 16:
            raise _damaged(f"attributes of {entry_size} bytes are too small", 16)
        first, last = self._section(24, "attributes")
        for place in range(first, last - entry_size + 1, entry_size):
            event = self._event(self._data[place : place + entry_size - 16])
            ids = self._section(place + entry_size - 16, "ids of an event")
            self._add_ids(event, *ids)
        start, end = self._section(40, _RECORDS)
        if end == start and not has_parts:
            self._lose("ends of a recording that perf did not finish")
            return start, len(self._data)
        numbers = self._unpack("4Q", _FEATURES_AT)
        present = sum(number << 64 * at for at, number in enumerate(numbers))
        place = end
        if _CUT not in self.losses:
            self._read_features(present, place)
        return start, end

    def _read_features(self, present: int, place: int) -> None:
        """Names of events and ids of modules, which are behind the records."""
        try:
            for feature in range(_MOST_FEATURES):
                if present >> feature & 1:
                    found = self._section(place, "data of a feature")
                    self._read_feature(feature, *found)
                    place += 16
        except FormatError:
            self._lose("descriptions behind the records, as the file is cut there")

    def _event(self, data: memoryview) -> _Event:
        event = _Event(data, self._order)
        self._events.append(event)
        self._time_at = None if len(self._events) > 1 else event.time_at
        return event

    def _add_ids(self, event: _Event, start: int, end: int) -> None:
        count = (end - start) // 8
        self._left_ids -= count
        if self._left_ids < 0:
            raise _damaged("events have more ids than the file has room for", start)
        self._by_id.update(dict.fromkeys(self._unpack(f"{count}Q", start), event))

    def _read_feature(self, feature: int, start: int, end: int) -> None:
        if feature == _BUILD_ID_FEATURE:
            for place, _, misc, size in _records(self._data, start, end, self._header):
                self._read_build_id(self._data, place, misc, size)
        elif feature == _EVENT_DESC_FEATURE:
            self._read_names(start, end)
        elif feature in {BPF_PROGRAMS, BPF_TYPES}:
            self._bpf[feature] = bytes(self._data[start:end])
        elif feature == META_INFO:
            settings = read_settings(bytes(self._data[start:end]))
            self._has_calls = VERSION in settings
            names = event_names(settings)
            for event in self._events:
                event.name = names.get((event.kind, event.config), event.name)
        elif feature in {FILE, FILE2}:
            self.symbols = read_symbols(
                bytes(self._data[start:end]), feature, self._order
            )
        elif feature == INIT_MAP:
            self._initial = start, end

    def _read_names(self, start: int, end: int) -> None:
        """The names of events, in the order of their attributes."""
        count, attr_size = self._unpack("II", start)
        place = start + 8
        for event in islice(self._events, count):
            ids, size = self._unpack("II", place + attr_size)
            place += attr_size + 8
            if place + size + 8 * ids > end:
                raise _damaged("the names of events are truncated", start)
            event.name = _text(self._data, place, place + size) or event.name
            place += size + 8 * ids

    def _read_build_id(
        self, data: memoryview, place: int, misc: int, size: int
    ) -> None:
        first, last = place + 12, place + 36
        if size < last - place:
            raise _damaged("a build id is truncated", place)
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

    def _survey(
        self, data: memoryview, record: tuple[int, int, int, int], *, is_first: bool
    ) -> None:
        """Keep what is in a record without a time, of the first bytes or others."""
        place, kind, misc, size = record
        if kind == _COMPRESSED:
            self._compressed.append(data[place + 8 : place + size])
        elif kind == _COMPRESSED2:
            (length,) = self._unpack("Q", place + 8, data)
            self._compressed.append(data[place + 16 : place + min(size, 16 + length)])
        elif kind == _DEFERRED:
            cookie, count = self._unpack("QQ", place + 8, data)
            chain = bytes(data[place + 24 : place + min(size, 24 + 8 * count)])
            self._deferred[self._thread_of(data, place + size), cookie] = chain
        elif kind == _EVENT_ID:
            (count,) = self._unpack("Q", place + 8, data)
            count = min(count, (size - 16) // 16)
            numbers = self._unpack(f"{2 * count}Q", place + 16, data)
            for index, number in zip(numbers[::2], numbers[1::2], strict=True):
                if index < len(self._events):
                    self._by_id[number] = self._events[index]
        elif kind in {_LOST, _LOST_SAMPLES}:
            at = place + (16 if kind == _LOST else 8)
            self._lose("records lost by perf", *self._unpack("Q", at, data))
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
                raise _damaged(f"an attribute has {attr_size} bytes", place)
            first = place + 8 + attr_size
            event = self._event(self._data[place + 8 : first])
            self._add_ids(event, first, end)
        elif kind == _FEATURE:
            feature, *_ = self._unpack("Q", place + 8)
            self._read_feature(feature, place + 16, end)
        elif kind == _EVENT_UPDATE:
            update, number = self._unpack("QQ", place + 8)
            event_of = self._by_id.get(number)
            if update == _NAME_UPDATE and event_of is not None:
                event_of.name = _text(self._data, place + 24, end)

    def _time(self, data: memoryview, place: int, kind: int, size: int) -> int:
        """Time of a record; 0 if that is unknown, as before the start."""
        if kind == _FORK:
            return self._unpack("Q", place + 24, data)[0]
        if kind == _SAMPLE:
            at = self._event_of(data, place).time_at
            if at is None:
                return 0
            if size < 8 + at:
                raise _damaged("a sample is too short", place)
            return self._number.unpack_from(data, place + at)[0]  # type: ignore[no-any-return] # an unsigned number
        event = self._first_event(place)
        at = event.ending_places.get(_TIME)
        if at is None or not event.has_ending or size < 8 - at:
            return 0
        return self._unpack("Q", place + size + at, data)[0]

    def _thread_of(self, data: memoryview, end: int) -> int:
        """The thread of a record that is no sample, by its end."""
        at = self._first_event(end).ending_places.get(_TID)
        return 0 if at is None else self._unpack("ii", end + at, data)[1]

    def _first_event(self, place: int) -> _Event:
        if not self._events:
            raise _damaged("a record comes before the attributes of its event", place)
        return self._events[0]

    def _event_of(self, data: memoryview, place: int) -> _Event:
        """The event of a sample."""
        if len(self._events) == 1:
            return self._events[0]
        event = self._first_event(place)
        at = event.places.get(_IDENTIFIER, event.places.get(_ID))
        if at is None:
            return event
        (number,) = self._unpack("Q", place + 8 + at, data)
        return self._by_id.get(number, event)

    def _joined(self, pieces: Iterator[bytes], most_bytes: int) -> bytearray:
        most = believable_size(len(self._data), most_bytes)
        joined = bytearray()
        try:
            for piece in pieces:
                joined += piece
                if len(joined) > most:
                    raise FormatError(f"more than {most} bytes of data")
        except ValueError as error:
            if not joined and not self._times:
                reason = f"compressed records are damaged: {error}"
                raise FormatError(reason) from error
            self._lose("damage, behind which nothing is read")
        return joined

    def _record(self, kind: int, misc: int, body: memoryview) -> Iterable[PerfRecord]:
        """The contents of a record of memory or of a thread."""
        if kind == _COMM:
            process, thread = struct.unpack_from(f"{self._order}ii", body)
            return (PerfCommand(process, thread, _text(body, 8, len(body))),)
        if kind == _FORK:
            numbers = struct.unpack_from(f"{self._order}4i", body)
            process, parent, thread, parent_thread = numbers
            has_maps = not misc & _IS_EXEC
            return (PerfFork(process, parent, thread, parent_thread, has_maps),)
        if misc & _IS_DATA:
            return ()
        is_short = kind == _MMAP
        mapping = self._mapping(body) if is_short else self._mapping2(body, misc)
        return () if mapping is None else (mapping,)

    def _mapping(self, body: memoryview, name_at: int = 32) -> PerfMapping:
        layout = f"{self._order}i4x3Q"
        process, start, size, offset = struct.unpack_from(layout, body)
        size = min(size, UINT64_END - 1 - start)
        return PerfMapping(
            process, start, size, offset, _text(body, name_at, len(body))
        )

    def _mapping2(self, body: memoryview, misc: int) -> PerfMapping | None:
        """A mapping with its mode, and the build id or the inode of its file."""
        inode, mode = struct.unpack_from(f"{self._order}Q8xI", body, 40)
        if mode and not mode & _EXECUTABLE:
            return None
        found = self._mapping(body, 64)
        if misc & _HAS_BUILD_ID:
            return found._replace(build_id=_build_id(body, 36, body[32]))
        return found._replace(inode=inode)

    def _samples(
        self, data: memoryview, place: int, end: int, mode: int
    ) -> PerfSample | list[PerfSample]:
        """The sample of a record; of an event with a group, one for each member."""
        events = self._events
        event = events[0] if len(events) == 1 else self._event_of(data, place)
        at = place + 8 + event.fixed.size
        if at > end:
            raise struct.error
        numbers = event.fixed.unpack_from(data, place + 8)
        numbers = numbers + event.absent if event.absent else numbers
        address, process, thread, time, cpu, period, count = event.choose(numbers)
        members: list[tuple[_Event, int | None]] = []
        present = event.sample_type & _VARIABLE
        if present & _READ:
            members, read = self._read_counts(event.read_format, data[at:end])
            at += read
            count, at = self._count_at(event, data, at, end)
        frames = _NO_STACK
        if count is not None:
            first, at = at, at + 8 * count
            if at > end:
                raise struct.error
            chain = bytes(data[first:at])
            frames = self._stacks.get((mode, chain)) or self._stack(chain, mode)
        if present & _BRANCHES:
            frames = self._branches(event, data[at:end], frames)
        if not frames.parts and address is not None:
            frames = self._stack(self._number.pack(address), mode)
        if frames.cookie is not None:
            frames = self._completed(frames, thread)
        if present & _STACK_USER:
            self._lose_stack(data[at:end])
        own = ("", process, thread, cpu, time, period, event.name, frames)
        if not members:
            return _new(PerfSample, own)
        sample = PerfSample(*own)
        return [sample._replace(event=of.name, period=count) for of, count in members]

    def _count_at(
        self, event: _Event, data: memoryview, at: int, end: int
    ) -> tuple[int | None, int]:
        """The number of addresses in the stack of a sample, and where they begin."""
        if not event.sample_type & _CALLCHAIN:
            return None, at
        return self._number.unpack_from(data[at:end])[0], at + 8

    def _lose_stack(self, registers: memoryview) -> None:
        """Count a copy of a stack; simpleperf drops the registers where it unwound."""
        if not self._has_calls or any(registers[:8]):
            self._lose("stacks of user space that only `perf script` unwinds")

    def _completed(self, frames: PerfStack, thread: int) -> PerfStack:
        """The stack with its part of user space, which is recorded later."""
        later = self._deferred.get((thread, frames.cookie or 0))
        if later is None:
            self._lose("stacks of user space that were recorded later")
            return frames
        return self._kept(frames, later, frames.parts + self._stack(later, _USER).parts)

    def _stack(self, chain: bytes, mode: int) -> PerfStack:
        """The stack of addresses, whose first ones are in a mode of the processor."""
        found = self._stacks.get((mode, chain))
        if found is not None:
            return found
        is_kernel = {_KERNEL: True, _USER: False}.get(mode)
        parts: list[PerfPart] = []
        numbers = struct.unpack(f"{self._order}{len(chain) // 8}Q", chain)
        marks = [at for at, each in enumerate(numbers) if each >= _FIRST_MARKER]
        cookie, first = None, 0
        for at in (*marks, len(numbers)):
            if first < at:
                run = numbers[first:at]
                parts.append(PerfPart(run, is_kernel, is_exact=self._has_calls))
            first = at + 1
            if at < len(numbers):
                is_kernel = {_IN_KERNEL: True, _IN_USER: False}.get(numbers[at])
                if numbers[at] == _IS_DEFERRED and first < len(numbers):
                    cookie, first = numbers[first], first + 1
        found = PerfStack(tuple(parts), cookie)
        return self._stacks.keep((mode, chain), found)

    def _kept(
        self, own: PerfStack, other: bytes, parts: tuple[PerfPart, ...]
    ) -> PerfStack:
        """One stack for all samples with *own* and the same other addresses."""
        key = own, other
        return self._stacks.get(key) or self._stacks.keep(key, PerfStack(parts))

    def _branches(
        self, event: _Event, body: memoryview, frames: PerfStack
    ) -> PerfStack:
        """The stack with the callers of user space that a branch stack of calls has."""
        if not event.branches & _OF_CALLS:
            self._lose("branch stacks")
            return frames
        at = 0
        if event.sample_type & _RAW:
            (size,) = struct.unpack_from(f"{self._order}I", body)
            at = 4 + size
        (count,) = struct.unpack_from(f"{self._order}Q", body, at)
        at += 16 if event.branches & _HAS_HARDWARE_INDEX else 8
        count = min(count, len(body) // 24)
        numbers = struct.unpack_from(f"{self._order}{3 * count}Q", body, at)
        if not count:
            return frames
        # The innermost address, and those of the calls.
        calls = PerfPart((numbers[1], *numbers[::3]), is_kernel=False, is_exact=True)
        own = tuple(each for each in frames.parts if each.is_kernel)
        return self._kept(frames, bytes(body[at:]), (*own, calls))

    def _read_counts(
        self, form: int, body: memoryview
    ) -> tuple[list[tuple[_Event, int | None]], int]:
        """Counts of the members of a group since their last samples, and their size."""
        times = sum(bool(form & bit) for bit in _READ_TIMES)
        item = 1 + sum(bool(form & bit) for bit in _READ_ITEM)
        if not form & _READ_GROUP:
            return [], 8 * (item + times)
        (count,) = self._number.unpack_from(body)
        count = min(count, len(body))
        at = 8 * (1 + times)
        numbers = struct.unpack_from(f"{self._order}{count * item}Q", body, at)
        found: list[tuple[_Event, int | None]] = []
        if form & _READ_ID:
            for value, number in zip(numbers[::item], numbers[1::item], strict=True):
                event = self._by_id.get(number)
                period = value - self._counts.get(number, 0)
                self._counts[number] = value
                if event is not None and period > 0:
                    found.append((event, period))
        return found, at + 8 * count * item


def _records(
    data: memoryview, start: int, end: int, header: struct.Struct
) -> Iterator[tuple[int, int, int, int]]:
    """Place, kind, bits and size of each record."""
    place = start
    while place + header.size <= end:
        kind, misc, size = header.unpack_from(data, place)
        if kind >= _OF_SIMPLEPERF:
            size |= misc << 16
        if size < header.size or place + size > end:
            reason = f"a record of {size} bytes, where {end - place} are left"
            raise _damaged(reason, place)
        yield place, kind, misc, size
        if kind in {_TRACING_DATA, _AUXTRACE}:
            # More data is after them.
            field = data[place + 8 : place + size][: 8 if kind == _AUXTRACE else 4]
            is_little = header.format.startswith("<")
            more = int.from_bytes(field, "little" if is_little else "big")
            size += -(-more // 8) * 8
        place += size


def _build_id(data: memoryview, start: int, size: int) -> str:
    """Hexadecimal digits; "" if all bytes are zeros."""
    build_id = bytes(data[start : start + min(size, _SHA1_SIZE)])
    return build_id.hex() if any(build_id) else ""


def _text(data: memoryview, start: int, end: int) -> str:
    """The text up to a zero byte."""
    return bytes(data[start:end]).partition(b"\0")[0].decode("utf-8", "replace")


def _damaged(reason: str, place: int) -> FormatError:
    return FormatError(reason, offset=place)
