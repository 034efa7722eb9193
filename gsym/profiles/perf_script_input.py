"""`perf script` of Linux -> `Profile`.

The innermost address of a stack is exact, and so is the first one of user space after
addresses of the kernel. The others are return addresses, or one lower, as perf prints
them when it unwinds with DWARF.

In stacks, perf since Linux 5.19 prints the offset in the file of the module instead of
the address in memory; in a line with an only address, and before that, the address. A
mapping in the text decides; without one, an address beyond the largest file is one in
memory.
"""

from __future__ import annotations

import os
from itertools import accumulate, zip_longest

from gsym.cache import BoundedCache
from gsym.errors import FormatError
from gsym.garbage_collection import no_garbage_collection
from gsym.profiles.input_bytes import lines_of, read_pieces
from gsym.profiles.perf_places import NO_BUILD_IDS, PerfFacts
from gsym.profiles.perf_reader import PerfCount, PerfReader, symbol_frame
from gsym.profiles.perf_script import PerfSample, UnknownLines, parse_perf_script

TYPE_CHECKING = bool()
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from gsym.profiles.binaries import BuildIds
    from gsym.profiles.model import Frame, Profile
    from gsym.profiles.opening import ProfileOptions
    from gsym.profiles.perf_script import PerfFrame

_HEXADECIMAL = frozenset("0123456789abcdef")
# Limit: Output of `perf buildid-list`
_MOST_LIST_BYTES = 64 << 20


def read_build_ids(path: str | os.PathLike[str]) -> dict[str, str | tuple[str, ...]]:
    """The build ids of modules by their paths, as `perf buildid-list` prints them.

    Returns:
        All of a path that has several.
    """
    found: dict[str, dict[str, None]] = {}
    name = os.fspath(path)
    with open(name, "rb") as file:
        data = file.read(_MOST_LIST_BYTES + 1)
    if len(data) > _MOST_LIST_BYTES:
        raise FormatError(f"more than {_MOST_LIST_BYTES} bytes", path=name)
    for number, line in enumerate(data.decode("utf-8", "replace").splitlines(), 1):
        build_id, _, module = line.strip().partition(" ")
        if not build_id:
            continue
        if not module or not _HEXADECIMAL.issuperset(build_id.lower()):
            reason = f"line {number} is not a build id followed by a path"
            raise FormatError(reason, path=name)
        found.setdefault(module.strip(), {})[build_id.lower()] = None
    return {
        module: next(iter(ids)) if len(ids) == 1 else tuple(ids)
        for module, ids in found.items()
    }


# Limit: Output of `perf script`
MOST_TEXT_BYTES = 4 << 30
"""How much text there may be, inflated: it is read line by line."""


@no_garbage_collection()
def read_perf_script(path: str, options: ProfileOptions) -> Profile:
    """The profile in a file that `perf script` wrote.

    Raises:
        ValueError: A field is not known.
    """
    return profile_of_lines(
        lines_of(read_pieces(path, options.most_bytes or MOST_TEXT_BYTES), path),
        build_ids=options.build_ids,
        fields=options.fields,
        recorded=os.stat(path).st_mtime,
    )


def profile_of_lines(
    lines: Iterable[str],
    *,
    build_ids: BuildIds | None = None,
    fields: str = "",
    recorded: float | None = None,
) -> Profile:
    """The profile of lines as `perf script` prints them."""
    facts = PerfFacts(build_ids or NO_BUILD_IDS, recorded=recorded)
    reader = _TextReader(facts)
    unknown = UnknownLines()
    for record in parse_perf_script(lines, unknown, fields):
        if isinstance(record, PerfSample):
            reader.take(record)
        else:
            reader.add(record)
    if not reader.counts:
        raise FormatError("no perf sample found")
    if unknown.count:
        kind = f"unrecognized lines, the first is line {unknown.first}"
        reader.builder.lose(kind, unknown.count)
    if unknown.others:
        reader.builder.lose("other fields of samples", unknown.others)
    return reader.profile()


_MOST_KNOWN = 1 << 14  # stacks of a process in the cache


class _TextReader(PerfReader):
    """Makes a profile of the samples of a text.

    Symbols of perf are the frames of their locations; `symbolize` replaces them if it
    finds more.
    """

    def __init__(self, facts: PerfFacts) -> None:
        super().__init__(facts)
        self._times: list[int | None] = []
        self._kinds: dict[PerfCount, int] = {}
        # Indexes of stacks of a process, as long as what is in its memory stays.
        self._known: dict[int | None, BoundedCache[tuple[PerfFrame, ...], int]] = {}

    def forget(self, process: int | None) -> None:
        """Forget the stacks of a process, or all."""
        if process is None:
            self._known.clear()
        else:
            self._known.pop(process, None)

    def take(self, sample: PerfSample) -> None:
        """Add a sample."""
        command, process, thread, cpu, time, period, event, frames = sample
        if process == thread is not None:  # the text may have only one
            process = self.process_of(thread)
        known = self._known.get(process)
        if known is None:
            known = self._known[process] = BoundedCache(_MOST_KNOWN)
        stack = known.get(frames)
        if stack is None:
            locations = self._locations(frames, process)
            stack = known.keep(frames, self.builder.stack(locations))
        key = process, thread, command
        of = self.known_threads.get(key)
        if of is None:
            of = self.thread(*key)
            self.known_threads[key] = of
        count = PerfCount(event, period, cpu)
        self.stacks.append(stack)
        self.threads.append(of)
        self._times.append(time)
        self.counts.append(self._kinds.setdefault(count, len(self._kinds)))

    def profile(self) -> Profile:
        """The profile of what was added."""
        return self.finish(list(self._kinds), _undone(self._times))

    def _locations(
        self, frames: tuple[PerfFrame, ...], process: int | None
    ) -> list[int]:
        stack: list[int] = []
        was_kernel = True
        for group in _locations(frames):
            *_, frame = group
            is_kernel = self.places.is_kernel(frame)
            is_exact = not stack or (was_kernel and not is_kernel)
            was_kernel = is_kernel
            place = self.places.find(frame, process)
            names: tuple[Frame, ...] = ()
            if all(line.symbol for line in group):
                names = tuple(_frames(group))
            stack.append(self.location(place, names, is_exact=is_exact))
        return stack


def _locations(frames: tuple[PerfFrame, ...]) -> Iterator[list[PerfFrame]]:
    """The lines of each location: of a function and those that are inlined into it.

    A function that is inlined has the address of the next line; one that calls itself
    has as well. With some libraries, perf prints the innermost of them by the name of
    the function around all, and does not mark it.
    """
    group: list[PerfFrame] = []
    for frame, caller in zip_longest(frames, frames[1:]):
        group.append(frame)
        is_same = caller is not None and caller.address == frame.address
        if not is_same or not (
            frame.is_inlined or (len(group) == 1 and caller.is_inlined)
        ):
            yield group
            group = []


def _undone(times: list[int | None]) -> list[int | None]:
    """The times, of which differences to the sample before (`--deltatime`) add up.

    They begin with 0, and do not increase as those of a recording.
    """
    known = [time for time in times if time is not None]
    if len(known) < len(times) or not times or times[0] or known == sorted(known):
        return times
    return list(accumulate(known))


def _frames(group: list[PerfFrame]) -> Iterable[Frame]:
    previous = None
    for line in group:
        # A function with two names is printed twice, first as if it was inlined.
        if line.symbol != previous:
            yield symbol_frame(line.symbol, line.path, line.line)
        previous = line.symbol
