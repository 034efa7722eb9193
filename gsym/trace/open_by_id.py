"""Open asynchronous operations and flows, found by their ids.

Categories and processes assign ids on their own: of those open with an id, the one of
the same category and name comes first, then one of the same category, then any; each
first in the same process, then in another one, if only one has it open.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    _Key = tuple[int | str, ...]


class Begun:
    """An operation or flow that has begun.

    Attributes:
        item: The object given for it; None after its end.
    """

    __slots__ = ("item", "keys", "process")

    def __init__(self, item: Any, keys: tuple[_Key, ...], process: int) -> None:
        self.item = item
        self.keys = keys
        self.process = process


class _Stack:
    """Those of one process; ended ones are removed when they come to the top."""

    __slots__ = ("begun", "open_count")

    def __init__(self) -> None:
        self.begun: list[Begun] = []  # the last at the end
        self.open_count = 0


class OpenById:
    """Finds the operation or flow of an event.

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
        """Open an operation or flow, represented by *item*."""
        begun = Begun(item, _keys(number, category, name), process)
        self.open[begun] = None
        for key in begun.keys:
            stack = self._stacks.setdefault(key, {}).setdefault(process, _Stack())
            stack.begun.append(begun)
            stack.open_count += 1

    def find(
        self, number: int | str, category: str, name: str, process: int
    ) -> Begun | None:
        """The open one that fits an event best; None without any."""
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
        """Close a result of `find`."""
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
    """The keys of an event, the most specific first."""
    return (number, category, name), (number, category), (number,)
