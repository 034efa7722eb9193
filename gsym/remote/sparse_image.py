"""An image of a remote file with the parts of it that lookups need.

The bytes are anonymous memory of the file's size, filled block by block; what was not
read is zero. The engine does not know: the ranges that it will read are found first,
from the tables of the file. Some are only known after others were read, so `_settle`
asks for them until none is missing.
"""

from __future__ import annotations

from _thread import allocate_lock
from collections import OrderedDict
from itertools import pairwise
from mmap import ACCESS_COPY, mmap
from struct import Struct

from gsym.engine.mapped_image import MappedImage
from gsym.engine.native import ffi, lib, new_error
from gsym.engine.workers import run_workers, taken_from
from gsym.errors import FormatError, LimitError
from gsym.sizes import exact_size

TYPE_CHECKING = bool()
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from gsym.net.ranges import RemoteFile

    Blocks = Iterable[tuple[int, bytes]]  # offset and bytes
    Ranges = Iterator[tuple[int, int]]  # offset and size

HEAD_SIZE = 512 << 10  # has the tables of a file of some 50 MB, and its first strings
MEMORY = 64 << 20  # for the parts of one file
_BLOCK = 16 << 10
_FIRST_ANSWER = 1 << 20  # bytes, as far as gaps between ranges are concerned
_GAPS = 4 << 20  # bytes between ranges that one call may read to save requests
_MANY = 64  # blocks: for more, a call may read as many times that between them as
_GAP_OF_MANY = 4
_RECORD = 8 << 10  # most records are smaller
_STRING = 1 << 10
_REQUESTS = 8  # at a time
_ROUNDS = 16  # of requests; the answer to each determines the next
_FRAMES = 256
_PATTERNS = 16
_MAGICS = (b"GSYM", b"MYSG")  # in both byte orders


