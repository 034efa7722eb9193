"""`perf script` of Linux -> `Profile`.

The innermost address of a stack is where the program was, and so is the first one of
user space behind addresses of the kernel, which interrupted it there. The others are
where calls return to, or are one lower, as perf prints them when it unwinds by DWARF.
"""

from __future__ import annotations

import os
from itertools import groupby

from gsym.engine.demangling import demangle
from gsym.errors import FormatError
from gsym.trace.profiles.building import ProfileBuilder
from gsym.trace.profiles.input_bytes import lines_of, read_pieces
from gsym.trace.profiles.model import SAMPLES, Frame, Location, Thread, ValueType
from gsym.trace.profiles.perf_modules import ModulePlaces
from gsym.trace.profiles.perf_script import PerfMapping, UnknownLines, parse_perf_script

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from gsym.trace.profiles.model import Profile
    from gsym.trace.profiles.perf_script import PerfFrame, PerfSample

    _Key = tuple[int, int | None, bool, tuple[Frame, ...] | None]

MOST_TEXT_BYTES = 4 << 30
"""How much text there may be, inflated: it is read line by line."""

_CLOCKS = frozenset({"cpu-clock", "task-clock"})  # they count nanoseconds
_MOST_KNOWN = 1 << 14  # stacks of which it is remembered what they are
_EVENT, _CPU = "event", "cpu"


def read_perf_script(
    path: str | os.PathLike[str],
    *,
    build_ids: Mapping[str, str] | None = None,
    keep_symbols: bool = True,
    most_bytes: int = MOST_TEXT_BYTES,
) -> Profile:
    """The profile in a file that `perf script` wrote.

    Args:
        path: The file, compressed by gzip or not.
        build_ids: Of modules by their paths, as `read_build_ids` gives them; other
            modules are asked for theirs at their paths.
        keep_symbols: Locations for which perf has a symbol have it as their frame,
            which `symbolize` replaces if it finds more. Otherwise they have no frames
            if the build id of their module is known.
        most_bytes: How large it may be, inflated.

    Raises:
        FormatError: There is no sample in it, a line is longer than any can be, what is
            compressed is damaged, or inflates to more than *most_bytes*.
        OSError: It cannot be read.
    """
    name = os.fspath(path)
    lines = lines_of(read_pieces(name, most_bytes), name)
    return profile_of_lines(
        lines, build_ids=build_ids, keep_symbols=keep_symbols, path=name
    )


def profile_of_lines(
    lines: Iterable[str],
    *,
    build_ids: Mapping[str, str] | None = None,
    keep_symbols: bool = True,
    path: str | None = None,
) -> Profile:
    """Likewise, of lines that come one by one.

    Raises:
        FormatError: There is no sample among them.
    """
    reader = _Reader(build_ids, keep_symbols=keep_symbols)
    unknown = UnknownLines()
    try:
        for record in parse_perf_script(lines, unknown):
            if isinstance(record, PerfMapping):
                reader.load(record)
            else:
                reader.take(record)
    except FormatError as error:
        raise FormatError(error.reason, path=path) from None
    if not reader.events:
        raise FormatError("there is no sample of perf in it", path=path)
    if unknown.count:
        kind = f"lines that are not understood, the first of them {unknown.first}"
        reader.builder.lose(kind, unknown.count)
    return reader.finish()


