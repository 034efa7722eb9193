"""perf.data of Linux perf -> `Profile`.

The same profile as of the text that `perf script` prints of the file, but addresses
are those in memory, exact times, and no symbols of perf.
"""

from __future__ import annotations

import os
import re
from array import array
from bisect import bisect_left
from collections import defaultdict

from gsym.containers.mapped_file import map_file
from gsym.containers.recognition import inflater_of
from gsym.errors import FormatError
from gsym.garbage_collection import no_garbage_collection
from gsym.patterns import regex
from gsym.profiles.input_bytes import Bound, read_inflated
from gsym.profiles.perf_data import UNKNOWN, PerfBatch, PerfData
from gsym.profiles.perf_places import PerfFacts
from gsym.profiles.perf_reader import PerfReader, symbol_frame

TYPE_CHECKING = bool()
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from gsym.profiles.model import Profile
    from gsym.profiles.opening import ProfileOptions

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
        raise FormatError(f"more than {most_bytes} bytes of data", path=path)
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
            return self.location(
                (address, mapping), (symbol_frame(symbol),), is_exact=is_exact
            )
        made = (
            places.program(call)
            if is_kernel
            else places.made_function(part, call, process)
        )
        mapping, *frames = made or (mapping,)
        return self.location((address, mapping), tuple(frames), is_exact=is_exact)

    def profile(self) -> Profile:
        """The profile of what was added."""
        if not self.counts:
            raise FormatError("no perf sample found")
        for kind, count in self._file.losses.items():
            self.builder.lose(kind, count)
        kinds = self._file.counts()
        times: Sequence[int | None] = self._times
        if UNKNOWN in times:
            times = [None if each == UNKNOWN else each for each in times]
        return self.finish(kinds, times)