class SparseImage:
    """Parts of a remote file, and the engine's view of them.

    Threads may share it: parts are only added, and one that two threads read at once is
    the same. *tables* and *parts* are blocks, (offset, bytes), that are known already.

    Raises:
        LimitError: The file or its tables are too large.
    """

    def __init__(
        self,
        file: RemoteFile,
        index_limit: int | None,
        tables: Blocks = (),
        parts: Blocks = (),
    ) -> None:
        if file.head[:4] not in _MAGICS:
            reason = "not a GSYM file: binaries and compressed files are read locally"
            raise FormatError(reason, path=file.name, offset=0)
        try:
            self.data: mmap = mmap(-1, file.size, access=ACCESS_COPY)
        except (OSError, OverflowError):
            reason = f"{file.size} bytes cannot be mapped: download the file"
            raise LimitError(reason, path=file.name) from None
        self._file = file
        self._index_limit = index_limit
        self._lock = allocate_lock()
        self._present = bytearray(-(-file.size // _BLOCK))
        # Blocks of records and strings, the one that was used last at the end.
        self._recent: OrderedDict[int, None] = OrderedDict()
        self._spare = _FIRST_ANSWER
        self._put(0, file.head)
        for start, data in tables:
            self._put(start, data)
        self.mapped: MappedImage = self._open()
        header = self.mapped.header
        self._width = 4 if header.version == lib.GSYM_VERSION_1 else 8
        self._info = Struct(">II" if header.big_endian else "<II")
        while self._settle(self._tables):
            self.mapped = self._open()
        self._recent.clear()
        for start, data in parts:
            self._put(start, data)

    def within_memory(self) -> SparseImage:
        """This image, or if it is too large one with its tables and recent parts."""
        if len(self._recent) * _BLOCK <= MEMORY:
            return self
        with self._lock:
            recent = list(self._recent)[-(MEMORY // _BLOCK // 2) :]
        tables = sorted({each for r in self._tables() for each in self._blocks(*r)})
        made = SparseImage(
            self._file, self._index_limit, self._copies(tables), self._copies(recent)
        )
        made._spare = _GAPS
        return made

    def prepare(self, addresses: Iterable[int]) -> None:
        """Read all that answers for *addresses* consist of."""
        asked = tuple(addresses)
        entries = {each for address in asked for each in self._entries(address)}
        self._settle(lambda: (r for entry in entries for r in self._entry(entry)))
        strings = {each for address in asked for each in self._strings(address)}
        self._settle(lambda: (r for strp in strings for r in self._string(strp)))
        self._spare = _GAPS

    def module_range(self) -> tuple[int, int] | None:
        """Start of the first function and end of the last one; None for none."""
        last = self.mapped.header.num_addresses - 1
        if last < 0:
            return None
        self._settle(lambda: self._entry(last))
        start, record = self._location(last)
        if record + self._info.size > self._file.size:
            return None
        size, _ = self._info.unpack_from(self.data, record)
        return self._location(0)[0], start + size

    # ---- parts

    def _open(self) -> MappedImage:
        return MappedImage(self.data, self._file.name, self._index_limit)

    def _put(self, start: int, data: bytes) -> None:
        """Add bytes that begin at a block and end at one, or at the end of the file."""
        self.data[start : start + len(data)] = data
        self._spare = max(0, self._spare - len(data))
        first = start // _BLOCK
        with self._lock:
            for block in range(first, first + -(-len(data) // _BLOCK)):
                self._present[block] = 1
                self._recent[block] = None

    def _copies(self, blocks: Iterable[int]) -> Blocks:
        for block in blocks:
            start = block * _BLOCK
            yield start, self.data[start : start + _BLOCK]

    def _blocks(self, start: int, size: int) -> range:
        """The blocks of a range, which may end after the file."""
        end = min(start + size, self._file.size)
        return range(start // _BLOCK, -(-end // _BLOCK) if start < end else 0)

    def _has(self, start: int, size: int) -> bool:
        blocks = self._blocks(start, size)
        return not blocks or self._present.find(0, blocks.start, blocks.stop) < 0

    def _settle(self, wanted: Callable[[], Ranges]) -> bool:
        """Read what *wanted* returns until it is all there; whether any was missing."""
        for done in range(_ROUNDS):
            missing = self._missing(wanted())
            if not missing:
                return done > 0
            if len(missing) * _BLOCK > MEMORY:
                reason = (
                    f"needs more than {exact_size(MEMORY)} at once: download the file"
                )
                raise LimitError(reason, path=self._file.name)
            self._read(missing)
        reason = f"needs more than {_ROUNDS - 1} reads in turn: download the file"
        raise LimitError(reason, path=self._file.name)

    def _missing(self, ranges: Ranges) -> set[int]:
        missing: set[int] = set()
        for start, size in ranges:
            blocks = self._blocks(start, size)
            for block in blocks:
                if not self._present[block]:
                    missing.add(block)
                elif block in self._recent:
                    with self._lock:
                        self._recent.move_to_end(block)
            if len(missing) * _BLOCK > MEMORY:
                break
        return missing

    def _read(self, missing: set[int]) -> None:
        """Read blocks, several requests at a time."""
        runs = self._runs(sorted(missing))

        def work() -> None:
            for first, end in taken_from(runs):
                start = first * _BLOCK
                size = min(end * _BLOCK, self._file.size) - start
                self._put(start, self._file.read(start, size))

        run_workers(work, min(len(runs), _REQUESTS), None, runs.clear)

    def _runs(self, blocks: list[int]) -> list[tuple[int, int]]:
        """Ascending blocks as runs, (first, end), joined over the smallest gaps."""
        gaps = sorted((b - a - 1, b) for a, b in pairwise(blocks))
        spare = self._spare // _BLOCK - len(blocks)
        if len(blocks) > _MANY:
            most = MEMORY // _BLOCK - len(blocks)
            spare = max(spare, min(len(blocks) * _GAP_OF_MANY, most))
        begins = []  # the runs after the first one
        for gap, block in gaps:
            spare -= gap
            if gap and spare < 0:
                begins.append(block)
        firsts = [blocks[0], *sorted(begins)]
        before = {b: a for a, b in pairwise(blocks)}
        ends = [*(before[first] + 1 for first in firsts[1:]), blocks[-1] + 1]
        return list(zip(firsts, ends, strict=True))

    # ---- ranges, as far as they are known

    def _tables(self) -> Ranges:
        header = self.mapped.header
        yield header.uuid_offset, header.uuid_size
        yield (header.addr_offsets_offset, header.num_addresses * header.addr_off_size)
        yield header.file_table_offset, 4 + header.num_files * 2 * self._width
        yield header.index_offset, header.index_size  # 0 unless it was read already

    def _entries(self, address: int) -> range:
        """The entries of the address table, which was read, that a lookup considers."""
        first = ffi.new("uint32_t *")
        count = lib.gsym_image_entries(self.mapped.image, address, first)
        return range(first[0], first[0] + count)

    def _location(self, entry: int) -> tuple[int, int]:
        """The start of an entry, and the offset of its record if that was read."""
        found, error = ffi.new("uint64_t[2]"), new_error()
        lib.gsym_image_entry(self.mapped.image, entry, found, found + 1, error)
        return found[0], found[1]

    def _entry(self, entry: int) -> Ranges:
        header = self.mapped.header
        size = self._width
        at = header.addr_info_offsets_offset + entry * size
        yield at, size
        if not self._has(at, size):
            return
        at = self._location(entry)[1]
        yield at, _RECORD
        info = self._info
        at += 4 + size  # size and name
        kind = -1
        while kind and at + info.size <= self._file.size:
            yield at, info.size
            if not self._has(at, info.size):
                break
            kind, size = info.unpack_from(self.data, at)
            at += info.size
            yield at, size
            at += size

    def _string(self, strp: int) -> Ranges:
        header = self.mapped.header
        start, end = header.strtab_offset + strp, header.strtab_offset
        end += header.strtab_size
        size = _STRING
        while start < end:
            size = min(size, end - start)
            yield start, size
            if not self._has(start, size) or start + size >= end:
                break
            if self.data.find(b"\0", start, start + size) >= 0:
                break
            size *= 2

    def _strings(self, address: int) -> Iterator[int]:
        """The strings of all answers for an address, whose records were read."""
        answer, error = ffi.new("gsym_answer *"), new_error()
        room = ffi.new("gsym_lookup_room *")
        frames, regexes = _FRAMES, _PATTERNS
        child = merged = 0
        while child <= merged:
            kept = ffi.new("gsym_frame[]", frames), ffi.new("uint64_t[]", regexes)
            room.frames, room.regexes = kept
            room.frame_capacity, room.regex_capacity = frames, regexes
            status = lib.gsym_image_lookup(
                self.mapped.image, address, child, 0, room, answer, error
            )
            if status:  # which the lookup reports
                return
            if answer.frame_count > frames or answer.regex_count > regexes:
                frames, regexes = answer.frame_count, answer.regex_count
                continue
            merged = answer.merged_count if not child else merged
            child += 1
            if answer.found:
                yield answer.function_name
                for frame in kept[0][0 : answer.frame_count]:
                    yield frame.name
                    file = ffi.new("uint64_t[2]")
                    where = frame.file, file, file + 1, error
                    lib.gsym_image_file(self.mapped.image, *where)
                    yield from file
                yield from kept[1][0 : answer.regex_count]
