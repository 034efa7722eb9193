"""Texts and functions of a pprof message: each stands there once."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from gsym.trace.profiles.model import Frame


class StringTable:
    """The string table of a message, which may have texts already.

    Args:
        message: A `Profile` message of pprof; it gets the empty text, which comes first
            in all of them.
    """

    def __init__(self, message: Any) -> None:
        self._table = message.string_table
        if not self._table:
            self._table.append(b"")
        self._numbers: dict[bytes, int] = {}
        for number, text in enumerate(self._table):
            self._numbers.setdefault(text, number)

    def number(self, text: str) -> int:
        """The index of a text, which is added if it is new."""
        encoded = text.encode("utf-8", "replace")
        found = self._numbers.get(encoded)
        if found is None:
            found = self._numbers[encoded] = len(self._table)
            self._table.append(encoded)
        return found


class FunctionTable:
    """The functions of a message, which may have some already.

    Args:
        message: A `Profile` message of pprof.
        texts: Its string table.
    """

    def __init__(self, message: Any, texts: StringTable) -> None:
        self._message = message
        self._texts = texts
        self._ids: dict[tuple[int, int, int], int] = {}
        self._last_id = 0
        for function in message.function:
            self._last_id = max(self._last_id, function.id)
            if function.start_line == 0:
                key = function.name, function.system_name, function.filename
                self._ids.setdefault(key, function.id)
        self._mappings: dict[int, Any] | None = None

    def add_lines(self, location: Any, frames: Sequence[Frame]) -> None:
        """Give a location lines, and tell in its mapping what is known there.

        Args:
            location: A `Location` message, whose mapping is there.
            frames: The functions there, innermost first.
        """
        for frame in frames:
            location.line.add(function_id=self._id(frame), line=frame.line)
        mapping = self._mapping(location.mapping_id) if frames else None
        if mapping is not None:
            mapping.has_functions |= any(frame.name for frame in frames)
            mapping.has_filenames |= any(frame.path for frame in frames)
            mapping.has_line_numbers |= any(frame.line for frame in frames)
            mapping.has_inline_frames |= len(frames) > 1

    def _id(self, frame: Frame) -> int:
        """The id of the function of a frame; where it starts is not known."""
        number = self._texts.number
        key = number(frame.name), number(frame.system_name), number(frame.path)
        found = self._ids.get(key)
        if found is None:
            found = self._ids[key] = self._last_id = self._last_id + 1
            name, system_name, path = key
            self._message.function.add(
                id=found, name=name, system_name=system_name, filename=path
            )
        return found

    def _mapping(self, number: int) -> Any:
        if self._mappings is None:
            self._mappings = {each.id: each for each in self._message.mapping}
        return self._mappings.get(number)
