"""Files of Linux perf (perf.data), sound or not, in either byte order."""

from __future__ import annotations

import struct
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Literal

IP, TID, TIME, ADDR, READ, CALLCHAIN, ID, CPU, PERIOD = (1 << bit for bit in range(9))
STREAM_ID, RAW, STACK_USER, IDENTIFIER = 1 << 9, 1 << 10, 1 << 13, 1 << 16
MMAP, LOST, COMM, FORK, SAMPLE, MMAP2 = 1, 2, 3, 7, 9, 10
ATTR, BUILD_ID, EVENT_UPDATE, FEATURE, COMPRESSED = 64, 67, 78, 80, 81
FINISHED_ROUND = 68
KERNEL_MODE, USER_MODE, GUEST_KERNEL_MODE, GUEST_USER_MODE = 1, 2, 4, 5
IS_DATA = IS_EXEC = 1 << 13  # the latter of a fork
HAS_BUILD_ID = 1 << 14
KERNEL_MARKER, USER_MARKER, DEFERRED_MARKER = (2**64 - each for each in (128, 512, 640))
BRANCHES, OF_CALLS, DEFERRED = 1 << 11, 1 << 11, 22
SAMPLE_TYPE = IP | TID | TIME | CALLCHAIN | PERIOD
HEADER_SIZE, ATTR_SIZE = 104, 128
_SAMPLE_ID_ALL, _USE_CLOCK = 18, 25
_BRANCHES_AT, _CLOCK_AT = 72, 92


class Event(NamedTuple):
    """An event as the header describes it."""

    kind: int = 1  # of software
    config: int = 0  # cpu-clock
    sample_type: int = SAMPLE_TYPE
    read_format: int = 0
    ids: tuple[int, ...] = ()
    name: str = ""
    branches: int = 0
    clock: int = 0  # as `CLOCK_MONOTONIC`; 0: that of perf


