"""Regular expressions that are compiled when they are first used.

To compile the forms of all reports takes longer than to answer one, which uses few.
"""

from __future__ import annotations

from gsym.lazy import re

__all__ = ["regex"]

TYPE_CHECKING = bool()
if TYPE_CHECKING:
    from re import compile as regex
    from typing import Any
else:

    class regex:  # noqa: N801 - stands for `re.compile`
        """The pattern that `re.compile` returns for the same arguments."""

        def __init__(self, pattern: str | bytes, flags: int = 0) -> None:
            self.pattern = pattern
            self._given = flags

        def __getattr__(self, name: str) -> Any:
            """Compile the pattern; keep the method, so that it is found at once."""
            if name.startswith("__"):  # of copies and the like
                raise AttributeError(name)
            found = getattr(re.compile(self.pattern, self._given), name)
            setattr(self, name, found)
            return found
