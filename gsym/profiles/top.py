"""Functions, modules, files and threads of a profile by weight."""

from __future__ import annotations

from gsym.records import NamedTuple

TYPE_CHECKING = bool()
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from gsym.profiles.model import Frame, Mapping, Profile, Thread

    # A frame and its mapping -> the name that it is counted for.
    Naming = Callable[[Frame, Mapping | None], str]


class TopRow(NamedTuple):
    """The sums for a name.

    Attributes:
        name: Of a function, module, file, thread or process.
        own: The sum of the samples whose innermost frame has it.
        total: The sum of those in whose stack it is, once each.
        over_time: The total for each part of the time; empty unless all samples have a
            time.
    """

    name: str
    own: int
    total: int
    over_time: tuple[int, ...]


def _module(_frame: Frame, mapping: Mapping | None) -> str:
    return (mapping.path.rpartition("/")[2] if mapping else "") or "(unknown)"


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
    profile: Profile, by: str = "function", *, value: int = 0, parts: int = 0
) -> list[TopRow]:
    """A row for each name, the largest own sums first.

    Args:
        profile: Whose samples are counted.
        by: One of `GROUPS`.
        value: Which of its value types is summed, counted from 0.
        parts: Into how many the time of all samples is divided.
    """
    begin, span = time_range(profile) if parts else (None, 0)
    sums: dict[tuple[int, int | None], list[int]] = {}
    slots = parts if begin is not None else 0
    for sample in profile.samples:
        key = (sample.stack, sample.thread)
        column = sums.get(key)
        if column is None:
            column = sums[key] = [0] * (slots + 1)
        weight = sample.values[value]
        column[slots] += weight
        if begin is not None and sample.time is not None:
            column[(sample.time - begin) * slots // (span + 1)] += weight
    rows: dict[str, list[int]] = {}
    own: dict[str, int] = {}
    names = _Names(profile, by)
    for (stack, thread), column in sums.items():
        found = names.of(stack, thread)
        if found:
            own[found[0]] = own.get(found[0], 0) + column[slots]
        for name in dict.fromkeys(found):
            _add(rows.setdefault(name, [0] * (slots + 1)), column)
    made = [
        TopRow(name, own.get(name, 0), column[slots], tuple(column[:slots]))
        for name, column in rows.items()
    ]
    return sorted(made, key=lambda row: (-row.own, -row.total, row.name))


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
    processes = [
        _numbered("process", each.process_name, each.process) for each in threads
    ]
    if by == "process":
        return processes
    texts = [_numbered("thread", each.thread_name, each.thread) for each in threads]
    of_text: dict[str, set[str]] = {}
    for text, process in zip(texts, processes, strict=True):
        of_text.setdefault(text, set()).add(process)
    return [
        f"{text} of {process}" if len(of_text[text]) > 1 else text
        for text, process in zip(texts, processes, strict=True)
    ]


def _numbered(kind: str, name: str, number: int | None) -> str:
    """A name with its number; what is not known is left out."""
    if number is None:
        return name or "(unknown)"
    return f"{name or kind} ({number})"


class _Names:
    """The names of the stacks of a profile, innermost first."""

    def __init__(self, profile: Profile, by: str) -> None:
        self._profile = profile
        self._of_location: list[list[str]] = []
        self._by = by
        self._threads = _thread_names(profile.threads, by)
        if by in _FRAME_GROUPS:
            naming = _FRAME_GROUPS[by]
            self._of_location = [
                [
                    naming(frame, self._mapping(location.mapping))
                    for frame in location.frames or (profile.unresolved(location),)
                ]
                for location in profile.locations
            ]
        elif by not in _THREAD_GROUPS:
            raise ValueError(f"unknown group '{by}': expected {', '.join(GROUPS)}")

    def of(self, stack: int, thread: int | None) -> list[str]:
        """The names of a stack of a thread."""
        if self._by not in _THREAD_GROUPS:
            locations = self._profile.stacks[stack]
            return [name for index in locations for name in self._of_location[index]]
        if thread is None:
            return ["(unknown)"]
        return [self._threads[thread]]

    def _mapping(self, index: int | None) -> Mapping | None:
        return None if index is None else self._profile.mappings[index]


def _add(sums: list[int], numbers: list[int]) -> None:
    for index, number in enumerate(numbers):
        sums[index] += number


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
