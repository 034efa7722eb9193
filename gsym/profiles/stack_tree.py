"""Stacks that share their callers, as trees of calls have them."""

from __future__ import annotations

from gsym.errors import FormatError
from gsym.profiles.model import MOST_FRAMES

TYPE_CHECKING = bool()
if TYPE_CHECKING:
    from gsym.profiles.model import ProfileBuilder

# Limit: All stacks of a profile in JSON
MOST_ENTRIES = 1 << 25
"""Locations of all stacks together: a tree can be written in a few bytes of a file,
while its stacks repeat their callers."""
ROOT = -1


class StackTree:
    """A tree of calls that becomes stacks, only those that samples have."""

    def __init__(self, builder: ProfileBuilder) -> None:
        self._builder = builder
        self._children: dict[tuple[int, int], int] = {}
        # Of each node, its parent and its location.
        self._calls: list[tuple[int, int]] = []
        self._stacks: dict[int, int] = {}
        self._entries = 0

    def child(self, parent: int, location: int) -> int:
        """The node of a call from a node, or from `ROOT`."""
        key = parent, location
        node = self._children.get(key)
        if node is None:
            node = self._children[key] = len(self._calls)
            self._calls.append(key)
        return node

    def location(self, node: int) -> int:
        """The location of a node."""
        return self._calls[node][1]

    def stack(self, node: int) -> int:
        """The index of the stack of a node; that of `ROOT` is empty."""
        found = self._stacks.get(node)
        if found is None:
            locations = []
            at = node
            while at != ROOT:
                at, location = self._calls[at]
                locations.append(location)
            self._entries += len(locations)
            if len(locations) > MOST_FRAMES:
                raise FormatError(f"a stack has more than {MOST_FRAMES} frames")
            if self._entries > MOST_ENTRIES:
                raise FormatError(f"all stacks have more than {MOST_ENTRIES} frames")
            found = self._stacks[node] = self._builder.stack(locations)
        return found
