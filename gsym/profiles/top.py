"""Functions, modules, files and threads of a profile by weight."""

from __future__ import annotations

from collections import Counter, defaultdict
from operator import add

from gsym.model import base_name
from gsym.profiles.call_tree import summed_stacks, time_range
from gsym.records import NamedTuple

TYPE_CHECKING = bool()
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from gsym.profiles.model import Frame, Mapping, Profile

    # A frame and its mapping -> the name that it is counted for.
    Naming = Callable[[Frame, Mapping | None], str]


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
    """A row for each name that has a part of the sum, the largest own sums first.

    Args:
        profile: Whose samples are counted.
        by: One of `GROUPS`.
        value: Which of its value types is summed, counted from 0.
        parts: Into how many the time of all samples is divided.
        timed: How many rows have the sums of these parts; None: all.
    """
    begin, span = time_range(profile) if parts else (None, 0)
    every = summed_stacks(profile, value)
    sums = {key: weight for key, weight in every.items() if weight}
    own: defaultdict[str, int] = defaultdict(int)
    total: defaultdict[str, int] = defaultdict(int)
    names_of = _naming(profile, by)
    for key, weight in sums.items():
        innermost, names = names_of(*key)
        if innermost is not None:
            own[innermost] += weight
        for name in names:
            total[name] += weight
    order = sorted(total, key=lambda name: (-own[name], -total[name], name))
    rows = {name: [0] * parts for name in order[:timed]}
    if begin is not None:
        shown = {key: names_of(*key)[1] & rows.keys() for key in sums}
        columns = {key: [0] * parts for key, found in shown.items() if found}
        for stack, thread, time, values, _ in profile.samples:
            column = columns.get((stack, thread))
            if column is not None and time is not None:
                column[(time - begin) * parts // (span + 1)] += values[value]
        for key, column in columns.items():
            for name in shown[key]:
                rows[name] = list(map(add, rows[name], column))
    over_time = {} if begin is None else rows
    return [
        TopRow(name, own[name], total[name], tuple(over_time.get(name, ())))
        for name in order
    ]


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


def _thread_names(profile: Profile, by: str) -> list[str]:
    """Names of threads or their processes: equal ones only where they are the same.

    Where a text does not tell threads apart, it is followed by the process.
    """
    processes = [each.text("process") for each in profile.threads]
    if by == "process":
        return processes
    texts = [each.text("thread") for each in profile.threads]
    pairs = list(zip(texts, processes, strict=True))
    counts = Counter(text for text, _ in set(pairs))
    return [f"{text} of {of}" if counts[text] > 1 else text for text, of in pairs]


def _naming(
    profile: Profile, by: str
) -> Callable[[int, int | None], tuple[str | None, set[str]]]:
    """A function for the names of a stack of a thread.

    It returns the innermost, None of a stack without frames, and all, once each.
    """
    if by in _THREAD_GROUPS:
        threads: dict[int | None, str] = {None: "(unknown)"}
        threads.update(enumerate(_thread_names(profile, by)))
        return lambda _, thread: (threads[thread], {threads[thread]})
    if by not in _FRAME_GROUPS:
        raise ValueError(f"unknown group '{by}': expected {', '.join(GROUPS)}")
    naming = _FRAME_GROUPS[by]
    mappings: dict[int | None, Mapping | None] = {None: None}
    mappings.update(enumerate(profile.mappings))
    of_location = [
        [naming(frame, mappings[each.mapping]) for frame in profile.frames_at(each)]
        for each in profile.locations
    ]

    def names(stack: int, _: int | None) -> tuple[str | None, set[str]]:
        found = list(map(of_location.__getitem__, profile.stacks[stack]))
        return found[0][0] if found else None, set().union(*found)

    return names


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
