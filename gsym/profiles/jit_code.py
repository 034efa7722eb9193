"""Functions that processes made while they ran, for samples of perf.

The compiler of a process names them in a text, `/tmp/perf-PID.map`, with a line for
each (start, size, name); or in a jitdump, which also has times and source lines: perf
records that the process has it in its memory. Both are read where they were written.

Source: linux, tools/perf/Documentation/jit-interface.txt and jitdump-specification.txt.
"""

from __future__ import annotations

import os
import re
import struct

from gsym.containers.mapped_file import map_file
from gsym.engine.native import zero_ended
from gsym.errors import FormatError
from gsym.lazy import regex
from gsym.memory.symbol_lists import read_perf_map
from gsym.profiles.binaries import is_usable
from gsym.profiles.model import Frame, Profile, Unsure, frame_at
from gsym.ranges import AddressRanges
from gsym.records import NamedTuple

TYPE_CHECKING = bool()
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    _Line = tuple[int, str, int]  # first address, path, line

JITDUMP = regex(r".*/jit-[\w-]{1,64}\.dump", re.ASCII)  # PID, or TID-PID-RANDOM
ANONYMOUS = ("//anon", "/anon_hugepage", "/dev/zero", "/memfd:", "[anon", "/SYSV")
"""The first characters of paths of memory that is no file."""
_NEWER = "it is newer than the profile, and may be of another process"
_MAGICS = {b"JiTD": ">", b"DTiJ": "<"}
_RECORD_SIZE = 16
_LOAD, _MOVE, _DEBUG_INFO = 0, 1, 2
_ELF_HEADER = 64  # its size in bytes
_PATH_SIZE = 4096  # of the longest
_ALIGNMENT = 8  # of records
_SAME_PATH = b"\xff"  # as the entry before


class _Function(NamedTuple):
    """A function from a time on."""

    time: int  # in nanoseconds; 0 if it is not known
    start: int  # its first address
    size: int  # in bytes
    name: str  # as the compiler gives it
    # in the order of their addresses
    lines: tuple[_Line, ...] = ()


class JitCode:
    """Finds the functions that processes made.

    Args:
        profile: Notes files that may be of other processes.
        recorded: When the profile was written, in seconds since 1970, if known.
        is_timed: Whether samples have the clock of jitdumps.
    """

    def __init__(
        self, profile: Profile, recorded: float | None, *, is_timed: bool
    ) -> None:
        self._profile = profile
        self._recorded = recorded
        self._is_timed = is_timed
        # when the next function is made that is not known yet; None: never
        self.next_time: int | None = None
        self._of_process: dict[int, _Code] = {}

    def load(self, process: int, path: str) -> None:
        """A process has a file in its memory, which may be a jitdump."""
        if JITDUMP.fullmatch(path) is not None and is_usable(path):
            try:
                functions = _at_their_code(list(_read_jitdump(map_file(path))))
            except (FormatError, OSError, struct.error):
                self._profile.lose("jitdumps that are damaged")
            else:
                self._add(process, path, functions)

    def advance(self, time: int) -> list[int]:
        """Take the functions made up to a time; return the processes that made some."""
        codes = self._of_process.items()
        changed = [process for process, code in codes if code.advance(time)]
        self._set_next_time()
        return changed

    def _set_next_time(self) -> None:
        times = (code.next_time for code in self._of_process.values())
        self.next_time = min((each for each in times if each is not None), default=None)

    def find(self, process: int, address: int) -> tuple[str, Frame] | None:
        """The file that names the function at an address of anonymous memory."""
        code = self._of_process.get(process)
        if code is None:
            path = f"/tmp/perf-{process}.map"  # noqa: S108 - as its writers name it
            code = self._add(process, path, list(self._read_map(path)))
        function = code.find(address)
        return None if function is None else (code.path, function)

    def _add(self, process: int, path: str, functions: list[_Function]) -> _Code:
        code = self._of_process[process] = _Code(path, functions)
        if not self._is_timed or JITDUMP.fullmatch(path) is None:
            code.advance(None)
        self._set_next_time()
        recorded = self._recorded
        if functions and recorded is not None and os.stat(path).st_mtime > recorded:
            self._profile.unsure[Unsure(path, _NEWER)] = None
        return code

    def _read_map(self, path: str) -> Iterator[_Function]:
        """The functions in a text; none of one that another user can have written."""
        if not is_usable(path) or os.stat(path).st_uid not in {0, os.geteuid()}:
            return
        symbols, others = read_perf_map(path)
        for start, size, name in symbols:
            yield _Function(0, start, size, name.decode("utf-8", "replace"))
        self._profile.lose("lines of perf-PID.map that are not understood", others)


