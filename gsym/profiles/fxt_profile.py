"""A Fuchsia trace -> a profile: of its samples or, without any, of its durations."""

from __future__ import annotations

from gsym.profiles.fxt_durations import DURATION_KINDS, read_fxt_durations
from gsym.profiles.fxt_samples import PROFILER_KINDS, read_fxt_samples

TYPE_CHECKING = bool()
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from gsym.fxt.reader import Trace
    from gsym.fxt.records import Record
    from gsym.profiles.model import Profile

    Reading = Callable[[tuple[str, ...]], Iterable[Record]]


def fxt_profile(read: Reading, *, takes_durations: bool = True) -> Profile:
    """The profile of a trace that can be read several times.

    Args:
        read: The records of some kinds, in the order of the trace.
        takes_durations: Whether a trace without samples has a profile of durations.
    """
    samples = read_fxt_samples(read(PROFILER_KINDS))
    if samples.samples or not takes_durations:
        return samples
    durations = read_fxt_durations(read(DURATION_KINDS))
    return durations if durations.samples else samples


def read_fxt_file(path: str) -> Profile:
    """The profile of a trace file; damaged records are among the losses."""
    from gsym.fxt.reader import open_trace

    opened = []

    def read(kinds: tuple[str, ...]) -> Trace:
        opened.append(open_trace(path, kinds=kinds))
        return opened[-1]

    profile = fxt_profile(read)
    if opened[-1].problems:
        profile.losses["damaged records of the trace"] = len(opened[-1].problems)
    return profile
