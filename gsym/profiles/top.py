"""Functions, modules, files and threads of a profile by weight."""

from __future__ import annotations

from collections import defaultdict
from operator import add

from gsym.profiles.model import base_name
from gsym.records import NamedTuple

TYPE_CHECKING = bool()
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from gsym.profiles.model import Frame, Mapping, Profile, Thread

    # A frame and its mapping -> the name that it is counted for.
    Naming = Callable[[Frame, Mapping | None], str]
    _Key = tuple[int, int | None]  # a stack and a thread, as their indexes


class TopRow(NamedTuple):
    """The sums for a name."""

    name: str  # of a function, module, file, thread or process
    own: int  # the sum of the samples whose innermost frame has it
    total: int  # the sum of those in whose stack it is, once each
    # the total for each part of the time; empty unless all samples have a time, and in
    # rows for which it is not asked
    over_time: tuple[int, ...]


def _module(_frame: Frame, mapping: Mapping | None) -> str:
    return (base_name(mapping.path) if mapping else "") or "(unknown)"


_FRAME_GROUPS: dict[str, Naming] = {
    "function": lambda frame, _: frame.name,
    "module": _module,
    "file": lambda frame, _: frame.path or "(unknown)",
    "line": lambda frame, _: f"{frame.path}:{frame.line}" if frame.path else frame.name,
}
_THREAD_GROUPS = ("thread", "process")
# What rows can be grouped by.
GROUPS = (*_FRAME_GROUPS, *_THREAD_GROUPS)


def top_rows(
    profile: Profile,
    by: str = "function",
    *,
    value: int = 0,
    parts: int = 0,
    timed: int | None = None,
) -> list[TopRow]:
    """A row for each name, the largest own sums first.

    Args:
        profile: Whose samples are counted.
        by: One of `GROUPS`.
        value: Which of its value types is summed, counted from 0.
        parts: Into how many the time of all samples is divided.
        timed: How many rows have the sums of these parts; None: all.
    """
    begin, span = time_range(profile) if parts else (None, 0)
    # The sum of each stack of each thread.
    sums: defaultdict[_Key, int] = defaultdict(int)
    for stack, thread, _, values, _ in profile.samples:
        sums[stack, thread] += values[value]
    own: defaultdict[str, int] = defaultdict(int)
    total: defaultdict[str, int] = defaultdict(int)
    names = _Names(profile, by)
    for key, weight in sums.items():
        innermost = names.innermost(*key)
        if innermost is not None:
            own[innermost] += weight
        for name in names.of(*key):
            total[name] += weight
    order = sorted(total, key=lambda name: (-own[name], -total[name], name))
    rows = {name: [0] * parts for name in order[:timed]}
    if begin is not None:
        shown = {key: names.of(*key) & rows.keys() for key in sums}
        columns = {key: [0] * parts for key, found in shown.items() if found}
        for stack, thread, time, values, _ in profile.samples:
            column = columns.get((stack, thread))
            if column is not None and time is not None:
                column[(time - begin) * parts // (span + 1)] += values[value]
        for key, column in columns.items():
            for name in shown[key]:
                rows[name] = list(map(add, rows[name], column))
    return [
        TopRow(
            name,
            own[name],
            total[name],
            () if begin is None else tuple(rows.get(name, ())),
        )
        for name in order
    ]


def time_range(profile: Profile) -> tuple[int | None, int]:
    """Time of the first sample, and of the last after it, in nanoseconds.

    Returns:
        None and 0 without samples, or if one has no time.
    """
    times = [sample.time for sample in profile.samples if sample.time is not None]
    if not times or len(times) < len(profile.samples):
        return None, 0
    return min(times), max(times) - min(times)


def without_line(profile: Profile, value: int = 0) -> int:
    """The sum of the samples whose innermost frame has no line."""
    has_line = [
        bool(location.frames and location.frames[0].line)
        for location in profile.locations
    ]
    return sum(
        sample.values[value]
        for sample in profile.samples
        if (stack := profile.stacks[sample.stack]) and not has_line[stack[0]]
    )


def _thread_names(threads: Sequence[Thread], by: str) -> list[str]:
    """Names of threads or their processes: equal ones only where they are the same.

    Where a text does not tell threads apart, it is followed by the process.
    """
    processes = [each.text("process") for each in threads]
    if by == "process":
        return processes
    texts = [each.text("thread") for each in threads]
    of_text: dict[str, set[str]] = {}
    for text, process in zip(texts, processes, strict=True):
        of_text.setdefault(text, set()).add(process)
    return [
        f"{text} of {process}" if len(of_text[text]) > 1 else text
        for text, process in zip(texts, processes, strict=True)
    ]


class _Names:
    """The names of the stacks of a profile."""

    def __init__(self, profile: Profile, by: str) -> None:
        self._stacks = profile.stacks
        self._of_location: list[tuple[str, ...]] = []
        self._by = by
        self._threads = _thread_names(profile.threads, by)
        if by in _FRAME_GROUPS:
            naming = _FRAME_GROUPS[by]
            known: dict[tuple[tuple[Frame, ...], int | None], tuple[str, ...]] = {}
            for location in profile.locations:
                index = location.mapping
                frames = profile.frames_at(location)
                found = known.get((frames, index))
                if found is None:
                    mapping = None if index is None else profile.mappings[index]
                    found = tuple([naming(frame, mapping) for frame in frames])
                    known[frames, index] = found
                self._of_location.append(found)
        elif by not in _THREAD_GROUPS:
            raise ValueError(f"unknown group '{by}': expected {', '.join(GROUPS)}")

    def innermost(self, stack: int, thread: int | None) -> str | None:
        """The first name of a stack of a thread; None of one without frames."""
        if self._by in _THREAD_GROUPS:
            return self._thread(thread)
        locations = self._stacks[stack]
        return self._of_location[locations[0]][0] if locations else None

    def of(self, stack: int, thread: int | None) -> set[str]:
        """The names of a stack of a thread, once each."""
        if self._by in _THREAD_GROUPS:
            return {self._thread(thread)}
        return set().union(*map(self._of_location.__getitem__, self._stacks[stack]))

    def _thread(self, index: int | None) -> str:
        return "(unknown)" if index is None else self._threads[index]


_BARS = "▁▂▃▄▅▆▇█"


def sparkline(numbers: Sequence[int]) -> str:
    """A bar for each number, full for the highest; a space for 0 and below."""
    top = max(numbers, default=0)
    if top <= 0:
        return " " * len(numbers)
    return "".join(
        _BARS[(number * len(_BARS) - 1) // top] if number > 0 else " "
        for number in numbers
    )
