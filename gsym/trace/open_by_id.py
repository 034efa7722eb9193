"""What has begun with an id and has no end yet: asynchronous operations and flows.

Categories and processes number theirs on their own: of what is open with an id, that of
the same category and name comes first, then that of the same category, then any; each
in the process first, then in others, if one alone has it open.
"""

from __future__ import annotations

__all__ = ["Begun", "OpenById"]

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    _Key = tuple[int | str, ...]


class Begun:
    """What is open, or has ended.

    Attributes:
        item: What stands for it; None after its end.
    """

    __slots__ = ("item", "keys", "process")

    def __init__(self, item: Any, keys: tuple[_Key, ...], process: int) -> None:
        self.item = item
        self.keys = keys
        self.process = process


class _Stack:
    """What one process has open; what has ended is removed when it is met."""

    __slots__ = ("begun", "open_count")

    def __init__(self) -> None:
        self.begun: list[Begun] = []  # the last at the end
        self.open_count = 0


class OpenById:
    """Finds what an event belongs to.

    Events are given by their id, category, name and process.

    Attributes:
        open: All that has not ended, in the order of begins.
    """

    def __init__(self) -> None:
        self.open: dict[Begun, None] = {}
        self._stacks: dict[_Key, dict[int, _Stack]] = {}

    def begin(
        self, number: int | str, category: str, name: str, process: int, item: Any
    ) -> None:
        """Open something, for which *item* stands."""
        begun = Begun(item, _keys(number, category, name), process)
        self.open[begun] = None
        for key in begun.keys:
            stack = self._stacks.setdefault(key, {}).setdefault(process, _Stack())
            stack.begun.append(begun)
            stack.open_count += 1

    def find(
        self, number: int | str, category: str, name: str, process: int
    ) -> Begun | None:
        """What is open and fits an event best; None without any."""
        for key in _keys(number, category, name):
            by_process = self._stacks.get(key, {})
            stack = by_process.get(process)
            if stack is None and len(by_process) == 1:
                (stack,) = by_process.values()
            if stack is not None:
                while stack.begun[-1].item is None:
                    stack.begun.pop()
                return stack.begun[-1]
        return None

    def is_taken(
        self, number: int | str, category: str, name: str, process: int
    ) -> bool:
        """Whether another process, or another name of the category, has an id open."""
        exact, of_category, of_number = _keys(number, category, name)
        processes = self._stacks.get(of_number, {}).keys()
        return bool(processes - {process}) or self._count(of_category) > self._count(
            exact
        )

    def _count(self, key: _Key) -> int:
        return sum(stack.open_count for stack in self._stacks.get(key, {}).values())

    def end(self, begun: Begun) -> None:
        """Close what `find` has returned."""
        begun.item = None
        del self.open[begun]
        for key in begun.keys:
            by_process = self._stacks[key]
            by_process[begun.process].open_count -= 1
            if not by_process[begun.process].open_count:
                del by_process[begun.process]
            if not by_process:
                del self._stacks[key]


def _keys(number: int | str, category: str, name: str) -> tuple[_Key, ...]:
    """What an event may share with others, the most first."""
    return (number, category, name), (number, category), (number,)
