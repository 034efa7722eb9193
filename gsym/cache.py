"""A cache of bounded size."""

from __future__ import annotations

TYPE_CHECKING = bool()
if TYPE_CHECKING:
    from typing import TypeVar

    Key = TypeVar("Key")
    Value = TypeVar("Value")


class BoundedCache(dict["Key", "Value"]):
    """A dict that `keep` empties before it gets more than *most* entries.

    That costs nothing on a hit, unlike knowing which entry was used least recently.
    """

    __slots__ = ("_most",)

    def __init__(self, most: int) -> None:
        self._most = most

    def keep(self, key: Key, value: Value) -> Value:
        """Add an entry; returns *value*."""
        if len(self) >= self._most:
            self.clear()
        self[key] = value
        return value