class PerfFile:
    """Writes the records of a file and their file in a byte order."""

    def __init__(self, byteorder: Literal["little", "big"] = "little") -> None:
        self._order = "<" if byteorder == "little" else ">"
        self.is_little = byteorder == "little"

    def pack(self, codes: str, *values: int) -> bytes:
        return struct.pack(self._order + codes, *values)

    def record(self, kind: int, body: bytes, misc: int = USER_MODE) -> bytes:
        return self.pack("IHH", kind, misc, 8 + len(body)) + body

    def ending(self, time: int, process: int = 0) -> bytes:
        """What follows in records that are no samples, for `SAMPLE_TYPE`."""
        return self.pack("IIQ", process, process, time)

    def command(self, process: int, name: str, time: int = 0) -> bytes:
        body = self.pack("ii", process, process) + _text(name) + self.ending(time)
        return self.record(COMM, body)

    def fork(
        self, process: int, parent: int, time: int, thread: int = 0, misc: int = 0
    ) -> bytes:
        numbers = process, parent, thread or process, parent, time
        body = self.pack("4iQ", *numbers) + self.ending(time)
        return self.record(FORK, body, misc)

    def mapping(  # noqa: PLR0913 - the fields of a record
        self,
        process: int,
        start: int,
        size: int,
        path: str,
        *,
        offset: int = 0,
        time: int = 0,
        misc: int = USER_MODE,
    ) -> bytes:
        body = self.pack("iiQQQ", process, process, start, size, offset)
        return self.record(MMAP, body + _text(path) + self.ending(time), misc)

    def mapping2(  # noqa: PLR0913 - the fields of a record
        self,
        process: int,
        start: int,
        size: int,
        path: str,
        *,
        offset: int = 0,
        build_id: bytes = b"",
        inode: int = 0,
        mode: int = 5,
    ) -> bytes:
        body = self.pack("iiQQQ", process, process, start, size, offset)
        if build_id:
            body += bytes([len(build_id), 0, 0, 0]) + build_id.ljust(20, b"\0")
        else:
            body += self.pack("IIQQ", 8, 1, inode, 0)
        body += self.pack("II", mode, 2) + _text(path) + self.ending(0)
        return self.record(MMAP2, body, USER_MODE | bool(build_id) * HAS_BUILD_ID)

    def sample(
        self, time: int, chain: Sequence[int], process: int = 7, period: int = 5
    ) -> bytes:
        """A sample of `SAMPLE_TYPE`."""
        ip = next((each for each in chain if each < 2**64 - 4095), 0)
        body = self.pack("QiiQQ", ip, process, process, time, period)
        return self.record(SAMPLE, body + self.chain(chain))

    def chain(self, addresses: Sequence[int]) -> bytes:
        return self.pack(f"{len(addresses) + 1}Q", len(addresses), *addresses)

    def build_id(self, path: str, build_id: bytes, misc: int = USER_MODE) -> bytes:
        body = self.pack("i", -1) + build_id.ljust(24, b"\0") + _text(path)
        return self.record(BUILD_ID, body, misc)

    def attribute(self, event: Event) -> bytes:
        bits = (_SAMPLE_ID_ALL, *((_USE_CLOCK,) if event.clock else ()))
        flags = sum(1 << (bit if self.is_little else 63 - bit) for bit in bits)
        numbers = event.config, 250, event.sample_type, event.read_format, flags
        fields = self.pack("II5Q", event.kind, ATTR_SIZE, *numbers)
        fields = fields.ljust(_BRANCHES_AT, b"\0") + self.pack("Q", event.branches)
        fields = fields.ljust(_CLOCK_AT, b"\0") + self.pack("i", event.clock)
        return fields.ljust(ATTR_SIZE, b"\0")

    def names(self, events: Sequence[Event]) -> bytes:
        """The contents of the feature with the names of events."""
        made = self.pack("II", len(events), ATTR_SIZE)
        for event in events:
            name = _text(event.name)
            made += self.attribute(event) + self.pack("II", len(event.ids), len(name))
            made += name + self.pack(f"{len(event.ids)}Q", *event.ids)
        return made

    def file(
        self,
        records: bytes,
        events: Sequence[Event] = (Event(),),
        build_ids: bytes = b"",
        others: Mapping[int, bytes] = MappingProxyType({}),
    ) -> bytes:
        """A whole file; *others* are features by number."""
        ids = b"".join(self.pack(f"{len(each.ids)}Q", *each.ids) for each in events)
        attributes, at = b"", HEADER_SIZE
        for event in events:
            attributes += self.attribute(event)
            attributes += self.pack("QQ", at, 8 * len(event.ids))
            at += 8 * len(event.ids)
        start = at + len(attributes)
        names = self.names(events) if any(each.name for each in events) else b""
        features = {2: build_ids, 12: names, **dict(sorted(others.items()))}
        features = {number: each for number, each in features.items() if each}
        bits = [sum(1 << n % 64 for n in features if n // 64 == at) for at in range(4)]
        sections = at, len(attributes), start, len(records), 0, 0
        numbers = HEADER_SIZE, ATTR_SIZE + 16, *sections, *bits
        made = self.magic() + self.pack("12Q", *numbers) + ids + attributes + records
        place = len(made) + 16 * len(features)
        for contents in features.values():
            made += self.pack("QQ", place, len(contents))
            place += len(contents)
        return made + b"".join(features.values())

    def pipe(self, records: bytes, events: Sequence[Event] = (Event(),)) -> bytes:
        """What perf writes to a pipe."""
        made = self.magic() + self.pack("Q", 16)
        for event in events:
            ids = self.pack(f"{len(event.ids)}Q", *event.ids)
            made += self.record(ATTR, self.attribute(event) + ids)
        return made + records

    def magic(self) -> bytes:
        return b"PERFILE2" if self.is_little else b"2ELIFREP"


def small_file(byteorder: Literal["little", "big"] = "little") -> bytes:
    """A file with a sample of a stack of two functions."""
    perf = PerfFile(byteorder)
    records = (
        perf.command(7, "app"),
        perf.mapping(7, 0x400000, 0x1000, "/opt/app", offset=0x1000),
        perf.sample(1000, (USER_MARKER, 0x400010, 0x400020)),
    )
    return perf.file(b"".join(records))


def _text(text: str) -> bytes:
    data = text.encode() + b"\0"
    return data.ljust(-(-len(data) // 8) * 8, b"\0")
