"""The samples of a profile that meet conditions."""

from __future__ import annotations

from gsym.conditions import Patterns, Span
from gsym.profiles.model import base_name

TYPE_CHECKING = bool()
if TYPE_CHECKING:
    from gsym.conditions import Selection
    from gsym.profiles.model import Profile, Sample


def select_samples(
    profile: Profile, selection: Selection, origin_ns: int | None = None
) -> None:
    """Remove the samples that are not selected; the rest of the profile stays.

    A sample has the names of the functions in its stack, and their modules for
    categories. One whose time or thread is not known is in no span of time and of no
    thread.

    Args:
        profile: Whose samples are chosen.
        selection: The conditions.
        origin_ns: The origin of moments; None: the first sample.
    """
    chooser = _Chooser(profile, selection, origin_ns)
    profile.samples = [sample for sample in profile.samples if chooser.takes(sample)]


class _Chooser:
    def __init__(
        self, profile: Profile, selection: Selection, origin_ns: int | None
    ) -> None:
        self._profile = profile
        if origin_ns is None:
            times = [each.time for each in profile.samples if each.time is not None]
            origin_ns = min(times, default=0)
        self._span = Span(selection, origin_ns)
        self._processes = Patterns(selection.processes)
        self._threads = Patterns(selection.threads)
        self._modules = Patterns(selection.categories)
        self._names = Patterns(selection.names)
        self._stacks: dict[int, bool] = {}

    def takes(self, sample: Sample) -> bool:
        """Whether a sample is selected."""
        is_in_time = self._span.includes(sample.time)
        if not is_in_time or not self._is_of_thread(sample.thread):
            return False
        known = self._stacks.get(sample.stack)
        if known is None:
            known = self._stacks[sample.stack] = self._has_names(sample.stack)
        return known

    def _is_of_thread(self, index: int | None) -> bool:
        if index is None:
            return not self._processes and not self._threads
        thread = self._profile.threads[index]
        return self._processes.match(
            thread.process_name, thread.process
        ) and self._threads.match(thread.thread_name, thread.thread)

    def _has_names(self, stack: int) -> bool:
        frames = self._profile.frames_of(stack) if self._names else ()
        return (
            not self._names or any(self._names.match(frame.name) for frame in frames)
        ) and (not self._modules or any(map(self._modules.match, self._paths(stack))))

    def _paths(self, stack: int) -> list[str]:
        """The base names of the modules in a stack."""
        mappings = self._profile.mappings
        locations = (self._profile.locations[at] for at in self._profile.stacks[stack])
        return [
            base_name(mappings[location.mapping].path)
            for location in locations
            if location.mapping is not None
        ]
