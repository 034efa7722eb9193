"""Puts a profile together: equal mappings, locations, stacks and threads are one."""

from __future__ import annotations

from gsym.trace.profiles.model import SAMPLES, Location, Profile, Sample, Thread

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from gsym.trace.profiles.model import Mapping, ValueType


class ProfileBuilder:
    """Takes samples in and hands out numbers for what they share.

    Args:
        value_types: What the values of each sample count.

    Attributes:
        profile: What there is so far.
    """

    def __init__(self, value_types: tuple[ValueType, ...] = (SAMPLES,)) -> None:
        self.profile = Profile(value_types)
        self._mappings: dict[Mapping, int] = {}
        self._locations: dict[tuple[int, int | None, bool], int] = {}
        self._stacks: dict[tuple[int, ...], int] = {}
        self._threads: dict[tuple[Any, ...], int] = {}

    def mapping(self, mapping: Mapping) -> int:
        """The index of a mapping."""
        return _number(self._mappings, mapping, self.profile.mappings, mapping)

    def location(
        self, address: int, mapping: int | None, *, is_return: bool = False
    ) -> int:
        """The index of the location at an address, without frames as yet."""
        key = (address, mapping, is_return)
        found = self._locations.get(key)
        if found is None:
            found = self._locations[key] = len(self.profile.locations)
            self.profile.locations.append(Location(*key))
        return found

    def stack(self, locations: Sequence[int]) -> int:
        """The index of a stack of locations, innermost first."""
        key = tuple(locations)
        return _number(self._stacks, key, self.profile.stacks, key)

    def thread(self, thread: Thread, *, is_named: bool = False) -> int:
        """The index of a thread; names that come later complete it.

        Args:
            thread: The thread.
            is_named: Its names are complete: one with others is another thread.
        """
        if is_named:
            return _number(self._threads, thread, self.profile.threads, thread)
        key = (thread.process, thread.thread)
        found = _number(self._threads, key, self.profile.threads, thread)
        known = self.profile.threads[found]
        self.profile.threads[found] = Thread(
            *key,
            thread.process_name or known.process_name,
            thread.thread_name or known.thread_name,
        )
        return found

    def sample(
        self,
        stack: int,
        values: tuple[int, ...] = (1,),
        *,
        thread: int | None = None,
        time: int | None = None,
        labels: tuple[tuple[str, str | int, str], ...] = (),
    ) -> None:
        """Take a sample in; *time* is in nanoseconds."""
        self.profile.samples.append(Sample(stack, thread, time, values, labels))

    def lose(self, kind: str, count: int = 1) -> None:
        """Count something of the source that a profile cannot hold."""
        losses = self.profile.losses
        losses[kind] = losses.get(kind, 0) + count


def _number(numbers: dict[Any, int], key: Any, items: list[Any], item: Any) -> int:
    """The index that *key* has in *items*, where *item* is put if it is new."""
    found = numbers.get(key)
    if found is None:
        found = numbers[key] = len(items)
        items.append(item)
    return found