class _Reader:
    """Takes samples in.

    Attributes:
        builder: Makes the profile.
        places: Tells the mappings of frames.
        events: What was counted, in the order in which it came.
    """

    def __init__(
        self, build_ids: Mapping[str, str] | None, *, keep_symbols: bool
    ) -> None:
        self.builder = ProfileBuilder()
        self.places = ModulePlaces(self.builder, build_ids)
        self.events: dict[str, None] = {}
        self._keep_symbols = keep_symbols
        self._has_periods = False
        self._locations: dict[_Key, int] = {}
        self._stacks: dict[tuple[int, tuple[PerfFrame, ...]], int] = {}

    def load(self, mapping: PerfMapping) -> None:
        """A part of a file is in the memory of a process from now on."""
        self.places.load(mapping)
        self._stacks.clear()

    def take(self, sample: PerfSample) -> None:
        """Take a sample in."""
        builder = self.builder
        process = sample.process
        # The first thread has the name of the process.
        name = sample.command if process == sample.thread else ""
        thread = builder.thread(Thread(process, sample.thread, name, sample.command))
        labels: list[tuple[str, str | int, str]] = [(_EVENT, sample.event, "")]
        if sample.cpu is not None:
            labels.append((_CPU, sample.cpu, ""))
        self.events[sample.event] = None
        self._has_periods |= sample.period is not None
        builder.sample(
            self._stack(sample),
            (1, sample.period or 1),
            thread=thread,
            time=sample.time,
            labels=tuple(labels),
        )

    def finish(self) -> Profile:
        """The profile, with what all samples have in common said once."""
        profile = self.builder.profile
        self.places.finish()
        if self._has_periods:
            event, *others = map(_plain, self.events)
            is_time = _CLOCKS.issuperset((event, *others))
            unit = "nanoseconds" if is_time else "count"
            name = "events" if others else event
            profile.value_types = (SAMPLES, ValueType(name, unit))
        is_only = len(self.events) == 1
        for index, sample in enumerate(profile.samples):
            labels = sample.labels[1:] if is_only else sample.labels
            values = sample.values if self._has_periods else sample.values[:1]
            profile.samples[index] = sample._replace(labels=labels, values=values)
        return profile

    def _stack(self, sample: PerfSample) -> int:
        """The index of the stack of a sample."""
        key = sample.process, sample.frames
        found = self._stacks.get(key)
        if found is None:
            found = self.builder.stack(self._stack_locations(sample))
            if len(self._stacks) >= _MOST_KNOWN:
                self._stacks.clear()
            self._stacks[key] = found
        return found

    def _stack_locations(self, sample: PerfSample) -> list[int]:
        stack: list[int] = []
        was_kernel = True
        # A function that is inlined has the address of the line behind it.
        for _, lines in groupby(sample.frames, key=lambda frame: frame.address):
            group = list(lines)
            *_, frame = group
            is_kernel = self.places.is_kernel(frame)
            is_exact = not stack or (was_kernel and not is_kernel)
            was_kernel = is_kernel
            stack.append(self._location(group, sample.process, is_exact=is_exact))
        return stack

    def _has_build_id(self, mapping: int | None) -> bool:
        mappings = self.builder.profile.mappings
        return mapping is not None and bool(mappings[mapping].build_id)

    def _location(self, group: list[PerfFrame], process: int, *, is_exact: bool) -> int:
        *_, frame = group
        address, mapping = self.places.find(frame, process)
        is_kept = self._keep_symbols or not self._has_build_id(mapping)
        frames: tuple[Frame, ...] = ()
        if is_kept and all(line.symbol for line in group):
            frames = tuple(_frames(group))
        # Addresses in files that are not named are many things: the frames tell.
        key = address, mapping, is_exact, None if mapping is not None else frames
        found = self._locations.get(key)
        if found is None:
            locations = self.builder.profile.locations
            found = self._locations[key] = len(locations)
            location = Location(address, mapping, not is_exact, frames=frames)
            is_named_only = bool(frames) and self._has_build_id(mapping)
            locations.append(location._replace(is_named_only=is_named_only))
        return found


def _frames(group: list[PerfFrame]) -> Iterable[Frame]:
    previous = None
    for line in group:
        # A function with two names stands there twice, first as if it was inlined.
        if line.symbol != previous:
            yield Frame(*_names(line.symbol), line.path, line.line)
        previous = line.symbol


def _names(symbol: str) -> tuple[str, str]:
    """As people write it, and as the linker knows it as far as perf says."""
    readable = demangle(symbol)
    is_plain = readable != symbol or not any(each in symbol for each in " (<:")
    return readable, symbol if is_plain else ""


def _plain(event: str) -> str:
    """An event without its modifiers: `cycles:u` counts cycles."""
    name, _, modifiers = event.partition(":")
    return event if set(modifiers) - set("ukhGHIpPSDWe") else name