class _Code:
    """The functions of a process."""

    def __init__(self, path: str, functions: list[_Function]) -> None:
        self.path = path
        # Those that are not known yet, the next at the end.
        self._waiting = sorted(functions, key=lambda each: each.time)[::-1]
        self._ranges: AddressRanges[_Function] = AddressRanges()

    @property
    def next_time(self) -> int | None:
        """Time of the first function that is not known yet; None without any."""
        return self._waiting[-1].time if self._waiting else None

    def advance(self, time: int | None) -> bool:
        """Make those known that were there at a time; None: all. False without any."""
        before = len(self._waiting)
        while self._waiting and (time is None or self._waiting[-1].time <= time):
            each = self._waiting.pop()
            self._ranges.replace(each.start, each.start + each.size, each)
        return len(self._waiting) < before

    def find(self, address: int) -> Frame | None:
        """The function at an address; none that another was made over."""
        found = self._ranges.find(address)
        return None if found is None else frame_at(found.name, found.lines, address)


def _read_jitdump(data: memoryview) -> Iterator[_Function]:
    """The functions of a jitdump, up to its damaged part."""
    order = _MAGICS.get(bytes(data[:4]))
    if order is None:
        raise FormatError("not a jitdump")
    (place,) = struct.unpack_from(f"{order}I", data, 8)
    lines: dict[int, list[_Line]] = {}
    by_number: dict[int, _Function] = {}
    while place + _RECORD_SIZE <= len(data):
        kind, size, time = struct.unpack_from(f"{order}IIQ", data, place)
        if size < _RECORD_SIZE or place + size > len(data):
            return  # of a process that was killed
        body = data[place + _RECORD_SIZE : place + size]
        place += size
        if kind == _DEBUG_INFO:
            start, _ = struct.unpack_from(f"{order}QQ", body)
            lines[start] = _lines(body, order)
        elif kind == _LOAD:
            _, start, size, number = struct.unpack_from(f"{order}4Q", body, 8)
            name = zero_ended(body[40:]).decode("utf-8", "replace")
            made = _Function(time, start, size, name, tuple(lines.pop(start, ())))
            by_number[number] = made
            yield made
        elif kind == _MOVE:
            _, old, start, size, number = struct.unpack_from(f"{order}5Q", body, 8)
            before = by_number.get(number)
            if before is not None:
                moved = _moved(before.lines, start - old)
                yield _Function(time, start, size, before.name, moved)


def _at_their_code(functions: list[_Function]) -> list[_Function]:
    """The functions with lines at the addresses of their code.

    V8 adds the size of the ELF header that perf inject once put before the code, so in
    its dumps no function has a line earlier. Others write lines from the start on.
    """
    firsts = (each.lines[0][0] - each.start for each in functions if each.lines)
    if min(firsts, default=0) < _ELF_HEADER:
        return functions
    return [each._replace(lines=_moved(each.lines, -_ELF_HEADER)) for each in functions]


def _moved(lines: Iterable[_Line], by: int) -> tuple[_Line, ...]:
    return tuple((address + by, path, line) for address, path, line in lines)


def _lines(body: memoryview, order: str) -> list[_Line]:
    """The lines of a function, each with its first address, ordered by that.

    The list is empty if the entries end before the record, padding apart: some versions
    of V8 write names of scripts with zeros in them, so what follows is misread.
    """
    _, count = struct.unpack_from(f"{order}QQ", body)
    found, place, path = [], 16, ""
    for _ in range(min(count, len(body) // 17)):
        if place + 16 >= len(body):
            return []
        address, line, _ = struct.unpack_from(f"{order}QII", body, place)
        text = zero_ended(body[place + 16 : place + 16 + _PATH_SIZE])
        place += 16 + len(text) + 1
        path = path if text == _SAME_PATH else text.decode("utf-8", "replace")
        found.append((address, path, line))
    if not 0 <= len(body) - place < _ALIGNMENT:
        return []
    return sorted(found, key=lambda each: each[0])
